/**
 * Runs seeds until one breaks an invariant, in a process of its own: `seeds.ts <mode> <seed> <seed>-<seed> …`.
 *
 * Prints one line of JSON. Sources with a deliberate bug may also throw where the simulation expects nothing; a
 * run that rejects counts as found, as `defect`.
 *
 * @module
 */

import type { StoreMode } from '../modes.ts';
import { runSeed } from '../run.ts';
import type { Found } from './hunt.ts';

const [mode = '', ...ranges] = process.argv.slice(2);
const found = await firstBroken(mode as StoreMode, ranges);
process.stdout.write(`${JSON.stringify(found)}\n`);
// Replicas that a bug left behind must not keep the process alive.
process.exit(0);

async function firstBroken(mode: StoreMode, ranges: readonly string[]): Promise<Found> {
  for (const range of ranges) {
    const [first = 0, last = first] = range.split('-').map(Number);
    for (let seed = first; seed <= last; seed++) {
      const broken = await brokenBy(seed, mode);
      if (broken) return { seed, ...broken };
    }
  }
  return {};
}

async function brokenBy(seed: number, mode: StoreMode) {
  try {
    return (await runSeed(seed, { mode })).broken;
  } catch (error) {
    return { invariant: 'defect', message: (error as Error).message };
  }
}
