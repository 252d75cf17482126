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

/**
 * A receipt, and the checkpoint: a detail that was fetched with the proof of the receipt's leaf hash.
 *
 * @example
 * import { type ProvedReceipt, verifyReceipt } from 'writ/verify';
 *
 * const receipt = { entry_id: `ent_${'0'.repeat(32)}`, leaf_hash: 'ab'.repeat(32) };
 * const unproved: ProvedReceipt = { receipt, checkpoint: undefined };
 * const ground = { keys: { keys: [], noteKeys: [] }, now: new Date(), serviceId: 'travel-desk' };
 * console.log((await verifyReceipt(unproved, ground)).checks.at(-1));
 */
export interface ProvedReceipt {
  readonly receipt: unknown;
  readonly checkpoint: unknown;
}

export const RECEIPT_LIMITS: readonly string[] = [
  'that the leaf is of the entry that the receipt names: that takes the entry with its leaf',
  'that the service gave the receipt: it is not signed, and its holder vouches for it',
];

/**
 * Verifies that the leaf of a receipt is in the log under a signed root.
 *
 * @example
 * import { createService, defineCapability } from 'writ';
 * import { answerOf, testService } from 'writ/testing';
 * import { readKeys, verifyReceipt } from 'writ/verify';
 *
 * const ping = defineCapability({
 *   name: 'ping', description: 'Answer', side_effect: 'read',
 *   minimum_scope: ['demo.ping'], handler: () => ({ pong: true }),
 * });
 * const trust = { level: 'anchored', anchoring: { cadence: 'PT1H' } } as const;
 * const desk = await testService(createService({ id: 'demo', capabilities: [ping], trust }));
 * const { audit: receipt } = answerOf(await (await desk.caller('tester')).invoke('ping'));
 * const { client } = desk.human('ann');
 * const { checkpoint_id } = answerOf(await client.ask('operator.checkpoints', {})).checkpoint;
 * const asked = { checkpoint_id, include_proof: true, leaf_hash: receipt?.leaf_hash };
 * const checkpoint = answerOf(await client.ask('checkpoints.get', asked));
 * const keys = readKeys({ jwks: answerOf(await client.ask('jwks', {})), pinned: 'all' });
 * if ('fault' in keys) throw new Error(keys.fault);
 * const ground = { keys, now: desk.now(), serviceId: 'demo' };
 * console.log((await verifyReceipt({ receipt, checkpoint }, ground)).verdict);
 * await desk.close();
 */
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
