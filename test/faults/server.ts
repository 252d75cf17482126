/**
 * A PostgreSQL server of one's own, to be crashed, frozen and restarted.
 *
 * @module
 */

import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runSql, startPostgres } from '../support/postgres.ts';

/** In milliseconds. */
const POLL_MS = 25;

export interface FaultyServer {
  readonly url: string;
  /** Kills one of its processes, after which it ends all others and recovers from its log. */
  crash(): Promise<void>;
  /** Stands still: connections stay, and nobody answers. */
  freeze(): Promise<void>;
  thaw(): void;
  /** Ends all connections and the server. */
  shutDown(): Promise<void>;
  /** Ends the server at once, without a checkpoint: the next start recovers from its log. */
  halt(): Promise<void>;
  startAgain(): Promise<void>;
  stop(): Promise<void>;
}

export async function startFaultyServer(): Promise<FaultyServer> {
  const { url, stop } = await startPostgres();
  const [{ data_directory: data = '' } = {}] = await runSql<Record<string, string>>(
    url,
    'SHOW data_directory',
  );
  let frozen: number[] = [];
  return {
    url,
    stop,
    async crash() {
      const pids = await pidsOf(url, "backend_type = 'client backend'");
      const [victim] = pids;
      if (victim === undefined) throw new Error('Cannot crash the server: nobody is connected');
      process.kill(victim, 'SIGKILL');
    },
    async freeze() {
      const pids = await pidsOf(url, 'true');
      frozen = [postmaster(data), ...pids];
      for (const pid of frozen) signal(pid, 'SIGSTOP');
    },
    thaw() {
      for (const pid of frozen) signal(pid, 'SIGCONT');
    },
    // What Ctrl-C sends: end connections, then end.
    shutDown: () => endBy(data, 'SIGINT'),
    halt: () => endBy(data, 'SIGQUIT'),
    async startAgain() {
      run(commandLine(data), data);
      await untilReady(url);
    },
  };
}

async function endBy(data: string, name: NodeJS.Signals): Promise<void> {
  process.kill(postmaster(data), name);
  while (existsSync(join(data, 'postmaster.pid'))) await sleep(POLL_MS);
}

async function pidsOf(url: string, condition: string): Promise<number[]> {
  const rows = await runSql<Record<string, string>>(
    url,
    `SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND ${condition}`,
  );
  return rows.map(({ pid }) => Number(pid));
}

function postmaster(data: string): number {
  return Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);
}

/** Starts a server as the owner of its data. */
export function run([command = '', ...args]: readonly string[], data: string): void {
  const { uid, gid } = statSync(data);
  spawn(command, args, { uid, gid, detached: true, stdio: 'ignore' }).unref();
}

/** As the server noted it when it started: each argument after the first is quoted. */
export function commandLine(data: string): string[] {
  const [command = '', ...rest] = readFileSync(join(data, 'postmaster.opts'), 'utf8')
    .trim()
    .split(' "');
  return [command, ...rest.map((part) => part.replace(/"$/, ''))];
}

/** A process that has ended meanwhile needs no signal. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

export async function untilReady(url: string): Promise<void> {
  for (;;) {
    try {
      await runSql(url, 'SELECT 1');
      return;
    } catch {
      await sleep(POLL_MS);
    }
  }
}
