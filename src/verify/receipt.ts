/**
 * Checks the receipt of an invocation: whether the service signed it, and whether its leaf is in the log under a
 * checkpoint.
 *
 * An inclusion proof shows that the leaf is there. To show that it was dropped takes a whole exported log
 * (`export/receipt-search.ts`) and either the signature of the receipt or a checkpoint that its holder fetched after
 * it. A service that gives no proof may also be late or broken.
 *
 * @module
 */

import type { Hash } from '../domain/log/merkle.ts';
import { receiptPayload, receiptRoot } from '../domain/log/receipt.ts';
import { fromHex } from '../domain/wire/hash.ts';
import { isObject } from '../domain/wire/json.ts';
import { readDetached, TYPS } from '../domain/wire/jws.ts';
import { Receipt, type SignedReceipt } from '../protocol/invocation.ts';
import { CHECKPOINT_LIMITS, verifyCheckpoint } from './checkpoint.ts';
import { inclusionCheck, proofIn } from './entry.ts';
import {
  about,
  type Check,
  failed,
  notChecked,
  passedCheck,
  type Report,
  reportOf,
} from './report.ts';
import { type CheckpointAnchors, signatureChecks } from './signed.ts';

/**
 * A receipt, and the checkpoint: a detail that was fetched with the proof of the receipt's leaf hash.
 *
 * @example
 * import { type ProvedReceipt, verifyReceipt } from 'writ/verify';
 *
 * const receipt = { entry_id: `ent_${'0'.repeat(32)}`, leaf_hash: 'ab'.repeat(32) };
 * const unproved: ProvedReceipt = { receipt, checkpoint: undefined };
 * const anchors = { keys: { keys: [], noteKeys: [] }, now: new Date(), serviceId: 'travel-desk' };
 * console.log((await verifyReceipt(unproved, anchors)).checks.at(-1));
 */
export interface ProvedReceipt {
  readonly receipt: unknown;
  readonly checkpoint: unknown;
}

/** What stays unproved about a receipt without a signature. */
const UNSIGNED_LIMITS: readonly string[] = [
  'that the leaf is of the entry that the receipt names: that takes the entry with its leaf',
  'that the service gave the receipt: it is not signed, and its holder vouches for it',
];

/** What stays unproved about a signed receipt. */
const SIGNED_LIMITS: readonly string[] = [
  'that the entry says what the answer said: that takes the entry with its leaf',
  'that the clock of the service is right: it dates both the receipt and the checkpoints',
  'that the promise begins soon: a service can sign a late time or a checkpoint that it has not reached; compare both when the receipt comes',
];

export function receiptLimits(receipt: unknown): readonly string[] {
  return hasSignature(receipt) ? SIGNED_LIMITS : UNSIGNED_LIMITS;
}

/** Whether the receipt has a signature, right or wrong. */
export function hasSignature(receipt: unknown): boolean {
  return isObject(receipt) && receipt.signed !== undefined;
}

/**
 * Verifies that the leaf of a receipt is in the log under a signed root.
 *
 * @example
 * import { createService, defineCapability } from 'writ';
 * import { expectAnswer, testService } from 'writ/testing';
 * import { readKeys, verifyReceipt } from 'writ/verify';
 *
 * const ping = defineCapability({
 *   name: 'ping', description: 'Answer', side_effect: 'read',
 *   minimum_scope: ['demo.ping'], handler: () => ({ pong: true }),
 * });
 * const trust = { level: 'anchored', anchoring: { cadence: 'PT1H' } } as const;
 * const desk = await testService(createService({ id: 'demo', capabilities: [ping], trust }));
 * const { audit: receipt } = expectAnswer(await (await desk.caller('tester')).invoke('ping'));
 * const { client } = desk.human('ann');
 * const { checkpoint_id } = expectAnswer(await client.ask('operator.checkpoints', {})).checkpoint;
 * const asked = { checkpoint_id, include_proof: true, leaf_hash: receipt?.leaf_hash };
 * const checkpoint = expectAnswer(await client.ask('checkpoints.get', asked));
 * const keys = readKeys({ jwks: expectAnswer(await client.ask('jwks', {})), pinned: 'all' });
 * if ('fault' in keys) throw new Error(keys.fault);
 * const anchors = { keys, now: desk.now(), serviceId: 'demo' };
 * console.log((await verifyReceipt({ receipt, checkpoint }, anchors)).verdict);
 * await desk.close();
 */
