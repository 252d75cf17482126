/**
 * Measuring: one target under load for a while, and what many such samples say together.
 *
 * A busy machine slows everything alike, so what counts is the ratio to the baseline just before and just
 * after. Where the rounds disagree, there is no ratio.
 *
 * @module
 */

import autocannon from 'autocannon';
import type { Target } from './targets.ts';

export const CONNECTIONS = 64;

/** When the middle half of the rounds spreads over more than this part of the median, it means nothing. */
const SPREAD_MAX = 0.25;

export interface Sample {
  /** Answers in a second. */
  readonly rate: number;
  /** In milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** In microseconds of the server's process for one answer. */
  readonly cpu: number;
  /** The same of the database server, where there is one. */
  readonly databaseCpu?: number | undefined;
}

/** What is compared with a baseline. */
type Compared = Pick<Sample, 'rate'> & { readonly wholeCpu: number };

/** A target in one round, and its baseline beside it. */
export interface Round {
  readonly own: Sample;
  readonly beside?: Compared | undefined;
  /** The part of the cores that the host took away; undefined where the system does not tell. */
  readonly taken?: number | undefined;
}

export interface Row extends Sample, Pick<Target, 'name' | 'baseline' | 'reach' | 'aim'> {
  readonly ratio?: number | undefined;
  /** CPU for an answer, as a multiple of the baseline's; the database server's is in it. */
  readonly cpuRatio?: number | undefined;
  /** The rounds differ too much for a ratio. */
  readonly isUnsure: boolean;
}

/** A machine that stands still for a moment makes the service turn work away; such a sample is none. The next lasts longer. */
const TRIES = 4;

export async function measure(target: Target, seconds: number): Promise<Sample> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await sample(target, seconds * tries);
    } catch (error) {
      if (tries === TRIES) throw error;
    }
  }
}

/** In milliseconds. A run ends only where a sample does, and by itself takes one a second. */
const SAMPLING: object = { sampleInt: 100 };

async function sample(target: Target, seconds: number): Promise<Sample> {
  const { program, database } = target;
  const [cpu, databaseCpu] = [program.cpu(), database?.cpu() ?? 0];
  const { requests, duration, latency } = await load(target, { duration: seconds });
  return {
    rate: requests.total / duration,
    p50: latency.p50,
    p99: latency.p99,
    cpu: (program.cpu() - cpu) / requests.total,
    databaseCpu: database && (database.cpu() - databaseCpu) / requests.total,
  };
}

/** Asks so many times, however long it takes. */
export async function answers(target: Target, amount: number): Promise<void> {
  await load(target, { amount });
}

async function load(target: Target, extent: { duration: number } | { amount: number }) {
  const result = await autocannon({
    url: `${target.program.url}${target.path}`,
    connections: CONNECTIONS,
    ...extent,
    ...SAMPLING,
    method: target.method,
    ...(target.headers && { headers: target.headers }),
    ...(target.body !== undefined && { body: target.body }),
  });
  const { status = 200 } = target;
  const others = Object.keys(result.statusCodeStats).filter((code) => code !== String(status));
  if (others.length > 0 || result.errors > 0 || result.requests.total === 0) {
    const got = `${others.join(', ') || 'nothing'} and ${result.errors} broken connections`;
    throw new Error(`Cannot measure ${target.name}: expected ${status}, got ${got}`);
  }
  return result;
}

/** The baseline is measured for half as long before and for half as long after. */
export async function measureBeside(
  target: Target,
  baseline: Target | undefined,
  seconds: number,
): Promise<Round> {
  if (!baseline) return { own: await measure(target, seconds) };
  const before = await measure(baseline, seconds / 2);
  const own = await measure(target, seconds);
  const after = await measure(baseline, seconds / 2);
  return {
    own,
    beside: {
      rate: (before.rate + after.rate) / 2,
      wholeCpu: (wholeCpu(before) + wholeCpu(after)) / 2,
    },
  };
}

function wholeCpu({ cpu, databaseCpu = 0 }: Sample): number {
  return cpu + databaseCpu;
}

export function rowOf({ name, baseline, reach, aim }: Target, rounds: readonly Round[]): Row {
  const own = rounds.map((round) => round.own);
  const ratios = rounds.flatMap(({ own: { rate }, beside }) => (beside ? rate / beside.rate : []));
  const cpuRatios = rounds.flatMap((round) =>
    round.beside ? wholeCpu(round.own) / round.beside.wholeCpu : [],
  );
  const databaseCpus = own.flatMap(({ databaseCpu }) => databaseCpu ?? []);
  const isUnsure = ratios.length > 0 && spread(ratios) > SPREAD_MAX;
  return {
    name,
    baseline,
    reach,
    aim,
    rate: median(own.map(({ rate }) => rate)),
    p50: median(own.map(({ p50 }) => p50)),
    p99: median(own.map(({ p99 }) => p99)),
    cpu: median(own.map(({ cpu }) => cpu)),
    databaseCpu: databaseCpus.length === 0 ? undefined : median(databaseCpus),
    ratio: ratios.length === 0 || isUnsure ? undefined : median(ratios),
    cpuRatio: cpuRatios.length === 0 ? undefined : median(cpuRatios),
    isUnsure,
  };
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

function spread(values: readonly number[]): number {
  return (quantile(values, 0.75) - quantile(values, 0.25)) / median(values);
}

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.round((sorted.length - 1) * part)] ?? Number.NaN;
}
