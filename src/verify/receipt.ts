/**
 * The receipt of an invocation, held against a checkpoint: is what was promised in the log?
 *
 * That it is there is shown by an inclusion proof. That it was dropped takes more: a whole exported
 * log, and a checkpoint that the holder of the receipt fetched after it (`receipt-search.ts`). A
 * service that only gives no proof may be late, or out of order, as well as dishonest.
 *
 * @module
 */

import type { Hash } from '../domain/log/merkle.ts';
import { fromHex } from '../domain/wire/hash.ts';
import { Receipt } from '../protocol/invocation.ts';
import { CHECKPOINT_LIMITS, verifyCheckpoint } from './checkpoint.ts';
import { inclusionCheck, proofIn } from './entry.ts';
import { about, failed, type Report, reportOf } from './report.ts';
import type { CheckpointGround } from './signed.ts';

/** The detail of the checkpoint was asked for the proof of the receipt's leaf hash. */
export interface ProvedReceipt {
  readonly receipt: unknown;
  readonly checkpoint: unknown;
}

export const RECEIPT_LIMITS: readonly string[] = [
  'that the leaf is of the entry that the receipt names: that takes the entry with its leaf',
  'that the service gave the receipt: it is not signed, and its holder vouches for it',
];

export async function verifyReceipt(
  { receipt: value, checkpoint }: ProvedReceipt,
  ground: CheckpointGround,
): Promise<Report> {
  const covered = await verifyCheckpoint(checkpoint, ground);
  const limits = [...RECEIPT_LIMITS, ...CHECKPOINT_LIMITS];
  const checks = about('checkpoint', covered.checks);
  const hash = receiptHash(value);
  if (hash === undefined) return reportOf([...checks, failed('receipt', 'it is none')], limits);
  return reportOf([...checks, inclusionCheck(proofIn(checkpoint), { ...covered, hash })], limits);
}

/** The leaf hash that a receipt promises. */
export function receiptHash(value: unknown): Hash | undefined {
  const parsed = Receipt.safeParse(value);
  return parsed.success ? fromHex(parsed.data.leaf_hash) : undefined;
}
