/**
 * Runs the simulation for many seeds, or replays one.
 *
 *     npm run simulate -- --seeds 1000 --mode both
 *     npm run simulate -- --minutes 25 --processes 2
 *     npm run simulate -- --seed 42 --mode remote --acts=1,4,7 --without crash,pause
 *
 * Several seeds are divided among child processes, which run one bundle of all sources: it is a fifth faster than the
 * sources one by one. The first seed that breaks a rule ends the run: the script
 * shrinks it, prints how to replay it, and ends with exit code 1.
 *
 * @module
 */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bundled, bundleFolder } from '../test/simulation/bundle.ts';
import { FAULT_KINDS, type FaultKind } from '../test/simulation/faults.ts';
import { STORE_MODES, type StoreMode } from '../test/simulation/modes.ts';
import { type RunOptions, type RunReport, runSeed } from '../test/simulation/run.ts';
import { failureText, shrink } from '../test/simulation/shrink.ts';

const SEEDS_DEFAULT = 1_000;

/** In milliseconds, between two lines of progress. */
const PROGRESS_MS = 10_000;

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    from: { type: 'string', default: '1' },
    minutes: { type: 'string' },
    mode: { type: 'string', default: 'remote' },
    processes: { type: 'string', default: '1' },
    acts: { type: 'string' },
    without: { type: 'string' },
    replicas: { type: 'string' },
    trace: { type: 'boolean', default: false },
    /** A child process: every how many seeds it runs one. */
    stride: { type: 'string' },
  },
});

/** What the runs of one mode counted. */
interface Counted {
  seeds: number;
  acts: number;
  admitted: number;
  effects: number;
  crashes: number;
}

type FromChild =
  | { readonly kind: 'counted'; readonly mode: StoreMode; readonly counted: Counted }
  | { readonly kind: 'broken'; readonly mode: StoreMode; readonly seed: number };

process.exitCode = await main();

function main(): Promise<number> {
  if (values.stride !== undefined) return runSlice();
  return values.seed === undefined ? runMany() : replay(Number(values.seed));
}

/** One seed: with all its lines where acts are named or `--trace` is given, else shrunk when it breaks. */
async function replay(seed: number): Promise<number> {
  let code = 0;
  for (const mode of modes()) {
    const options = { ...narrowing(), mode };
    const isWhole = values.acts === undefined && !values.trace;
    const report = await runSeed(seed, { ...options, trace: !isWhole });
    if (report.broken) code = 1;
    if (report.broken && isWhole) await tell(report, options);
    else {
      say([...report.trace, summaryOf(report)].join('\n'));
    }
  }
  return code;
}

function summaryOf({ seed, mode, steps, admitted, effects, broken, ...report }: RunReport): string {
  const outcome = broken ? `broke ${broken.message}` : 'held';
  const counts = `${report.acts.length} acts, ${report.replicas} replicas, ${steps} steps, ${admitted} admitted, ${effects} effects`;
  return `seed ${seed} ${mode} ${outcome} (${counts}; faults: ${report.kinds.join(' ')})`;
}

async function tell(report: RunReport, options: RunOptions): Promise<void> {
  say(failureText(await shrink(report, options), report));
}

function narrowing(): Omit<RunOptions, 'mode'> {
  const { acts, without, replicas } = values;
  return {
    acts: acts === undefined ? undefined : listOf(acts).map(Number),
    without: without === undefined ? undefined : listOf(without).map(kindOf),
    replicas: replicas === undefined ? undefined : Number(replicas),
  };
}

function listOf(text: string): string[] {
  return text.split(',').filter((each) => each !== '');
}

function kindOf(text: string): FaultKind {
  const kind = FAULT_KINDS.find((each) => each === text);
  if (kind) return kind;
  throw new Error(`Cannot leave out "${text}": the kinds of faults are ${FAULT_KINDS.join(', ')}`);
}

function modes(): readonly StoreMode[] {
  if (values.mode === 'both') return STORE_MODES;
  const mode = STORE_MODES.find((each) => each === values.mode);
  if (mode) return [mode];
  throw new Error(`Cannot run mode "${values.mode}": expected remote, embedded or both`);
}

