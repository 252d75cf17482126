/**
 * Signs receipts for callers that asked for it: one signature for all that are asked for in one turn of the event
 * loop.
 *
 * A commit of the store wakes many calls in one turn, so their receipts usually share one signature. The signer gets
 * only entries that the store has acknowledged. It never rejects: the call has happened, and its answer is worth more
 * than the signature.
 *
 * The log id is the one that this process knew when the receipt was asked for. Where a new log has begun meanwhile,
 * the receipt names the ended log, which gets no further checkpoint, so the receipt cannot accuse the new log. A call
 * may also end after the process learned of a new log, with an entry in the ended one. So from then on each entry is
 * looked for before it is signed.
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
import type { ReceiptSigner } from '../operations/parts.ts';

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
  /** The log when the receipt was asked for. */
  readonly logId: string;
  resolve(signed: SignedReceipt | undefined): void;
}

export function createReceiptSigner(options: SignerOptions): ReceiptSigner {
  const { platform, log, logs } = options;
  const { logId: firstLogId } = logs.origin();
  const waiting: Waiting[] = [];
  let isFailing = false;

  /** Leaves what is too much for one signature to the next turn, so that other work runs in between. */
  async function signWaiting(): Promise<void> {
    const batch = waiting.splice(0, RECEIPTS_SIGNED_MAX);
    if (waiting.length > 0) platform.turn(() => void signWaiting());
    const origin = logs.origin();
    const own = batch.filter(({ logId }) => logId === origin.logId);
    const entries = own.map(({ entry }) => entry);
    const signed = await attempt(() => signAll(options, origin, entries));
    for (const [index, { resolve }] of own.entries()) resolve(signed?.[index]);
    for (const { logId, resolve } of batch) if (logId !== origin.logId) resolve(undefined);
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

  const join = (entry: NamedEntry) =>
    new Promise<SignedReceipt | undefined>((resolve) => {
      waiting.push({ entry, logId: logs.origin().logId, resolve });
      if (waiting.length === 1) platform.turn(() => void signWaiting());
    });
  const signStored = async (entry: NamedEntry) => {
    return (await attempt(() => isInLog(options, entry))) ? join(entry) : undefined;
  };
  return {
    sign: (entry) => (logs.origin().logId === firstLogId ? join(entry) : signStored(entry)),
    signStored,
  };
}

/** None where a later log has checkpoints: this process does not know that log yet. */
async function signAll(
  { definition, store, keyring }: SignerOptions,
  { logId, first }: Origin,
  entries: readonly NamedEntry[],
): Promise<SignedReceipt[]> {
  const { sequence } = (await store.lastCheckpoint()) ?? { sequence: first };
  if (entries.length === 0 || firstPlaceOf(sequence) > first) return [];
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
