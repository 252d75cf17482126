/**
 * Checks the receipt of an invocation against a checkpoint: whether its leaf is in the log.
 *
 * An inclusion proof shows that the leaf is there. To show that it was dropped takes a whole exported
 * log, and a checkpoint that the holder of the receipt fetched after it (`receipt-search.ts`). A
 * service that gives no proof may also be late or broken.
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

/** The checkpoint is a detail that was fetched with the proof of the receipt's leaf hash. */
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
  if (hash === undefined)
    return reportOf([...checks, failed('receipt', 'it is not a receipt')], limits);
  return reportOf([...checks, inclusionCheck(proofIn(checkpoint), { ...covered, hash })], limits);
}

/** The leaf hash in a receipt. */
export function receiptHash(value: unknown): Hash | undefined {
  const parsed = Receipt.safeParse(value);
  return parsed.success ? fromHex(parsed.data.leaf_hash) : undefined;
}
