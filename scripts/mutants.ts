/**
 * Tests the tester at length: `npm run mutants -- [--seeds N] [--only name,…]`.
 *
 * Prints for each deliberate bug which invariant found it, and after how many seeds. Exits with 1 when one
 * survives that a run should reach. The seeds are kept for the suite, which begins with them.
 *
 * @module
 */

import { parseArgs } from 'node:util';
import { MUTANTS } from '../test/simulation/mutants/all.ts';
import { type Hunted, hunt, keepSeeds } from '../test/simulation/mutants/hunt.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '2000' },
    processes: { type: 'string', default: '2' },
    only: { type: 'string' },
  },
});
const only = values.only?.split(',');
const mutants = MUTANTS.filter(({ name }) => only?.includes(name) ?? true);
const hunted = await hunt(mutants, {
  seeds: Number(values.seeds),
  processes: Number(values.processes),
  onEnd(ended) {
    const { mutant, seed, invariant = 'survives' } = ended;
    process.stderr.write(`${mutant.name}: ${invariant} (${seed ?? values.seeds})\n`);
    // Now, so that a hunt that is stopped has not been in vain.
    keepSeeds([ended]);
  },
});
process.stdout.write(tableOf(hunted));
const survivors = hunted.filter(
  ({ invariant, mutant }) => invariant === undefined && mutant.unreached === undefined,
);
process.stdout.write(figuresOf(hunted));
if (survivors.length > 0) process.exitCode = 1;

function tableOf(all: readonly Hunted[]): string {
  const rows = all.map(({ mutant, invariant, seed }) => [
    mutant.name,
    mutant.mode,
    invariant ?? 'SURVIVES',
    `${seed ?? values.seeds}`,
    mutant.unreached && !invariant ? `${mutant.why}; not reached: ${mutant.unreached}` : mutant.why,
  ]);
  const table = [['bug', 'mode', 'found by', 'seeds', 'what it does'], ...rows];
  const widths = [0, 1, 2, 3].map((column) =>
    Math.max(...table.map((row) => row[column]?.length ?? 0)),
  );
  return table
    .map((row) => `${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ')}\n`)
    .join('');
}

function figuresOf(all: readonly Hunted[]): string {
  const counts = all.flatMap(({ seed }) => seed ?? []).toSorted((one, other) => one - other);
  const median = counts[Math.floor(counts.length / 2)] ?? 0;
  return `${all.length} deliberate bugs, ${counts.length} found; seeds: ${median} for the median, ${counts.at(-1) ?? 0} for the hardest\n`;
}
