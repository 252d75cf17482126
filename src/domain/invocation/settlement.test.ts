import assert from 'node:assert/strict';
import { test } from 'vitest';
import { keepsLeases, refundOf, spentBy } from './settlement.ts';

type Outcome = Parameters<typeof spentBy>[0]['outcome'];

const spent: [outcome: Outcome, actual: bigint | undefined, spent: bigint][] = [
  ['completed', undefined, 100n],
  ['completed', 40n, 40n],
  ['completed', 0n, 0n],
  ['failed', 40n, 40n],
  ['no_effect', 40n, 0n],
  ['indeterminate', 40n, 100n],
];
for (const [outcome, actual, expected] of spent) {
  test(`spentBy() is ${expected} of 100 when a call is ${outcome} at ${actual ?? 'no actual cost'}`, () => {
    assert.equal(spentBy({ outcome, actual }, 100n), expected);
  });
}

test('keepsLeases() is true only of an indeterminate call that still runs', () => {
  assert.equal(keepsLeases({ outcome: 'indeterminate', stillRuns: true }), true);
  assert.equal(keepsLeases({ outcome: 'indeterminate' }), false);
  assert.equal(keepsLeases({ outcome: 'completed', stillRuns: true }), false);
});

test('refundOf() gives back the charge, and never more than was consumed', () => {
  assert.equal(refundOf(100n, 100n), 100n);
  assert.equal(refundOf(100n, 60n), 60n);
  assert.equal(refundOf(60n, 100n), 60n);
});