export async function verifyReceipt(
  { receipt, checkpoint }: ProvedReceipt,
  anchors: CheckpointAnchors,
): Promise<Report> {
  const { checks: signed } = await receiptChecks(receipt, anchors);
  const own = about('receipt', signed);
  if (checkpoint === undefined && signed.length > 0) {
    const unshown = 'it is signed by the service, and not yet shown to be in the log';
    return reportOf([...own, notChecked('inclusion', unshown)], receiptLimits(receipt));
  }
  const covered = await verifyCheckpoint(checkpoint, anchors);
  const limits = [...receiptLimits(receipt), ...CHECKPOINT_LIMITS];
  const checks = [...about('checkpoint', covered.checks), ...own];
  const hash = receiptHash(receipt);
  if (hash === undefined) return reportOf([...checks, failed('receipt', NO_RECEIPT)], limits);
  return reportOf([...checks, inclusionCheck(proofIn(checkpoint), { ...covered, hash })], limits);
}

/**
 * Verifies that the service signed a receipt, without the service and without a checkpoint.
 *
 * @example
 * import { createService, defineCapability } from 'writ';
 * import { expectAnswer, testService } from 'writ/testing';
 * import { readKeys, verifySignedReceipt } from 'writ/verify';
 *
 * const ping = defineCapability({
 *   name: 'ping', description: 'Answer', side_effect: 'read',
 *   minimum_scope: ['demo.ping'], handler: () => ({ pong: true }),
 * });
 * const trust = { level: 'anchored', anchoring: { cadence: 'PT1H' } } as const;
 * const desk = await testService(createService({ id: 'demo', capabilities: [ping], trust }));
 * const { client } = await desk.caller('tester');
 * const call = { capability: 'ping', parameters: {}, prefer: 'receipt=signed' };
 * const { audit: receipt } = expectAnswer(await client.invoke(call));
 * const keys = readKeys({ jwks: expectAnswer(await client.ask('jwks', {})), pinned: 'all' });
 * if ('fault' in keys) throw new Error(keys.fault);
 * const anchors = { keys, now: desk.now(), serviceId: 'demo' };
 * console.log((await verifySignedReceipt(receipt, anchors)).verdict);
 * await desk.close();
 */
export async function verifySignedReceipt(
  receipt: unknown,
  anchors: CheckpointAnchors,
): Promise<Report> {
  const limits = [
    'that the entry is in the log: that takes a checkpoint',
    ...receiptLimits(receipt),
  ];
  if (receiptHash(receipt) === undefined) return reportOf([failed('receipt', NO_RECEIPT)], limits);
  const { checks } = await receiptChecks(receipt, anchors);
  const unsigned = notChecked(
    'signature',
    'the receipt is not signed; ask with Prefer: receipt=signed',
  );
  return reportOf(checks.length > 0 ? checks : [unsigned], limits);
}

/** The checks of a receipt's signature; none for a receipt that has no signature. */
export interface SignedChecks {
  readonly checks: readonly Check[];
  /** What the service signed; present when the signature verifies. */
  readonly signed?: SignedReceipt | undefined;
}

export async function receiptChecks(
  value: unknown,
  { keys, serviceId }: CheckpointAnchors,
): Promise<SignedChecks> {
  const receipt = Receipt.safeParse(value).data;
  if (!receipt?.signed) return { checks: [] };
  const { signed } = receipt;
  const root = receiptRoot(receipt, signed);
  if (root === undefined) {
    const place = `place ${signed.leaf_index} of ${signed.tree_size}`;
    return { checks: [failed('path', `it has no form of a path from ${place}`)] };
  }
  const payload = receiptPayload(serviceId, root, signed);
  const read = readDetached(signed.signature, TYPS.receipt, payload);
  const { checks, isSigned } = await signatureChecks(read, TYPS.receipt, keys);
  if (!isSigned) return { checks };
  const { last_checkpoint, signed_at, included_by } = signed;
  const from = `every checkpoint after ${last_checkpoint} dated from ${included_by} on`;
  const promise = `signed at ${signed_at}: ${from} has its entry`;
  return { checks: [...checks, passedCheck('promise', promise)], signed };
}

/** The leaf hash in a receipt. */
export function receiptHash(value: unknown): Hash | undefined {
  const parsed = Receipt.safeParse(value);
  return parsed.success ? fromHex(parsed.data.leaf_hash) : undefined;
}

export const NO_RECEIPT = 'it is not a receipt';
