import assert from 'node:assert/strict';
import { test } from 'vitest';
import { checkClock, checkRoom } from './store-check.ts';

test('checkRoom() warns below one gibibyte and faults below 100 mebibytes', () => {
  const mebibyte = 1024 ** 2;
  assert.equal(checkRoom(1024 * mebibyte).level, 'ok');
  assert.equal(checkRoom(1024 * mebibyte - 1).level, 'warn');
  assert.equal(checkRoom(100 * mebibyte).level, 'warn');
  assert.equal(checkRoom(100 * mebibyte - 1).level, 'fault');
});

test('checkClock() warns of more than two seconds in either direction', () => {
  assert.equal(checkClock('store', 2_000, 0).level, 'ok');
  assert.equal(checkClock('store', 2_001, 0).level, 'warn');
  assert.equal(checkClock('store', 0, 2_001).level, 'warn');
});
