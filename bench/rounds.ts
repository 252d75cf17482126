/**
 * Rounds: all targets take turns, several times. A round in which the host took the cores away is measured again, and
 * one that gets no answer is left out.
 *
 * @module
 */

import { cores, TAKEN_MAX, takenShare } from './host.ts';
import { measure, measureBeside, type Round, type Row, rowOf } from './measure.ts';
import { orNoAnswer } from './silence.ts';
import type { Target } from './targets.ts';

/** A host that is busy for a while is busy for the next rounds too. */
const REPEATS_PER_ROUND_MAX = 2;
/** Of all targets together: about a minute. */
const REPEATS_MAX = 40;

/** A target that never answered is asked no more after so many samples, the first of them to warm up. */
const MISSES_MAX = 2;

export interface Extent {
  readonly rounds: number;
  /** Of one sample. */
  readonly seconds: number;
  /** For caches, compiled code and connections. */
  readonly warmUpSeconds: number;
}

/** A row of the table, and what happened to its rounds. */
export interface Measured extends Row {
  readonly rounds: number;
  /** Rounds without an answer. */
  readonly silent: number;
  /** Rounds in which the host took too much, also when they were measured again. */
  readonly marked: number;
}

export interface Tally {
  rounds: number;
  repeated: number;
  marked: number;
  /** Whether the system tells what the host takes. */
  isTold: boolean;
}

export interface Interleaved {
  readonly rows: readonly Measured[];
  readonly tally: Readonly<Tally>;
}

export async function interleaved(
  targets: readonly Target[],
  { rounds, seconds, warmUpSeconds }: Extent,
): Promise<Interleaved> {
  const tally: Tally = { rounds: 0, repeated: 0, marked: 0, isTold: cores() !== undefined };
  const byName = new Map(targets.map((target) => [target.name, target]));
  const all = targets.map((target): Asked => ({ target, rounds: [], misses: 0 }));
  for (const asked of all) await answered(asked, () => measure(asked.target, warmUpSeconds));
  for (let turn = 0; turn < rounds; turn += 1) {
    for (const asked of all.filter(isWorthAsking)) {
      const baseline = byName.get(asked.target.baseline ?? '');
      const sample = () => watched(() => measureBeside(asked.target, baseline, seconds));
      const round = await undisturbed(() => answered(asked, sample), tally);
      if (round) asked.rounds.push(round);
    }
  }
  const rows = all.map(({ target, rounds: own }) => ({
    ...rowOf(target, own),
    rounds,
    silent: rounds - own.length,
    marked: own.filter(isMarked).length,
  }));
  return { rows, tally };
}

/** A target, the rounds that it answered, and how often it did not. */
interface Asked {
  readonly target: Target;
  readonly rounds: Round[];
  misses: number;
}

function isWorthAsking({ rounds, misses }: Asked): boolean {
  return rounds.length > 0 || misses < MISSES_MAX;
}

async function answered<Result>(
  asked: Asked,
  sample: () => Promise<Result>,
): Promise<Result | undefined> {
  const answer = await orNoAnswer(asked.target.name, sample);
  if (answer === undefined) asked.misses += 1;
  return answer;
}

async function watched(sample: () => Promise<Round>): Promise<Round> {
  const before = cores();
  const round = await sample();
  const after = cores();
  return { ...round, taken: before && after && takenShare(before, after) };
}

/** The round of which the host took least; measured again while it took too much. */
export async function undisturbed(
  sample: () => Promise<Round | undefined>,
  tally: Tally,
): Promise<Round | undefined> {
  tally.rounds += 1;
  let best = await sample();
  for (let repeats = 0; best && isMarked(best); repeats += 1) {
    if (repeats === REPEATS_PER_ROUND_MAX || tally.repeated === REPEATS_MAX) {
      tally.marked += 1;
      break;
    }
    tally.repeated += 1;
    const again = await sample();
    if (again && (again.taken ?? 0) < (best.taken ?? 0)) best = again;
  }
  return best;
}

function isMarked({ taken = 0 }: Round): boolean {
  return taken > TAKEN_MAX;
}
