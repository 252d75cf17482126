/**
 * Runs seeds until one breaks an invariant, in a process of its own: `seeds.ts <mode> <from> <seeds>`.
 *
 * Prints one line of JSON. Sources with a deliberate bug may also hang or throw where the simulation expects
 * nothing; a run that rejects counts as found, as `defect`.
 *
 * @module
 */

import type { RunOptions } from '../run.ts';
import { runSeed } from '../run.ts';
import type { Found } from './hunt.ts';

const [mode = '', from = '1', seeds = '1'] = process.argv.slice(2);
const found = await firstBroken(mode as RunOptions['mode'], Number(from), Number(seeds));
process.stdout.write(`${JSON.stringify(found)}\n`);
// Replicas that a bug left behind must not keep the process alive.
process.exit(0);

async function firstBroken(mode: RunOptions['mode'], first: number, count: number): Promise<Found> {
  for (let seed = first; seed < first + count; seed++) {
    const ran = seed - first + 1;
    const broken = await brokenBy(seed, mode);
    if (broken) return { seeds: ran, seed, ...broken };
  }
  return { seeds: count };
}

async function brokenBy(seed: number, mode: RunOptions['mode']) {
  try {
    return (await runSeed(seed, { mode })).broken;
  } catch (error) {
    return { invariant: 'defect', message: (error as Error).message };
  }
}
