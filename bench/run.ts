/**
 * The benchmark: the service beside bare servers, in the same run, on the same machine.
 *
 *     npm run bench -- [--quick] [--json <file>] [--profile <folder>] [--no-growth] [--growth] [--calls <number>] [--entries <number>]
 *     npm run bench -- --attacks
 *     npm run bench -- --backups [--quick]
 *     npm run bench -- --console [--quick]
 *
 * Targets are interleaved and repeated. A whole run writes `bench/RESULTS.md` and `bench/growth.svg`;
 * a quick one only prints. With `--profile`, each program leaves its CPU profile in the folder. `--calls` is
 * over how many invocations memory is watched; a million takes some minutes more. `--growth` measures growth and
 * nothing else, and only prints; `--entries` is how far the log grows then. `--attacks` measures an
 * honest client beside hostile ones, and nothing else; `BENCH_ATTACKS` is a part of the names of those to run.
 * `--backups` measures calls beside `writ backup`, and nothing else. `--console` measures the pages of the console in
 * a browser, and nothing else.
 *
 * @module
 */

import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { makeDatabase, startPostgres } from '../test/support/postgres.ts';
import { underAttack } from './attacks.ts';
import { besideBackups } from './backups.ts';
import { chartOf } from './chart.ts';
import { inBrowser } from './console.ts';
import { countsOf } from './counts.ts';
import { databaseAt } from './database.ts';
import { type Extent, growth } from './growth.ts';
import { machine } from './machine.ts';
import { CONNECTIONS, measure } from './measure.ts';
import { ABSENT, DESK, type Program, type ProgramOptions, startProgram } from './processes.ts';
import { pageOf, roundsLine, type UnderLoad } from './report.ts';
import { interleaved } from './rounds.ts';
import { isAllAnswered, orNoAnswer } from './silence.ts';
import {
  countsTable,
  figuresTable,
  forTerminal,
  goalsTable,
  rowsTable,
  STEADY_SECONDS,
} from './tables.ts';
import {
  AS_SHIPPED,
  baselines,
  documentTargets,
  pairTargets,
  READ_ON_SQLITE,
  refusalTargets,
  SLOW_COMMIT_MS,
  shippedTargets,
  slowCommitTargets,
  type Target,
  workTargets,
} from './targets.ts';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    profile: { type: 'string' },
    'no-growth': { type: 'boolean', default: false },
    growth: { type: 'boolean', default: false },
    entries: { type: 'string' },
    calls: { type: 'string' },
    attacks: { type: 'boolean', default: false },
    backups: { type: 'boolean', default: false },
    console: { type: 'boolean', default: false },
  },
});

const { quick } = options;
const ROUNDS = quick
  ? { rounds: 2, seconds: 0.3, warmUpSeconds: 0.3 }
  : { rounds: 5, seconds: 0.8, warmUpSeconds: 2 };

const CALLS = options.calls === undefined ? undefined : Number(options.calls);

const ENTRIES = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];

const EXTENT: Extent = quick
  ? {
      entries: [1_000, 5_000],
      tokens: [100, 1_000],
      descendants: 1_000,
      held: [200, 1_000],
      calls: CALLS ?? 0,
      sample: 300,
    }
  : {
      entries: ENTRIES.filter((size) => size <= Number(options.entries ?? 1_000_000)),
      tokens: [100, 1_000, 10_000, 100_000],
      descendants: 10_000,
      held: [20_000, 100_000],
      calls: CALLS ?? 100_000,
      sample: 2_000,
    };

const BACKUPS = quick ? { entries: 20_000, rounds: 2 } : { entries: 200_000, rounds: 5 };

