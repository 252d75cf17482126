/**
 * Programs as processes of their own: what they write is kept, and they are killed at the end.
 *
 * @module
 */

import assert from 'node:assert/strict';
import {
  type ChildProcessWithoutNullStreams,
  type SpawnOptionsWithoutStdio,
  spawn,
} from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { atEnd } from './ends.ts';

export interface Launched {
  readonly child: ChildProcessWithoutNullStreams;
  /** All that the program wrote so far. */
  readonly output: { out: string; err: string };
  /** How the process ended. */
  readonly ended: Promise<number | null>;
}

/** The compiled travel desk. */
export const DESK = join(process.cwd(), 'dist/examples/travel/main.js');

/** Starts a program of Node on a free port, with nothing of this process's environment but what it needs. */
export function launch(
  args: readonly string[],
  cwd: string,
  environment: Record<string, string> = {},
): Launched {
  return launchProgram([process.execPath, ...args], cwd, environment);
}

/** The same for any program. */
export function launchProgram(
  command: readonly string[],
  cwd: string,
  environment: Record<string, string> = {},
): Launched {
  const child = spawned(command, { cwd }, environment);
  return watched(child, () => child.kill('SIGKILL'));
}

/** The same for a program that starts others, such as npm. `stop` signals all of them, as Ctrl-C does. */
export function launchGroup(
  command: readonly string[],
  cwd: string,
  environment: Record<string, string> = {},
): Launched & { stop(signal: NodeJS.Signals): void } {
  const child = spawned(command, { cwd, detached: true }, environment);
  const stop = (signal: NodeJS.Signals) => {
    // None is left when the group has ended by itself.
    if (child.exitCode === null && child.signalCode === null)
      process.kill(-(child.pid ?? 0), signal);
  };
  return { ...watched(child, () => stop('SIGKILL')), stop };
}

function spawned(
  [program = '', ...args]: readonly string[],
  options: SpawnOptionsWithoutStdio,
  environment: Record<string, string>,
): ChildProcessWithoutNullStreams {
  const { PATH, XDG_STATE_HOME } = process.env;
  const own = { PATH, XDG_STATE_HOME, HOST: '127.0.0.1', PORT: '0' };
  return spawn(program, args, { ...options, env: { ...own, ...environment } });
}

/** Keeps what the program writes, and kills it at the end. */
function watched(child: ChildProcessWithoutNullStreams, kill: () => void): Launched {
  const output = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.err += text;
  });
  // A child that ends early is seen by its exit, not by a write that fails.
  child.stdin.on('error', () => undefined);
  const ended = once(child, 'close').then(([code]) => code as number | null);
  atEnd(() => {
    kill();
    return ended;
  });
  return { child, output, ended };
}

/** What the first group of a pattern finds in the output of a program that still runs. */
export async function seen({ child, output }: Launched, pattern: RegExp): Promise<string> {
  for (;;) {
    const found = pattern.exec(output.out + output.err);
    if (found) return found[1] ?? '';
    assert.equal(child.exitCode ?? child.signalCode, null, `the program ended: ${output.err}`);
    await pause(10);
  }
}

/** Where a travel desk listens, once it has written all that it writes at its start. */
export function addressOf(desk: Launched): Promise<string> {
  return seen(desk, /listening on (http:\S+)[\s\S]*Try:[\s\S]*\n/);
}
