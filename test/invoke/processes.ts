/**
 * Service processes for tests that kill or pause them: bundled once, started in no time.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { build, defaultServerConditions } from 'vite';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { atEnd, temporaryFolder } from '../support/ends.ts';

/** Where the program is bundled to: beside the packages it imports, and a process starts in no time. */
const BUNDLE = join(import.meta.dirname, `../../node_modules/.cache/writ-program-${process.pid}`);

/** Bundles the program, for the file that calls it. */
export async function buildProgram(): Promise<void> {
  await build({
    configFile: false,
    logLevel: 'error',
    ssr: { resolve: { conditions: ['writ-source', ...defaultServerConditions] } },
    build: { ssr: join(import.meta.dirname, 'program.ts'), outDir: BUNDLE, target: 'node20' },
  });
  atEnd(() => rmSync(BUNDLE, { recursive: true, force: true }));
}

export interface Place {
  readonly store: string;
  readonly keys: string;
  readonly effects: string;
  /** Where the mark of the log is. A service with one seals its log. */
  readonly mark?: string | undefined;
}

export function newPlace(store?: string): Place {
  const folder = temporaryFolder();
  const effects = join(folder, 'effects');
  writeFileSync(effects, '');
  return {
    store: store ?? `sqlite:${join(folder, 'writ.db')}`,
    keys: join(folder, 'keys'),
    effects,
  };
}

/** A place of a service that seals its log. */
export function newSealedPlace(store?: string): Place {
  const place = newPlace(store);
  return { ...place, mark: `sqlite:${join(dirname(place.effects), 'mark/mark.db')}` };
}

/** How one process differs from the others. */
export interface Life {
  /** In milliseconds: how long another process may be silent before it counts as dead. */
  readonly silentMs?: number | undefined;
  /** How often the log is sealed, ISO 8601. */
  readonly cadence?: string | undefined;
  /** A command that runs the command given to it as arguments. */
  readonly under?: readonly string[] | undefined;
  /** Modules that Node loads first. */
  readonly preload?: readonly string[] | undefined;
  readonly environment?: Readonly<Record<string, string>> | undefined;
}

export interface Running {
  readonly url: string;
  readonly pid: number;
  /** Whether the process has ended, by whatever. */
  hasEnded(): boolean;
  signal(name: NodeJS.Signals): void;
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export async function start(place: Place, life: Life = {}): Promise<Running> {
  const { under = [], preload = [], environment = {}, ...rest } = life;
  const [command = '', ...args] = [
    ...under,
    process.execPath,
    ...preload.flatMap((path) => ['--import', path]),
    join(BUNDLE, 'program.js'),
    JSON.stringify({ ...place, ...rest }),
  ];
  const child = spawn(command, args, {
    // The program ends with its input, so it does not outlive the process that started it.
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...environment },
  });
  child.stdin?.on('error', () => undefined);
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const end = async (signal: NodeJS.Signals) => {
    if (hasEnded()) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  };
  atEnd(() => end('SIGKILL'));
  const url = await addressOf(child);
  return {
    url,
    pid: child.pid as number,
    hasEnded,
    signal: (name) => void child.kill(name),
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  };
}

async function addressOf({ stdout }: ChildProcess): Promise<string> {
  if (!stdout) throw new Error('Cannot listen to the service: it has no output');
  for await (const line of createInterface({ input: stdout })) {
    const url = /listening on (\S+)/.exec(line)?.[1];
    if (url) return url;
  }
  throw new Error('Cannot call the service: it did not start');
}

export async function issue(url: string, bearer: string, request: object): Promise<IssueAnswer> {
  const response = await post(`${url}/svc/tokens`, bearer, {
    scope: ['w.use'],
    subject: 'agent:a',
    ...request,
  });
  assert.equal(response.status, 200);
  return (await response.json()) as IssueAnswer;
}

export function post(
  url: string,
  bearer: string,
  body: object,
  { headers = {}, signal }: { headers?: object; signal?: AbortSignal } = {},
): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${bearer}`,
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
}
