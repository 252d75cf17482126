import assert from 'node:assert/strict';
import { afterEach, beforeEach, test, vi } from 'vitest';
import { pauseFor } from './pace.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('pauseFor() waits longer than one timer can', async () => {
  const ms = 3 * 2 ** 31;
  let isOver = false;
  const over = pauseFor(ms).then(() => {
    isOver = true;
  });

  await vi.advanceTimersByTimeAsync(ms - 1);
  assert.equal(isOver, false);

  await vi.advanceTimersByTimeAsync(1);
  await over;
});

test('pauseFor() ends with what it was aborted with, before and while it waits', async () => {
  const controller = new AbortController();
  const paused = pauseFor(2 ** 40, controller.signal);
  controller.abort(new Error('enough'));

  await assert.rejects(paused, /enough/);
  await assert.rejects(pauseFor(0, controller.signal), /enough/);
  assert.equal(vi.getTimerCount(), 0);
});
