import assert from 'node:assert/strict';
import { test } from 'vitest';
import { keptTick } from './tick.ts';

test('keptTick() keeps an object of a tick, and always the same', () => {
  const kept = keptTick();

  assert.equal(typeof (kept as { callback?: unknown }).callback, 'function');
  assert.equal(keptTick(), kept);
});
