/**
 * Memory: what a service holds after many calls.
 *
 * @module
 */

import { answers, median } from './measure.ts';
import { DESK, startProgram } from './processes.ts';
import { workTargets } from './targets.ts';

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
