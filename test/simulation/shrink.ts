/**
 * Shrinking: finds a smaller run that breaks the same rule, and the command that replays it.
 *
 * It leaves out replicas, kinds of faults and acts, as long as the run still breaks. Each act and each place of a
 * fault has its own stream of chance, so what stays is the same; only the order in which waiting work goes on
 * differs. So a smaller run is tried, never assumed.
 *
 * @module
 */

import type { FaultKind } from './faults.ts';
import { type RunOptions, type RunReport, runSeed } from './run.ts';

/** Runs that one shrinking may take. */
const RUNS_MAX = 600;

export interface Shrunk {
  readonly options: RunOptions;
  /** Of the smallest run that was found, with its trace. */
  readonly report: RunReport;
  readonly runs: number;
}

export async function shrink(found: RunReport, options: RunOptions): Promise<Shrunk> {
  let best: RunOptions = { ...options, acts: found.acts, trace: false };
  let runs = 0;

  /** Takes the smaller run if it breaks the same rule. */
  const tried = async (smaller: Partial<RunOptions>): Promise<boolean> => {
    if (runs >= RUNS_MAX) return false;
    runs += 1;
    const candidate = { ...best, ...smaller };
    const { broken } = await runSeed(found.seed, candidate);
    if (broken === undefined || broken.invariant !== found.broken?.invariant) return false;
    best = candidate;
    return true;
  };
  const dropKinds = async () => {
    for (const kind of found.kinds) {
      const without: readonly FaultKind[] = best.without ?? [];
      if (!without.includes(kind)) await tried({ without: [...without, kind] });
    }
  };

  for (let replicas = 1; replicas < found.replicas; replicas++) {
    if (await tried({ replicas })) break;
  }
  await dropKinds();
  await dropActs(
    () => best.acts ?? [],
    (acts) => tried({ acts }),
  );
  await dropKinds();
  await dropActs(
    () => best.acts ?? [],
    (acts) => tried({ acts }),
  );
  const report = await runSeed(found.seed, { ...best, trace: true });
  return { options: best, report, runs };
}

/** Delta debugging: leaves out half of the acts, then quarters, down to single ones. */
export async function dropActs<Act>(
  current: () => readonly Act[],
  tried: (acts: readonly Act[]) => Promise<boolean>,
): Promise<void> {
  for (let size = Math.ceil(current().length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < current().length; ) {
      const acts = current();
      const isSmaller = await tried([...acts.slice(0, at), ...acts.slice(at + size)]);
      if (!isSmaller) at += size;
    }
  }
}

/** Replays exactly this run. */
export function commandOf(seed: number, { mode, acts, without, replicas }: RunOptions): string {
  return [
    `npm run simulate -- --seed ${seed} --mode ${mode}`,
    // With an equals sign: the list may be empty.
    ...(acts ? [`--acts=${acts.join(',')}`] : []),
    ...(without && without.length > 0 ? [`--without ${without.join(',')}`] : []),
    ...(replicas === undefined ? [] : [`--replicas ${replicas}`]),
  ].join(' ');
}

/** What a person reads when a run broke: the rule, the way to replay it, and what happened. */
export function failureText({ options, report, runs }: Shrunk, whole: RunReport): string {
  const { broken, trace, acts } = report;
  return [
    `Broken: ${broken?.message ?? 'nothing any more'}`,
    `Seed ${whole.seed}, ${whole.mode}; shrunk from ${whole.acts.length} acts to ${acts.length} in ${runs} runs. Replay:`,
    `  ${commandOf(report.seed, options)}`,
    `The whole run: npm run simulate -- --seed ${whole.seed} --mode ${whole.mode}`,
    '',
    ...trace,
  ].join('\n');
}