/** Divides the seeds among processes, and adds up what they count. */
async function runMany(): Promise<number> {
  const processes = Number(values.processes);
  const folder = bundleFolder();
  const program = await bundled(fileURLToPath(import.meta.url), folder);
  const totals = new Map(modes().map((mode) => [mode, emptyCount()]));
  const begun = Date.now();
  const first = Number(values.from);
  const children = Array.from({ length: processes }, (_, index) => {
    const own = ['--from', String(first + index), '--stride', String(processes)];
    const seeds = values.seeds ?? (values.minutes === undefined ? SEEDS_DEFAULT : undefined);
    const share = seeds === undefined ? [] : ['--seeds', String(shareOf(Number(seeds), index))];
    const time = values.minutes === undefined ? [] : ['--minutes', values.minutes];
    const given = ['--mode', values.mode, ...own, ...share, ...time, ...narrowingArgs()];
    // Most objects of a run die young: a larger young generation halves the work of the collector.
    const execArgv = ['--max-semi-space-size=64'];
    return fork(program, given, { execArgv });
  });
  let broken: { mode: StoreMode; seed: number } | undefined;
  const progress = setInterval(() => say(progressOf(totals, begun)), PROGRESS_MS);
  for (const child of children) {
    child.on('message', (message: FromChild) => {
      if (message.kind === 'counted') add(totals.get(message.mode), message.counted);
      else broken ??= message;
      if (broken) for (const each of children) each.kill();
    });
  }
  const codes = await Promise.all(children.map(async (child) => (await once(child, 'exit'))[0]));
  clearInterval(progress);
  rmSync(folder, { recursive: true, force: true });
  say(progressOf(totals, begun));
  if (broken) {
    const options = { ...narrowing(), mode: broken.mode };
    await tell(await runSeed(broken.seed, options), options);
    return 1;
  }
  return codes.some((code) => code !== 0) ? 1 : 0;
}

function shareOf(seeds: number, index: number): number {
  return Math.floor((seeds + Number(values.processes) - 1 - index) / Number(values.processes));
}

function narrowingArgs(): string[] {
  const { without, replicas } = values;
  return [
    ...(without === undefined ? [] : ['--without', without]),
    ...(replicas === undefined ? [] : ['--replicas', replicas]),
  ];
}

/** A child process: runs its seeds in each mode, and reports what it counts. */
async function runSlice(): Promise<number> {
  const end =
    values.minutes === undefined ? Infinity : Date.now() + Number(values.minutes) * 60_000;
  const seeds = values.seeds === undefined ? Infinity : Number(values.seeds);
  const counts = new Map(modes().map((mode) => [mode, emptyCount()]));
  let told = Date.now();
  const report = () => {
    for (const [mode, counted] of counts) {
      process.send?.({ kind: 'counted', mode, counted } satisfies FromChild);
      counts.set(mode, emptyCount());
    }
    told = Date.now();
  };
  let seed = Number(values.from);
  let current: { mode: StoreMode; seed: number } | undefined;
  // A promise that nothing awaits is a defect of the seed that runs.
  process.on('unhandledRejection', (error) => {
    say(`seed ${current?.seed} ${current?.mode}: ${(error as Error).stack}`);
    if (current) process.send?.({ kind: 'broken', ...current } satisfies FromChild);
    process.exitCode = 1;
  });
  for (let count = 0; count < seeds && Date.now() < end; count++) {
    for (const mode of modes()) {
      current = { mode, seed };
      const run = await runSeed(seed, { ...narrowing(), mode });
      if (run.broken) {
        process.send?.({ kind: 'broken', mode, seed } satisfies FromChild);
        return 1;
      }
      add(counts.get(mode), { ...run, seeds: 1, acts: run.acts.length });
    }
    // Lets the messages of this process leave.
    await new Promise((resolve) => setImmediate(resolve));
    if (Date.now() - told > PROGRESS_MS / 4) report();
    seed += Number(values.stride);
  }
  report();
  process.disconnect?.();
  return 0;
}

function emptyCount(): Counted {
  return { seeds: 0, acts: 0, admitted: 0, effects: 0, crashes: 0 };
}

function add(sum: Counted | undefined, { seeds, acts, admitted, effects, crashes }: Counted): void {
  if (!sum) return;
  sum.seeds += seeds;
  sum.acts += acts;
  sum.admitted += admitted;
  sum.effects += effects;
  sum.crashes += crashes;
}

function progressOf(totals: ReadonlyMap<StoreMode, Counted>, begun: number): string {
  const seconds = (Date.now() - begun) / 1_000;
  const parts = [...totals].map(([mode, { seeds, acts, admitted, effects, crashes }]) => {
    return `${mode}: ${seeds} seeds, ${acts} acts, ${admitted} admitted, ${effects} effects, ${crashes} crashes`;
  });
  return `${seconds.toFixed(0)} s; ${parts.join('; ')}`;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
