/**
 * What can be compared with the work of others, or with a model: published vectors, proofs in a second language, and random
 * delegations. The suite tries a part of it; this tries more, and counts.
 *
 *     npm run vectors -- [--proofs 10000] [--narrowings 100000] [--seed N]
 *
 * The published vectors lie beside the repository; without them nothing is tried.
 *
 * @module
 */

import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { PYTHON, tryProofs } from '../test/guides/clients.ts';
import { temporaryFolder } from '../test/support/ends.ts';
import { tryNarrowings } from '../test/support/narrowings.ts';
import { vectors } from '../test/support/vectors.ts';
import { numberOf, printFigures, runLong } from './long-run.ts';

/** The tests that read published vectors; vitest counts them. */
const TESTS = [
  'src/keyring/es256-vectors.test.ts',
  'src/domain/log/merkle-vectors.test.ts',
  'src/domain/wire/canonical.test.ts',
  'src/verify/vectors.test.ts',
];

const { values } = parseArgs({
  options: {
    proofs: { type: 'string', default: '10000' },
    narrowings: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
  },
});
const COUNT_MAX = 10_000_000;
const count = numberOf('proofs', values.proofs, COUNT_MAX);
const narrowings = numberOf('narrowings', values.narrowings, COUNT_MAX);
const seed = numberOf('seed', values.seed, Number.MAX_SAFE_INTEGER);

await runLong({
  minutesMax: 60,
  async work() {
    runVectors();
    tryProofs(PYTHON, { count, seed, folder: temporaryFolder() });
    printFigures('proofs', { 'proofs accepted': count, 'altered proofs refused': count });
    const granted = tryNarrowings(narrowings).get('accepted') ?? 0;
    const figures = { 'delegations asked for': narrowings, granted, 'wider than their parent': 0 };
    printFigures('delegations', figures);
  },
});

function runVectors(): void {
  const absent = ['wycheproof', 'merkle', 'jcs'].find((kind) => !vectors(kind));
  if (absent) throw new Error(`Cannot run published vectors: shared/vectors/${absent} is absent`);
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'unit', ...TESTS];
  const env = { ...process.env, NODE_ENV: 'test' };
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit', env });
  if (status !== 0) throw new Error(`Cannot run published vectors: vitest ended with ${status}`);
}
