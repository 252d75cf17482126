/**
 * The command that a failure prints: another process runs exactly the run that it names.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { test } from 'vitest';
import { type RunOptions, runSeed } from './run.ts';
import { commandOf } from './shrink.ts';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** In milliseconds: ends a process that hangs. */
const LONG_MS = 60_000;

/** Long traces take more than the default of a megabyte. */
const OUTPUT_MAX = 64 * 2 ** 20;

const RUNS: readonly [seed: number, options: RunOptions][] = [
  [17, { mode: 'remote', acts: range(20), without: ['pause', 'clock'], replicas: 2 }],
  [17, { mode: 'embedded', acts: range(20), without: ['crash'] }],
  [4, { mode: 'remote', acts: [], without: ['peers'] }],
];

for (const [seed, options] of RUNS) {
  const command = commandOf(seed, options);
  test(`"${command}" repeats the run, event by event`, { timeout: LONG_MS }, async () => {
    const { trace, acts } = await runSeed(seed, { ...options, trace: true });

    const printed = await outputOf(command);

    assert.deepEqual(printed.slice(0, trace.length), trace);
    assert.match(
      printed[trace.length] ?? '',
      new RegExp(`^seed ${seed} .* held \\(${acts.length} acts`),
    );
  });
}

/** The lines that the command prints. Runs what `npm run simulate` runs. */
async function outputOf(command: string): Promise<string[]> {
  const given = command.split(' ');
  const args = given.slice(given.indexOf('--') + 1);
  const program = ['--conditions=writ-source', '--import', 'tsx', 'scripts/simulate.ts'];
  const { stdout } = await promisify(execFile)(process.execPath, [...program, ...args], {
    cwd: ROOT,
    maxBuffer: OUTPUT_MAX,
  });
  return stdout.split('\n');
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, place) => place);
}
