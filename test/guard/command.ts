/**
 * `writ guard` run in this process, in a folder of its own, before a real upstream: what it prints, and when it ends.
 *
 * @module
 */

import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { vi } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { atEnd, temporaryFolder } from '../support/ends.ts';

export const READ_NOTE = {
  name: 'read_note',
  description: 'Reads a note',
  inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
  annotations: { readOnlyHint: true },
};

export const WRITE_NOTE = {
  name: 'write_note',
  description: 'Writes a note',
  inputSchema: {
    type: 'object',
    properties: { id: { type: 'string' }, text: { type: 'string' }, amount: { type: 'number' } },
    required: ['id', 'text'],
  },
  annotations: { readOnlyHint: false, destructiveHint: false },
};

export interface GuardFolder {
  readonly folder: string;
  readonly policyFile: string;
  readonly lockFile: string;
  /** The words after `writ guard` that name the upstream. */
  readonly command: readonly string[];
  setTools(tools: readonly object[]): void;
  /** What reached the upstream. */
  calls(): { name: string; given: object }[];
}

/** A folder with an upstream whose tools a test decides. */
export function guardFolder(tools: readonly object[] = [READ_NOTE, WRITE_NOTE]): GuardFolder {
  const folder = temporaryFolder();
  const [toolsFile, callsFile] = [join(folder, 'tools.json'), join(folder, 'calls.jsonl')];
  const setTools = (next: readonly object[]) => writeFileSync(toolsFile, JSON.stringify(next));
  setTools(tools);
  appendFileSync(callsFile, '');
  const script = fileURLToPath(new URL('toolbox.mjs', import.meta.url));
  return {
    folder,
    policyFile: join(folder, 'writ-guard.yaml'),
    lockFile: join(folder, 'writ-guard.lock.json'),
    command: ['--', process.execPath, script, toolsFile, callsFile],
    setTools,
    calls: () =>
      readFileSync(callsFile, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
  };
}

export interface RunningCommand {
  /** All that was printed, on both streams. */
  printed(): string;
  readonly out: string[];
  readonly err: string[];
  /** Resolves with the exit status. */
  readonly ended: Promise<number>;
  /** Asks it to stop, and resolves with the exit status. */
  stop(): Promise<number>;
  readonly pipes: { readonly input: PassThrough; readonly output: PassThrough };
  /** The address in the welcome, once it is there. */
  url(): Promise<string>;
  until(text: string | RegExp): Promise<void>;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The answers of a person at the terminal, in their order. */
  readonly answers?: readonly string[];
}

/** Runs `writ guard` with these words, in the folder, until the test ends. */
export function guard(
  { folder, policyFile }: Pick<GuardFolder, 'folder' | 'policyFile'>,
  words: readonly string[],
  { env = {}, answers }: RunOptions = {},
): RunningCommand {
  const [out, err]: [string[], string[]] = [[], []];
  let stopped = () => {};
  const untilStopped = new Promise<void>((resolve) => {
    stopped = resolve;
  });
  const left = [...(answers ?? [])];
  const pipes = { input: new PassThrough(), output: new PassThrough() };
  const [first = '', ...rest] = words;
  const isPart = ['review', 'check', 'schema'].includes(first);
  const place = first === 'schema' ? [] : ['--policy', policyFile];
  const args = isPart ? [first, ...place, ...rest] : [...place, ...words];
  const ended = main(['guard', ...args], {
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      PORT: '0',
      WRIT_DATA: join(folder, '.writ'),
      WRIT_MARK: 'none',
      WRIT_LOG_LEVEL: 'silent',
      ...env,
    },
    untilStopped: () => untilStopped,
    pipes,
    ...(answers && {
      ask: async (question: string) => {
        err.push(question);
        return left.shift();
      },
    }),
  });
  const stop = () => {
    stopped();
    return ended;
  };
  atEnd(stop);
  const printed = () => [...out, ...err].join('');
  const until = (text: string | RegExp) =>
    vi.waitFor(
      () => {
        const found = typeof text === 'string' ? printed().includes(text) : text.test(printed());
        if (!found) throw new Error(`"${text}" was not printed, but:\n${printed()}`);
      },
      { timeout: 20_000, interval: 20 },
    );
  async function url(): Promise<string> {
    await Promise.race([until(/ tools? at http:/), ended]);
    const found = / tools? at (http:\S+)/.exec(printed())?.[1];
    if (found === undefined) throw new Error(`it does not serve:\n${printed()}`);
    return found;
  }
  return { printed, out, err, ended, stop, pipes, url, until };
}

/** The key of the owner, as the person reads it from its file. */
export function ownerKey({ folder }: Pick<GuardFolder, 'folder'>): string {
  const file = join(folder, '.writ', 'guard-owner.key');
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
}

/** Asks the guard over HTTP. */
export async function ask(url: string, path: string, bearer: string, body?: object) {
  const response = await fetch(`${url}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
  return { status: response.status, body: (await response.json()) as any };
}

/** A token for an agent, from the owner. */
export async function tokenFor(url: string, key: string, scope: readonly string[], more = {}) {
  const request = { scope, subject: 'agent:tester', ...more };
  const { body } = await ask(url, '/svc/tokens', key, request);
  if (body.token === undefined) throw new Error(JSON.stringify(body));
  return body.token as string;
}

export function invoke(url: string, token: string, capability: string, parameters: object) {
  return ask(url, `/svc/invoke/${capability}`, token, { parameters });
}
