import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test } from 'vitest';
import { system } from '../../platform.ts';
import { createSlicer } from './slices.ts';

/** A clock that advances one millisecond at each read. */
function steps(): () => number {
  let now = 0;
  return () => now++;
}

const NUMBERS = Array.from({ length: 20 }, (_, i) => i);

test('each() visits every item in order, one slice per turn', async () => {
  const slices = createSlicer({ ...system, monotonic: steps() }, 5)();
  const visited: number[] = [];
  let turns = 0;
  const inTurn = new Map<number, number>();
  let isDone = false;
  const counting = (async () => {
    for (; !isDone; turns++) await setImmediate();
  })();

  await slices.each(NUMBERS, (item) => {
    visited.push(item);
    inTurn.set(turns, (inTurn.get(turns) ?? 0) + 1);
    return true;
  });
  isDone = true;
  await counting;

  assert.deepEqual(visited, NUMBERS);
  // The clock is read once per item and once per slice, so a slice has five items.
  assert.equal(Math.max(...inTurn.values()), 5);
  assert.equal(inTurn.size, 4);
});

test('each() runs one slice per turn for all work together', async () => {
  const slicer = createSlicer({ ...system, monotonic: steps() }, 5);
  const order: string[] = [];
  const work = (name: string) =>
    slicer().each(NUMBERS, () => {
      if (order.at(-1) !== name) order.push(name);
      return true;
    });
  let turns = 0;
  let isDone = false;
  const counting = (async () => {
    for (; !isDone; turns++) await setImmediate();
  })();

  await Promise.all([work('a'), work('b'), work('c')]);
  isDone = true;
  await counting;

  // The works alternate, and each of the twelve slices has its own turn.
  assert.deepEqual(order, Array(4).fill(['a', 'b', 'c']).flat());
  assert.ok(turns >= 12, `${turns} turns`);
});

test('each() stops when visit() returns false', async () => {
  const visited: number[] = [];

  await createSlicer(system)().each(NUMBERS, (item) => {
    visited.push(item);
    return item < 3;
  });

  assert.deepEqual(visited, [0, 1, 2, 3]);
});

test('each() stops at the end of a slice when the caller has left', async () => {
  const gone = new AbortController();
  const slices = createSlicer({ ...system, monotonic: steps() }, 5)(gone.signal);
  const visited: number[] = [];

  const working = slices.each(NUMBERS, (item) => {
    visited.push(item);
    if (item === 6) gone.abort();
    return true;
  });

  await assert.rejects(working, /the caller has left/);
  assert.equal(visited.length, 10);
  await assert.rejects(slices.turn(), /the caller has left/);
});

test('turn() rejects when the caller leaves while it waits', async () => {
  const gone = new AbortController();
  const waiting = createSlicer(system)(gone.signal).turn();

  gone.abort();

  await assert.rejects(waiting, /the caller has left/);
});

test('finish() runs the first step at once and the rest in slices', async () => {
  const slices = createSlicer({ ...system, monotonic: steps() }, 5)();
  let done = 0;
  const work = function* () {
    for (; done < 10; done++) yield;
    return done;
  };

  const finished = slices.finish(work());
  const first = done;
  await setImmediate();
  const second = done;

  assert.equal(await finished, 10);
  assert.deepEqual([first, second], [0, 5]);
});
