/**
 * What can be compared with the work of others, or with a model: published vectors, proofs in a second language, and random
 * delegations. The suite tries a part of it; this tries more, and counts.
 *
 *     npm run vectors -- [--proofs 10000] [--narrowings 100000] [--seed N] [--record]
 *
 * With `--record` the counts go to docs/security-figures.json, if everything held. The published vectors lie beside the
 * repository; without them nothing is recorded.
 *
 * @module
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { PYTHON, tryProofs } from '../test/guides/clients.ts';
import { tryNarrowings } from '../test/narrowings.ts';
import { vectors } from '../test/vectors.ts';
import { runTests, type Tested } from './counted-tests.ts';
import { recordFigures } from './security-figures.ts';

/** The tests that read published vectors. */
const TESTS = [
  'src/keyring/es256-vectors.test.ts',
  'src/domain/log/merkle-vectors.test.ts',
  'src/domain/wire/canonical.test.ts',
  'src/verify/vectors.test.ts',
];

/** Which titles of these tests are one vector each, by what is counted. */
const KINDS: readonly (readonly [label: string, title: RegExp])[] = [
  ['ECDSA signatures', /^isSignature\(\) (?:accepts|refuses) the vector /],
  ['inclusion proofs', /^verifyInclusion\(\) (?:accepts|refuses) the vector /],
  ['consistency proofs', /^verifyConsistency\(\) (?:accepts|refuses) the vector /],
  ['canonical texts', /^canonicalJson\(\) writes the published vector /],
];

/** One test of many vectors says their number. */
const MANY = /^(?:holds|inclusionCheck)\(\) answers (?:all )?(\d+) public vectors/;
const BY_VERIFIER = 'again by the offline verifier';

/** Its roots are no hashes: `merkle-vectors.test.ts` says why we answer it otherwise. */
const OTHERWISE = 'additional/sizes-are-equal-one-and-proof-is-empty.json';
const ANSWERED_OTHERWISE = 'answered otherwise on purpose';

/** How many vectors passed, by kind. Throws where one did not, or none of a kind was there. */
export function vectorCounts(tests: readonly Tested[]): Record<string, number> {
  const notPassed = tests.filter(({ status }) => status !== 'passed');
  if (notPassed[0]) throw new Error(`Cannot count vectors: "${notPassed[0].title}" did not pass`);
  const titles = tests.map(({ title }) => title);
  const own = titles.filter((title) => !title.endsWith(OTHERWISE));
  const counts: Record<string, number> = {};
  for (const [label, pattern] of KINDS) {
    counts[label] = own.filter((title) => pattern.test(title)).length;
  }
  counts[BY_VERIFIER] = titles
    .map((title) => Number(MANY.exec(title)?.[1] ?? 0))
    .reduce((sum, count) => sum + count, 0);
  const [none] = Object.entries(counts).find(([, count]) => count === 0) ?? [];
  if (none) throw new Error(`Cannot count vectors: no test of "${none}" ran`);
  return { ...counts, [ANSWERED_OTHERWISE]: titles.length - own.length };
}

async function runVectors(): Promise<Record<string, number>> {
  const missing = ['wycheproof', 'merkle', 'jcs'].filter((kind) => !vectors(kind));
  if (missing.length > 0) {
    throw new Error(`Cannot run published vectors: shared/vectors/${missing[0]} is absent`);
  }
  return vectorCounts(await runTests(TESTS));
}

function runProofs(folder: string, count: number, seed: number): Record<string, number> {
  tryProofs(PYTHON, { count, seed, folder });
  return { 'proofs accepted': count, 'altered proofs refused': count };
}

function runNarrowings(count: number): Record<string, number> {
  const outcomes = tryNarrowings(count);
  const accepted = outcomes.get('accepted') ?? 0;
  return { 'delegations asked for': count, granted: accepted, 'wider than their parent': 0 };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      proofs: { type: 'string', default: '10000' },
      narrowings: { type: 'string', default: '100000' },
      seed: { type: 'string', default: '1' },
      record: { type: 'boolean', default: false },
    },
  });
  const [proofs, narrowings] = [numberOf(values.proofs), numberOf(values.narrowings)];
  const seed = numberOf(values.seed);
  const folder = mkdtempSync(join(tmpdir(), 'writ-vectors-'));
  try {
    const found = {
      vectors: await runVectors(),
      proofs: runProofs(folder, proofs, seed),
      narrowing: runNarrowings(narrowings),
    } as const;
    for (const [name, figures] of Object.entries(found)) {
      for (const [label, count] of Object.entries(figures)) {
        process.stdout.write(`${name.padEnd(10)}${label.padEnd(40)}${count}\n`);
      }
    }
    if (!values.record) return;
    recordFigures('vectors', found.vectors);
    recordFigures('proofs', found.proofs);
    recordFigures('narrowing', found.narrowing);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function numberOf(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new Error(`Cannot run "${text}" times: expected a number`);
  return Number(text);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  try {
    await main();
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}
