/**
 * Starts the real `writ guard` in front of the payments server, in a temporary folder, and runs other `writ` commands there.
 *
 * The compiled command line runs as a process of its own, with an embedded store and a key of the owner that are removed
 * at the end. The environment of this process is not passed on, except for the path.
 *
 * @module
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { pagesUrl } from '../../src/address/host.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const BIN = join(ROOT, 'dist/src/cli/bin.js');
const SERVER = join(ROOT, 'dist/examples/demo/payments.js');
const EXAMPLE = join(ROOT, 'examples/demo');

/** Milliseconds that a guard gets to answer its calls and stop before it is killed. */
const STOP_MS_MAX = 10_000;
/** Milliseconds between two looks whether the guard listens. */
const POLL_MS = 20;
/** Bytes of the guard's log that are kept: the newest. */
const LOG_MAX = 1024 * 1024;

export interface Guarded {
  readonly url: string;
  /** The origin of the pages for people. */
  readonly pages: string;
  readonly folder: string;
  /** The throw-away key of the owner, and the file that has it. */
  readonly key: string;
  readonly keyFile: string;
  readonly database: string;
  /** The lines of the guard's log so far. */
  log(): Record<string, unknown>[];
  /** Runs a command of the command line in the folder of the guard. */
  writ(...args: string[]): Promise<{ readonly status: number; readonly out: string }>;
}

export interface StartOptions {
  /** False: the policy of this run approves without a passkey. */
  readonly passkey: boolean;
  /** Takes what has to be done at the end. */
  readonly atEnd: (end: () => Promise<void>) => void;
}

export async function startGuard({ passkey, atEnd }: StartOptions): Promise<Guarded> {
  const folder = mkdtempSync(join(tmpdir(), 'writ-demo-'));
  atEnd(async () => rmSync(folder, { recursive: true, force: true }));
  copyPolicy(folder, passkey);
  const env = {
    PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
    HOME: folder,
    HOST: '127.0.0.1',
    PORT: '0',
    WRIT_DATA: join(folder, '.writ'),
  };
  const child = spawn(process.execPath, [BIN, 'guard'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  atEnd(() => stopped(child, ended));
  const output = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.out = (output.out + text).slice(-LOG_MAX);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.err = (output.err + text).slice(-LOG_MAX);
  });
  const url = await addressIn(child, output);
  const keyFile = join(folder, '.writ', 'guard-owner.key');
  return {
    url,
    pages: new URL(pagesUrl(url)).origin,
    folder,
    key: readFileSync(keyFile, 'utf8').trim(),
    keyFile,
    database: join(folder, '.writ', 'writ.db'),
    log: () => linesOf(output.err),
    writ: (...args) => outcomeOf(args, folder, env),
  };
}

/** The policy with the whole path of the server, because it runs in another folder, and the lock beside it. */
function copyPolicy(folder: string, passkey: boolean): void {
  const policy = readFileSync(join(EXAMPLE, 'writ-guard.yaml'), 'utf8')
    .replace('../../dist/examples/demo/payments.js', JSON.stringify(SERVER))
    .replace(', passkey: true', passkey ? ', passkey: true' : '');
  writeFileSync(join(folder, 'writ-guard.yaml'), policy);
  cpSync(join(EXAMPLE, 'writ-guard.lock.json'), join(folder, 'writ-guard.lock.json'));
}

async function addressIn(
  child: ReturnType<typeof spawn>,
  output: { readonly out: string; readonly err: string },
): Promise<string> {
  while (child.exitCode === null && child.signalCode === null) {
    // The last line of the welcome: all of it is printed then.
    const [, url] = / tools? at (http:\S+)[\s\S]*Context:.*\n/.exec(output.out) ?? [];
    if (url !== undefined) return url;
    await pause(POLL_MS);
  }
  throw new Error(`Cannot start the guard: ${output.err.trim()}`);
}

async function stopped(child: ReturnType<typeof spawn>, ended: Promise<unknown>): Promise<void> {
  child.kill('SIGTERM');
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
  await ended.catch(() => undefined);
  clearTimeout(late);
}

function linesOf(log: string): Record<string, unknown>[] {
  return log
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

async function outcomeOf(args: readonly string[], cwd: string, env: Record<string, string>) {
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  const keep = (text: string) => {
    out += text;
  };
  child.stdout.setEncoding('utf8').on('data', keep);
  child.stderr.setEncoding('utf8').on('data', keep);
  const [status] = await once(child, 'close');
  return { status: (status as number | null) ?? 1, out };
}
