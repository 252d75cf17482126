import assert from 'node:assert/strict';
import { test } from 'vitest';
import { keepsLeases, refundOf } from './settlement.ts';

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
