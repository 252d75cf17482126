/**
 * Verifies that two checkpoints are of one log: the later tree begins with the whole earlier one.
 *
 * @module
 */

import type { Hash } from '../domain/log/merkle.ts';
import { isConsistent } from '../domain/log/merkle-proof.ts';
import { firstPlaceOf } from '../domain/log/origin.ts';
import { countText } from '../domain/values/count-text.ts';
import { fromHex } from '../domain/wire/hash.ts';
import { isObject } from '../domain/wire/json.ts';
import { Checkpoint, ConsistencyProof } from '../protocol/audit.ts';
import { CHECKPOINT_LIMITS, verifyCheckpoint } from './checkpoint.ts';
import {
  about,
  type Check,
  failed,
  notChecked,
  passedCheck,
  type Report,
  reportOf,
} from './report.ts';
import type { CheckpointAnchors, SignedHead } from './signed.ts';

/**
 * Two checkpoints. The later one is a detail that was fetched with `consistency_from` of the earlier one.
 *
 * @example
 * import { type CheckpointPair, verifyConsistency } from 'writ/verify';
 *
 * const pair: CheckpointPair = { earlier: { sequence: 17 }, later: { sequence: 18 } };
 * const anchors = { keys: { keys: [], noteKeys: [] }, now: new Date(), serviceId: 'travel-desk' };
 * console.log((await verifyConsistency(pair, anchors)).checks.map(({ detail }) => detail));
 */
export interface CheckpointPair {
  readonly earlier: unknown;
  readonly later: unknown;
}

/**
 * Verifies that the log only grew between two checkpoints.
 *
 * @example
 * import { createService } from 'writ';
 * import { expectAnswer, testService } from 'writ/testing';
 * import { readKeys, verifyConsistency } from 'writ/verify';
 *
 * const trust = { level: 'anchored', anchoring: { cadence: 'PT1H' } } as const;
 * const desk = await testService(createService({ id: 'demo', capabilities: [], trust }));
 * const { client } = desk.human('ann');
 * const sealed = async () => expectAnswer(await client.ask('operator.checkpoints', {})).checkpoint;
 * const earlier = await sealed();
 * await client.ask('tokens.issue', { subject: 'agent:planner', scope: ['operator:audit'] });
 * const asked = { checkpoint_id: (await sealed()).checkpoint_id, consistency_from: earlier.checkpoint_id };
 * const later = expectAnswer(await client.ask('checkpoints.get', asked));
 * const keys = readKeys({ jwks: expectAnswer(await client.ask('jwks', {})), pinned: 'all' });
 * if ('fault' in keys) throw new Error(keys.fault);
 * const anchors = { keys, now: desk.now(), serviceId: 'demo' };
 * console.log((await verifyConsistency({ earlier, later }, anchors)).verdict);
 * await desk.close();
 */
export async function verifyConsistency(
  { earlier, later }: CheckpointPair,
  anchors: CheckpointAnchors,
): Promise<Report> {
  const [first, second] = [
    await verifyCheckpoint(earlier, anchors),
    await verifyCheckpoint(later, anchors),
  ];
  const checks = [
    ...about('earlier', first.checks),
    ...about('later', second.checks),
    ...growthChecks({ earlier, later }, first.head, second.head),
  ];
  return reportOf(checks, CHECKPOINT_LIMITS);
}

/** Compares the two, given the heads that they have. */
export function growthChecks(
  { earlier, later }: CheckpointPair,
  first: SignedHead | undefined,
  second: SignedHead | undefined,
): Check[] {
  const proof = isObject(later) ? later.consistency_proof : undefined;
  return [orderCheck(earlier, later), consistencyCheck(proof, first, second)];
}

function orderCheck(earlier: unknown, later: unknown): Check {
  const [first, second] = [Checkpoint.safeParse(earlier), Checkpoint.safeParse(later)];
  if (!first.success || !second.success) return notChecked('order', 'one is not a checkpoint');
  const [before, after] = [first.data, second.data];
  // A log signs one checkpoint per number, so an equal number requires an equal checkpoint, and vice versa.
  const isSame = before.checkpoint_id === after.checkpoint_id;
  const isOfOneLog = firstPlaceOf(before.sequence) === firstPlaceOf(after.sequence);
  const isOrdered =
    (isSame ? before.sequence === after.sequence : before.sequence < after.sequence) &&
    (before.entry_count <= after.entry_count || !isOfOneLog);
  const what = `${before.sequence} then ${after.sequence}`;
  return isOrdered
    ? passedCheck('order', what)
    : failed('order', `number or size decreases or repeats (${what})`);
}

function consistencyCheck(
  value: unknown,
  first: SignedHead | undefined,
  second: SignedHead | undefined,
): Check {
  const what = 'consistency';
  if (!first || !second) return notChecked(what, 'there are no two signed roots to compare');
  if (first.first !== second.first) {
    return notChecked(what, 'an operator ended the log of the earlier one and accepted its loss');
  }
  // Equal trees need no proof, and every tree begins with the empty one.
  const isPlain = first.size === second.size || first.size === 0;
  if (value === undefined && !isPlain) return notChecked(what, 'there is no consistency proof');

  const { from_size, to_size, hashes } =
    value === undefined ? proofOfNothing(first, second) : proofOf(value);
  if (from_size !== first.size || to_size !== second.size) {
    return failed(what, 'the proof is not of these two sizes');
  }
  const proof = hashes.map((hex) => fromHex(hex) as Hash);
  const sizes = { from: first.size, to: second.size };
  const grew = isConsistent({ ...sizes, fromRoot: first.root, toRoot: second.root, proof });
  if (!grew)
    return failed(
      what,
      `${countText(second.size, 'entry', 'entries')} do not begin with the ${first.size}`,
    );
  return passedCheck(
    what,
    `${countText(second.size, 'entry', 'entries')} begin with the ${first.size}`,
  );
}

function proofOfNothing(first: SignedHead, second: SignedHead): ConsistencyProof {
  return { from_size: first.size, to_size: second.size, hashes: [] };
}

/** `undefined` for a proof that cannot be read. */
function proofOf(value: unknown): ConsistencyProof {
  const parsed = ConsistencyProof.safeParse(value);
  return parsed.success ? parsed.data : { from_size: -1, to_size: -1, hashes: [] };
}
