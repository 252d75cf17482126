/**
 * The programs under load: each in a process of its own, so that none pays for another's work.
 *
 * @module
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import repository from '../package.json' with { type: 'json' };

export interface Program {
  readonly url: string;
  /** CPU time the process has used, in microseconds. */
  cpu(): number;
  /** Memory the process has in hand, in MiB. */
  resident(): number;
  /** What a preloaded script answers to a message. */
  ask(): Promise<Readonly<Record<string, number>>>;
  stop(): Promise<void>;
}

export interface ProgramOptions {
  readonly args?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Where it runs; one of its own when left out. */
  readonly folder?: string;
  /** Where its CPU profile is left. */
  readonly profiles?: string | undefined;
  /** A script of the repository that runs in the process before the program. */
  readonly preload?: string;
  /** Options of Node beside those that every program gets. */
  readonly flags?: readonly string[];
}

export const DESK = 'dist/examples/travel/main.js';

/** Stands for a program that could not start: nothing listens on the port of discard. */
export const ABSENT: Program = {
  url: 'http://127.0.0.1:9',
  cpu: () => Number.NaN,
  resident: () => Number.NaN,
  ask: async () => ({}),
  stop: async () => undefined,
};

/** Those that `npm start` gives to Node; the baselines get the same. */
const NODE_FLAGS = repository.scripts.start.split(' ').filter((word) => word.startsWith('--'));

/** In milliseconds. A program without such a script never answers. */
const ASK_MS_MAX = 10_000;

/** Where a store lies that is measured; the flushes of the same file system are timed. */
export function storeFolder(): string {
  return mkdtempSync(join(tmpdir(), 'writ-bench-'));
}

/** Runs a script of the repository and waits until it says where it listens. */
export async function startProgram(script: string, options: ProgramOptions = {}): Promise<Program> {
  const { args = [], environment = {}, profiles, preload } = options;
  const folder = options.folder ?? storeFolder();
  const flags = [
    ...NODE_FLAGS,
    ...(profiles ? ['--cpu-prof', `--cpu-prof-dir=${resolve(profiles)}`] : []),
    ...(options.flags ?? []),
    ...(preload ? ['--import', pathToFileURL(resolve(preload)).href] : []),
  ];
  const child = spawn(process.execPath, [...flags, resolve(script), ...args], {
    cwd: folder,
    env: {
      ...process.env,
      PORT: '0',
      WRIT_LOG_LEVEL: 'error',
      WRIT_RATE_LIMITS: 'off',
      NODE_ENV: 'production',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const url = await addressOf(child);
  return {
    url,
    cpu: () => cpuOf(child.pid as number, environment.WRIT_WORKERS !== undefined),
    resident: () => residentOf(child.pid as number),
    async ask() {
      const answer = once(child, 'message', { signal: AbortSignal.timeout(ASK_MS_MAX) });
      child.send('');
      return (await answer)[0];
    },
    async stop() {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
      if (!options.folder) rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function addressOf(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('Cannot read where the program listens');
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /listening on (\S+)/.exec(line)?.[1];
    if (url) {
      child.stdout.resume();
      return url;
    }
  }
  throw new Error('Cannot measure: a program ended before it listened');
}

/** Linux counts in ticks of 10 ms; elsewhere the figure is left out. */
function cpuOf(pid: number, hasWorkers: boolean): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    const own = (Number(fields[11]) + Number(fields[12])) * 10_000;
    const workers = hasWorkers ? childrenOf(pid).map((child) => cpuOf(child, false)) : [];
    return workers.reduce((sum, cpu) => sum + cpu, own);
  } catch {
    return Number.NaN;
  }
}

/** Linux only, as above: of a process with its children, and with those that have ended. */
export function treeCpu(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    const own = fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * 10_000, 0);
    return childrenOf(pid).reduce((sum, child) => sum + treeCpu(child), own);
  } catch {
    return Number.NaN;
  }
}

/** The process that started another one. */
export function parentOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1]);
}

/** Known on Linux only, as above. */
function residentOf(pid: number): number {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return Number(kilobytes?.[1]) / 1_024;
  } catch {
    return Number.NaN;
  }
}

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}
