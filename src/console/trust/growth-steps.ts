/**
 * The steps that show that one checkpoint extends another: the later tree begins with the whole earlier one.
 *
 * @module
 */

import type { Hash } from '../../domain/log/merkle.ts';
import { consistencyJoins, type GrowthJoins, topOf } from '../../domain/log/merkle-proof.ts';
import { equalBytes, fromHex, toHex } from '../../domain/wire/hash.ts';
import { isObject } from '../../domain/wire/json.ts';
import { Checkpoint, ConsistencyProof } from '../../protocol/audit.ts';
import {
  CHECKPOINT_LIMITS,
  headOf,
  verifyCheckpoint,
  withoutNotes,
} from '../../verify/checkpoint.ts';
import { growthChecks } from '../../verify/consistency.ts';
import { failed, passedCheck } from '../../verify/report.ts';
import type { SignedHead } from '../../verify/signed.ts';
import {
  checkpointSteps,
  checkStep,
  joinSteps,
  leavesText,
  type PageAnchors,
  type Path,
  type Proof,
  proofOf,
  proofPath,
  type Step,
} from './steps.ts';

export interface GivenPair {
  readonly earlier: unknown;
  /** With the consistency proof. */
  readonly later: unknown;
  /** The later one as a list showed it; an answer about another one fails. */
  readonly listed?: Checkpoint | undefined;
}

export async function growthProof(given: GivenPair, asked: PageAnchors): Promise<Proof> {
  const anchors: PageAnchors = { ...asked, ...withoutNotes(asked) };
  const [before, after] = [headIn(given.earlier), headIn(given.later)];
  const names = [
    nameOf(given.earlier, 'the earlier one'),
    nameOf(given.later, 'the later one'),
  ] as const;
  const joins = before && after ? joinsOf(given.later, before, after) : undefined;
  const compared = growthChecks(given, before, after).map((check) =>
    checkStep(TITLES[check.what] ?? check.what, [check]),
  );
  const [first, second] = [
    await verifyCheckpoint(given.earlier, anchors),
    await verifyCheckpoint(given.later, anchors),
  ];
  const steps = [
    ...(given.listed ? [listedStep(given.later, given.listed)] : []),
    ...(joins && before && after ? climbSteps(joins, before, after, names) : []),
    ...compared,
    ...checkpointSteps(names[0], first.checks, anchors),
    ...checkpointSteps(names[1], second.checks, anchors),
  ];
  const path =
    joins && after
      ? drawn(joins, after, {
          firstStep: given.listed ? 2 : 1,
          rootOf: names[1],
          isSigned: second.head !== undefined,
        })
      : undefined;
  const claim = `${capital(names[1])} extends ${names[0]}`;
  return proofOf(claim, steps, { path, limits: CHECKPOINT_LIMITS });
}

const TITLES: Readonly<Record<string, string>> = {
  order: 'Compare the numbers',
  consistency: 'Compare the two trees',
};

const LISTED = ['checkpoint_id', 'sequence', 'merkle_root', 'entry_count', 'created_at'] as const;

function listedStep(later: unknown, listed: Checkpoint): Step {
  const answered: Readonly<Record<string, unknown>> = isObject(later) ? later : {};
  const checks = LISTED.map((field) =>
    answered[field] === listed[field]
      ? passedCheck(field)
      : failed(field, `the list has ${listed[field]}, the answer ${String(answered[field])}`),
  );
  return checkStep('Compare the answer with the list', checks);
}

function headIn(checkpoint: unknown): SignedHead | undefined {
  const parsed = Checkpoint.safeParse(checkpoint).data;
  return parsed && headOf(parsed);
}

function nameOf(checkpoint: unknown, otherwise: string): string {
  const { sequence } = isObject(checkpoint) ? checkpoint : {};
  return typeof sequence === 'number' ? `checkpoint ${sequence}` : otherwise;
}

function joinsOf(later: unknown, before: SignedHead, after: SignedHead): GrowthJoins | undefined {
  const value = isObject(later) ? later.consistency_proof : undefined;
  const parsed = ConsistencyProof.safeParse(value).data;
  if (!parsed || before.first !== after.first) return undefined;
  const proof = parsed.hashes.map((hex) => fromHex(hex) as Hash);
  return consistencyJoins({ from: before.size, to: after.size, fromRoot: before.root, proof });
}

function climbSteps(
  joins: GrowthJoins,
  before: SignedHead,
  after: SignedHead,
  [earlier, later]: readonly [string, string],
): Step[] {
  const { seed, covers, first } = { ...joins, first: after.first };
  const begin: Step = {
    title: `Begin with ${leavesText(covers, first)}`,
    note: covers.start === 0 ? `the whole tree of ${earlier}` : 'complete in both trees',
    outcome: 'ok',
    isComputation: true,
    says: [],
    hashes: [{ label: 'given', hex: toHex(seed) }],
  };
  return [
    begin,
    ...joinSteps(joins.earlier, first),
    rootStep(earlier, topOf(seed, joins.earlier), before.root),
    ...joinSteps(joins.later, first),
    rootStep(later, topOf(seed, joins.later), after.root),
  ];
}

function rootStep(name: string, reached: Hash, root: Hash): Step {
  const isEqual = equalBytes(reached, root);
  return {
    title: `Compare with the root of ${name}`,
    outcome: isEqual ? 'ok' : 'failed',
    says: [isEqual ? 'equal' : 'the hashes give another root'],
    hashes: [{ label: 'root', hex: toHex(root) }],
  };
}

function drawn(
  joins: GrowthJoins,
  after: SignedHead,
  { firstStep, ...more }: Pick<Path, 'rootOf' | 'isSigned'> & { firstStep: number },
): Path {
  const { seed: hash, covers, earlier, later } = joins;
  // The joins of the earlier tree and the comparison with its root stand between.
  const firstJoin = firstStep + earlier.length + 2;
  return proofPath(
    { seed: capital(leavesText(covers, after.first)), hash, joins: later, first: after.first },
    {
      numbers: [firstStep, ...later.map((_, at) => firstJoin + at)],
      isReached: equalBytes(topOf(hash, later), after.root),
      root: toHex(after.root),
      ...more,
    },
  );
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