async function main(): Promise<void> {
  const { cores, cpu, node, fsync } = machine();
  const disk = `fsync ${fsync.toFixed(2)} ms`;
  console.log(`${cores} x ${cpu}, Node ${node}, ${disk}, ${CONNECTIONS} connections\n`);
  if (await isMeasuredAlone()) return;
  const loaded = options.growth ? undefined : await underLoad();
  const counted = options.growth ? undefined : await countsOf(quick ? 500 : 3_000);
  if (loaded) {
    console.log(`${forTerminal(rowsTable(loaded.rows))}\n${roundsLine(loaded.tally)}\n`);
    console.log(forTerminal(goalsTable(loaded.steadyP99, counted)));
  }
  if (counted) console.log(forTerminal(countsTable(counted)));
  const grown = options['no-growth'] ? undefined : await growth(EXTENT);
  if (grown) console.log(forTerminal(figuresTable(grown.figures)));
  if (options.json !== undefined) {
    const told = {
      machine: machine(),
      connections: CONNECTIONS,
      ...loaded,
      counted,
      growth: grown,
    };
    writeFileSync(options.json, `${JSON.stringify(told, null, 2)}\n`);
  }
  if (quick || !grown || !loaded || options.profile !== undefined) return;
  const page = pageOf({ loaded, counted, grown, seconds: ROUNDS.seconds });
  writeFileSync(new URL('RESULTS.md', import.meta.url), page);
  writeFileSync(new URL('growth.svg', import.meta.url), chartOf(grown.curves));
}

/** True when only this was to be measured. */
async function isMeasuredAlone(): Promise<boolean> {
  if (options.attacks) await underAttack();
  else if (options.backups) await besideBackups(BACKUPS);
  else if (options.console) await inBrowser(quick ? [100] : [100, 10_000]);
  else return false;
  return true;
}

async function underLoad(): Promise<UnderLoad> {
  const postgres = await startPostgres();
  try {
    return await withPrograms(postgres.url);
  } finally {
    await postgres.stop();
  }
}

const TWO_PROCESSES = { WRIT_WORKERS: '2' };

async function withPrograms(database: string): Promise<UnderLoad> {
  const { profile: profiles } = options;
  const bare = (kind: string) => start('bench/baseline.mjs', { args: [kind] });
  const { url } = await makeDatabase(database);
  const server = await databaseAt(database);
  const desk = (store?: string, more: object = {}) =>
    start(DESK, { environment: { ...(store && { WRIT_STORE: store }), ...more }, profiles });
  const starting = [
    bare('node'),
    bare('fastify'),
    bare('mcp'),
    desk(),
    desk(database),
    desk(url, TWO_PROCESSES),
    desk(undefined, TWO_PROCESSES),
    start(DESK, {
      environment: { BENCH_COMMIT_MS: String(SLOW_COMMIT_MS) },
      preload: 'bench/driver.mjs',
    }),
    start(DESK, { environment: AS_SHIPPED, profiles }),
  ] as const;
  try {
    const [node, fastify, mcp, sqlite, shared, pair, pairOnFile, slow, shipped] =
      await Promise.all(starting);
    const targets = [
      ...baselines({ node, fastify, mcp }),
      ...(await workTargets('SQLite', sqlite)),
      ...(await slowCommitTargets(slow)),
      ...(await shippedTargets(shipped)),
      ...(await pairTargets('SQLite', pairOnFile)),
      ...(await workTargets('PostgreSQL', shared, server)),
      ...(await pairTargets('PostgreSQL', pair, server)),
      ...(await refusalTargets(sqlite)),
      ...(await documentTargets(sqlite, fastify)),
    ];
    const rows = await interleaved(targets, ROUNDS);
    const read = targets.find(({ name }) => name === READ_ON_SQLITE) as Target;
    const steady = await orNoAnswer(`${read.name}, for long`, () => measure(read, STEADY_SECONDS));
    return { ...rows, steadyP99: steady?.p99 };
  } finally {
    await Promise.all(starting.map(async (program) => (await program).stop()));
  }
}

/** Where a program cannot start, its rows say that it does not answer. */
async function start(script: string, how: ProgramOptions): Promise<Program> {
  const started = await orNoAnswer(`the start of ${script}`, () => startProgram(script, how));
  return started ?? ABSENT;
}

await main();
if (!isAllAnswered()) process.exitCode = 1;
