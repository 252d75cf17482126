/**
 * How the vectors of others are counted for SECURITY.md.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { vectorCounts } from '../../scripts/vectors.ts';

const TITLES = [
  'isSignature() meets all public vectors, good ones and bad ones',
  'isSignature() accepts the vector 1: ordinary',
  'isSignature() refuses the vector 2: r is zero',
  'verifyInclusion() accepts the vector 1/happy-path.json',
  'verifyConsistency() refuses the vector 1/trailing-garbage.json',
  'verifyConsistency() refuses the vector additional/sizes-are-equal-one-and-proof-is-empty.json',
  'canonicalJson() writes the published vector arrays.json',
  'canonicalJson() does not depend on key order, at any level',
  'holds() answers 262 public vectors of ECDSA as they say',
  'inclusionCheck() answers all 98 public vectors as they say',
];

const passed = TITLES.map((title) => ({ title, status: 'passed' }));

test('vectorCounts() counts vectors by kind, without other tests and without the one that we answer otherwise', () => {
  assert.deepEqual(vectorCounts(passed), {
    'ECDSA signatures': 2,
    'inclusion proofs': 1,
    'consistency proofs': 1,
    'canonical texts': 1,
    'again by the offline verifier': 360,
    'answered otherwise on purpose': 1,
  });
});

test('vectorCounts() counts nothing when a test failed, was left out, or is missing', () => {
  for (const status of ['failed', 'skipped', 'pending']) {
    const [first, ...rest] = passed.map((each) => ({ ...each }));
    assert.throws(
      () => vectorCounts([{ title: first?.title ?? '', status }, ...rest]),
      /did not pass/,
    );
  }
  const without = passed.filter(({ title }) => !title.startsWith('verifyInclusion'));
  assert.throws(() => vectorCounts(without), /no test of "inclusion proofs" ran/);
});
