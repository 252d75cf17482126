/**
 * Calls beside backups: how long the longest of sixteen clients waits while `writ backup` copies the store, against the
 * same clients on the same service without one.
 *
 *     npm run bench -- --backups [--quick]
 *
 * @module
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { openStore } from '../src/storage/open.ts';
import { entry } from '../test/support/fixtures.ts';
import { DESK, type Program, startProgram, storeFolder } from './processes.ts';
import { STORE_FILE } from './service.ts';
import { issue } from './targets.ts';

const CLIENTS = 16;
const BATCH = 1_000;

/** In milliseconds. */
const LONGER_MAX_MS = 100;

interface Watched {
  readonly calls: number;
  readonly failed: number;
  /** In milliseconds. */
  readonly longest: number;
  readonly p99: number;
}

interface Extent {
  readonly entries: number;
  readonly rounds: number;
}

/** Prints a line for each round and one for all of them. Rounds with and without a backup take turns. */
export async function besideBackups({ entries, rounds }: Extent): Promise<void> {
  const folder = storeFolder();
  const file = join(folder, STORE_FILE);
  await fill(file, entries);
  const environment = { WRIT_STORE: `sqlite:${file}`, WRIT_MARK: 'none' };
  const program = await startProgram(DESK, { folder, environment });
  try {
    const bearer = await issue(program, ['travel.read', 'travel.extras']);
    const [quiet, beside]: [Watched[], Watched[]] = [[], []];
    let took = 5_000;
    await watch(program, bearer, pauseOf(1_000));
    for (let round = 0; round < rounds; round += 1) {
      quiet.push(await watch(program, bearer, pauseOf(took)));
      const begun = performance.now();
      const log = biggest(`${file}-wal`);
      beside.push(await watch(program, bearer, backup(folder, environment, round)));
      took = performance.now() - begun;
      const sizes = `log at most ${log.end()} MiB, then ${sizeOf(`${file}-wal`)} MiB`;
      const pair = [quiet.at(-1), beside.at(-1)].map((each) => wordsOf(each as Watched));
      console.log(`${pair.join(' -> ')}  backup ${(took / 1_000).toFixed(1)} s, ${sizes}`);
    }
    const longer = longestOf(beside) - longestOf(quiet);
    const failed = beside.reduce((sum, each) => sum + each.failed, 0);
    const holds = longer <= LONGER_MAX_MS && failed === 0;
    console.log(
      `a backup of ${entries} entries beside ${CLIENTS} clients: longest call ${longestOf(quiet).toFixed(0)} -> ${longestOf(beside).toFixed(0)} ms, ${failed} failed  ${holds ? 'holds' : 'DOES NOT HOLD'}`,
    );
  } finally {
    await program.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function fill(file: string, entries: number): Promise<void> {
  const store = await openStore(`sqlite:${file}`);
  for (let made = 0; made < entries; made += BATCH) {
    await store.append(Array.from({ length: Math.min(BATCH, entries - made) }, () => entry()));
  }
  await store.close();
}

/** Calls of all clients, one after the other each, until `end` resolves. */
async function watch(program: Program, bearer: string, end: Promise<unknown>): Promise<Watched> {
  const times: number[] = [];
  let failed = 0;
  let isEnded = false;
  const client = async () => {
    while (!isEnded) {
      const begun = performance.now();
      if (!(await isBought(program, bearer))) failed += 1;
      times.push(performance.now() - begun);
    }
  };
  const clients = Promise.all(Array.from({ length: CLIENTS }, client));
  await end;
  isEnded = true;
  await clients;
  times.sort((one, other) => one - other);
  const at = (part: number) => times[Math.round((times.length - 1) * part)] ?? Number.NaN;
  return { calls: times.length, failed, longest: at(1), p99: at(0.99) };
}

async function isBought({ url }: Program, bearer: string): Promise<boolean> {
  const response = await fetch(`${url}/svc/invoke/buy_lounge_pass`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${bearer}` },
    body: '{"parameters":{}}',
  });
  const { success } = (await response.json()) as { success: boolean };
  return success;
}

async function backup(
  folder: string,
  environment: Readonly<Record<string, string>>,
  round: number,
): Promise<void> {
  const args = [resolve('dist/src/cli/bin.js'), 'backup', '--out', join(folder, `${round}.gz`)];
  const env = { ...process.env, ...environment };
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: 'ignore' });
  const [status] = await once(child, 'exit');
  if (status !== 0) throw new Error(`Cannot measure: the backup ended with ${status}`);
  rmSync(join(folder, `${round}.gz`));
}

function pauseOf(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

function biggest(file: string): { end(): number } {
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, sizeOf(file));
  }, 20);
  return {
    end() {
      clearInterval(timer);
      return most;
    },
  };
}

/** In MiB. */
function sizeOf(file: string): number {
  return Math.round((statSync(file, { throwIfNoEntry: false })?.size ?? 0) / 2 ** 20);
}

function longestOf(all: readonly Watched[]): number {
  return Math.max(...all.map(({ longest }) => longest));
}

function wordsOf({ calls, failed, longest, p99 }: Watched): string {
  return `${calls} calls, ${failed} failed, p99 ${p99.toFixed(0)}, longest ${longest.toFixed(0)} ms`;
}
