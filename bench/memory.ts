/**
 * Memory: what a service holds after many calls, and with many tokens.
 *
 * @module
 */

import { fork } from 'node:child_process';
import { type Figure, figure } from './figures.ts';
import { answers, median } from './measure.ts';
import { DESK, startProgram } from './processes.ts';
import { workTargets } from './targets.ts';
import type { Held } from './tokens.ts';

/** Calls after which caches are full, and the heap has the size that suits it. */
const SETTLED_AFTER = 60_000;

/** In milliseconds. The heap goes up and down with each collection, so many looks make one figure. */
const LOOK_EVERY_MS = 100;

/** By how much a service that does nothing but answer grows: its last looks, less its first. */
export async function memoryOver(calls: number): Promise<string> {
  const program = await startProgram(DESK);
  const looks: number[] = [];
  try {
    const [target] = await workTargets('SQLite', program);
    if (!target) throw new Error('Cannot watch memory: there is nothing to invoke');
    await answers(target, Math.min(calls / 2, SETTLED_AFTER));
    const looking = setInterval(() => looks.push(program.resident()), LOOK_EVERY_MS);
    await answers(target, calls).finally(() => clearInterval(looking));
  } finally {
    await program.stop();
  }
  const part = Math.ceil(looks.length / 5);
  const grown = median(looks.slice(-part)) - median(looks.slice(0, part));
  return `${grown < 0 ? '−' : '+'}${Math.abs(grown).toFixed(0)} MB`;
}

/** In MB, by the caches that hold something of a token: verified texts, claims, records, each with a named bound. */
const TOKENS_HEAP_MAX = 64;

/** What a service holds at each number of tokens, all of them alive and used once. */
export async function memoryOfTokens(sizes: readonly number[]): Promise<Figure[]> {
  const child = fork(new URL('tokens.ts', import.meta.url), sizes.map(String), {
    execArgv: [...process.execArgv, '--expose-gc'],
  });
  const looks = await new Promise<readonly Held[]>((resolve, reject) => {
    child.once('message', (held) => resolve(held as Held[]));
    child.once('exit', (code) => {
      reject(new Error(`Cannot watch tokens: the process ended with ${code}`));
    });
  });
  const told = (key: keyof Held) => `${looks.map((held) => held[key].toFixed(0)).join(', ')} MB`;
  const name = `with ${[0, ...sizes].join(', ')} live tokens, each used once`;
  return [
    figure(`heap ${name}`, told('heap'), `at most ${TOKENS_HEAP_MAX} MB more than at 0`),
    figure(`resident memory ${name}`, told('resident'), ''),
  ];
}
