/**
 * Signs receipts for callers that asked for it: one signature for all that are asked for in one turn of the event
 * loop.
 *
 * A commit of the store wakes many calls in one turn, so their receipts usually share one signature. The signer gets
 * only entries that the store has acknowledged. It never rejects: the call has happened, and its answer is worth more
 * than the signature.
 *
 * The log id is the one that this process knew before it signs. Where a new log has begun meanwhile, the receipt
 * names the ended log, which gets no further checkpoint, so the receipt cannot accuse the new log.
 *
 * @module
 */

import { firstPlaceOf, type Origin } from '../../domain/log/origin.ts';
import {
  INCLUDED_WITHIN_MS,
  type NamedEntry,
  RECEIPTS_SIGNED_MAX,
  receiptPayload,
  receiptTree,
} from '../../domain/log/receipt.ts';
import { fromHex } from '../../domain/wire/hash.ts';
import type { Keyring } from '../../keyring/keyring.ts';
import { ARTEFACTS } from '../../keyring/wire.ts';
import type { Logger } from '../../log.ts';
import type { Platform } from '../../platform.ts';
import type { SignedReceipt } from '../../protocol/invocation.ts';
import type { Store } from '../../storage/port/store.ts';
import type { ReceiptSigner } from '../core/parts.ts';

interface SignerOptions {
  readonly definition: { readonly id: string };
  readonly store: Pick<Store, 'now' | 'lastCheckpoint' | 'findLeaf' | 'sequence'>;
  readonly keyring: Pick<Keyring, 'signDetached'>;
  readonly platform: Pick<Platform, 'turn'>;
  readonly log: Logger;
  /** The current log, as far as this process knows. */
  readonly logs: { origin(): Origin };
}

interface Waiting {
  readonly entry: NamedEntry;
  resolve(signed: SignedReceipt | undefined): void;
}

export function createReceiptSigner(options: SignerOptions): ReceiptSigner {
  const { platform, log } = options;
  const waiting: Waiting[] = [];
  let isFailing = false;

  /** Leaves what is too much for one signature to the next turn, so that other work runs in between. */
  async function signWaiting(): Promise<void> {
    const batch = waiting.splice(0, RECEIPTS_SIGNED_MAX);
    if (waiting.length > 0) platform.turn(() => void signWaiting());
    const signed = await attempt(() =>
      signAll(
        options,
        batch.map(({ entry }) => entry),
      ),
    );
    for (const [index, { resolve }] of batch.entries()) resolve(signed?.[index]);
  }

  /** A failure lasts until it is repaired, so only the first one is logged. */
  async function attempt<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    try {
      const result = await work();
      isFailing = false;
      return result;
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, 'could not sign receipts; answers go without');
      isFailing = true;
      return undefined;
    }
  }

  const sign = (entry: NamedEntry) =>
    new Promise<SignedReceipt | undefined>((resolve) => {
      waiting.push({ entry, resolve });
      if (waiting.length === 1) platform.turn(() => void signWaiting());
    });
  return {
    sign,
    async signStored(entry) {
      return (await attempt(() => isInLog(options, entry))) ? sign(entry) : undefined;
    },
  };
}

async function signAll(
  { definition, store, keyring, logs }: SignerOptions,
  entries: readonly NamedEntry[],
): Promise<SignedReceipt[]> {
  const { logId, first } = logs.origin();
  const { sequence } = (await store.lastCheckpoint()) ?? { sequence: first };
  const now = store.now();
  const promise = {
    log_id: logId,
    // A log without a checkpoint numbers its first one after its first place.
    last_checkpoint: firstPlaceOf(sequence) === first ? sequence : first,
    signed_at: now.toISOString(),
    included_by: new Date(now.getTime() + INCLUDED_WITHIN_MS).toISOString(),
    tree_size: entries.length,
  };
  const { root, paths } = receiptTree(entries);
  const { use, typ } = ARTEFACTS.receipt;
  const signature = keyring.signDetached(use, typ, receiptPayload(definition.id, root, promise));
  return paths.map((path, leaf_index) => ({ ...promise, leaf_index, path: [...path], signature }));
}

/**
 * Whether the current log has the leaf. The receipt of a stored answer comes from a row that is not authenticated:
 * without this check, an edited row could make the service sign a promise that it cannot keep.
 */
async function isInLog(
  { store, logs }: SignerOptions,
  { leaf_hash }: NamedEntry,
): Promise<boolean> {
  const leaf = { leaf_hash: fromHex(leaf_hash) as Uint8Array };
  const find = () => store.findLeaf(leaf);
  // An acknowledged entry may still wait for its place.
  const found = (await find()) ?? (await store.sequence().then(find));
  return found !== undefined && firstPlaceOf(found.sequence) === logs.origin().first;
}
