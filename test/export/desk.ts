/**
 * A desk whose log is exported as a stream, and the command line that exports it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { main } from '../../src/cli/main.ts';
import type { Io } from '../../src/cli/shell/command.ts';
import { calmDesk, seal } from '../log/support.ts';
import {
  ALICE,
  OPERATOR,
  type TestOptions,
  type TestService,
  testService,
} from '../support/world.ts';

export interface Ran {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

export type Env = Readonly<Record<string, string>>;

export const operator: Env = { WRIT_CLIENT_CREDENTIAL: OPERATOR };

export async function writ(
  args: readonly string[],
  env: Env = operator,
  more: Partial<Io> = {},
): Promise<Ran> {
  const [out, err]: [string[], string[]] = [[], []];
  const status = await main(args, {
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    env,
    ...more,
  });
  return { status, out: out.join(''), err: err.join('') };
}

/** A command that runs until it is stopped. */
export function running(args: readonly string[], env: Env = operator) {
  let stop = () => {};
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const said = { out: '', err: '' };
  const done = main(args, {
    out: (text) => {
      said.out += text;
    },
    err: (text) => {
      said.err += text;
    },
    env,
    untilStopped: () => stopped,
  });
  return { said, done, stop };
}

export interface ExportDesk {
  readonly service: TestService;
  readonly url: string;
  readonly pins: readonly string[];
  /** Appends entries, without a checkpoint. */
  grow(count: number): Promise<void>;
  /** Appends entries and seals a checkpoint that covers them. */
  sealed(count: number): Promise<void>;
  /** The arguments of `writ audit stream` at this desk. */
  stream(...more: string[]): string[];
}

export async function exportDesk(options: TestOptions = {}): Promise<ExportDesk> {
  const service = await testService({ definition: calmDesk, ...options });
  const url = await service.app.listen({ host: '127.0.0.1', port: 0 });
  const { body: jwks } = await service.ask('GET', '/.well-known/jwks.json');
  const grow = async (count: number) => {
    for (let at = 0; at < count; at++) await service.issue(ALICE, { scope: ['travel.search'] });
  };
  return {
    service,
    url,
    pins: jwks.keys.flatMap(({ kid }: { kid: string }) => ['--pin', kid]),
    grow,
    async sealed(count) {
      await grow(count);
      assert.equal((await seal(service)).status, 200);
    },
    stream: (...more) => ['audit', 'stream', '--service', url, ...more],
  };
}

export function chunksIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => /^chunk-\d+\.jsonl$/.test(name))
    .sort();
}

/** The places of all entries in the chunks of a folder, in their order. */
export function placesIn(folder: string): number[] {
  return chunksIn(folder).flatMap((name) => placesOf(readFileSync(join(folder, name), 'utf8')));
}

export function placesOf(text: string): number[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{"entry":'))
    .map((line) => JSON.parse(line).entry.sequence as number);
}

/** 0, 1, 2, … */
export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
