/**
 * What one call takes, counted: promises, timers, statements, hashes, texts of JSON, bytes of the heap.
 *
 * Counting slows, so these programs are not those that are measured.
 *
 * @module
 */

import { answers } from './measure.ts';
import { DESK, type ProgramOptions, startProgram } from './processes.ts';
import { orNoAnswer } from './silence.ts';
import { type Target, workTargets } from './targets.ts';

/** The names of what is counted, as `bench/counting.mjs` spells them. */
export const COUNTED = {
  promises: 'promises',
  timers: 'timers',
  statements: 'SQL statements',
  hashes: 'hashes',
  parsed: 'JSON texts read',
  stringified: 'JSON texts written',
} as const;

/** Calls before the counted ones: caches, compiled code. */
const WARM_UP_CALLS = 3_000;

/** So few that they fit into the young generation of `ROOM`. */
const HEAP_CALLS = 1_500;

/** No collection may come between two looks at the heap. */
const ROOM = ['--min-semi-space-size=512', '--max-semi-space-size=512'];

export interface Counted {
  /** The columns. */
  readonly calls: readonly string[];
  /** The lines: what is counted, with one figure for each call. */
  readonly lines: readonly { readonly name: string; readonly figures: readonly number[] }[];
}

/** Undefined where the programs do not answer. */
export function countsOf(calls: number): Promise<Counted | undefined> {
  return orNoAnswer('counts of a call', async () => {
    const work = await eachCounted(calls, { environment: { BENCH_COUNT: 'work' } });
    const heap = await eachCounted(Math.min(calls, HEAP_CALLS), {
      environment: { BENCH_COUNT: 'heap' },
      flags: ROOM,
    });
    const line = (name: string, figureOf: (counts: Counts) => number, of = work) => ({
      name,
      figures: of.map(({ counts }) => figureOf(counts)),
    });
    return {
      calls: work.map(({ name }) => name),
      lines: [
        ...Object.entries(COUNTED).map(([key, name]) => line(name, (counts) => counts(key))),
        line('calls that share a commit', (counts) => 1 / counts('commits')),
        line('KB of the heap', keptOf, heap),
      ],
    };
  });
}

/** A figure for one call, by its name. */
type Counts = (key: string) => number;

/** Unknown when garbage was collected in between. */
function keptOf(counts: Counts): number {
  return counts('collections') === 0 ? counts('heapUsed') / 1_000 : Number.NaN;
}

/** What a read, a write, a search and an issuance count in a program that does nothing else. */
async function eachCounted(calls: number, options: ProgramOptions) {
  const program = await startProgram(DESK, { ...options, preload: 'bench/counting.mjs' });
  try {
    const counted: { name: string; counts: Counts }[] = [];
    for (const target of await workTargets('SQLite', program)) {
      counted.push({ name: target.name, counts: await countedOver(target, calls) });
    }
    return counted;
  } finally {
    await program.stop();
  }
}

async function countedOver(target: Target, calls: number): Promise<Counts> {
  await answers(target, WARM_UP_CALLS);
  const before = await target.program.ask();
  await answers(target, calls);
  const after = await target.program.ask();
  return (key) => ((after[key] ?? 0) - (before[key] ?? 0)) / calls;
}
