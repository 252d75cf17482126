/**
 * Service processes for tests that kill or pause them: bundled once, started in no time.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build, defaultServerConditions } from 'vite';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { atEnd, temporaryFolder } from '../ends.ts';

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

export interface Running {
  readonly url: string;
  signal(name: NodeJS.Signals): void;
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export async function start({ store, keys, effects }: Place, silentMs?: number): Promise<Running> {
  const more = silentMs === undefined ? [] : [String(silentMs)];
  const args = [join(BUNDLE, 'program.js'), store, keys, effects, ...more];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  };
  atEnd(() => end('SIGKILL'));
  const url = await addressOf(child);
  return {
    url,
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
  headers: object = {},
): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${bearer}`,
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify(body),
  });
}
