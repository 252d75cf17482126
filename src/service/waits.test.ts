import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createWaits } from './waits.ts';

/** Longer than any test: only waking ends it. */
const FOR_EVER_MS = 3_600_000;

test('wake() ends the pauses of its own id, and no others', async () => {
  const waits = createWaits();
  const [one, two, other] = [waits.enter('a'), waits.enter('a'), waits.enter('b')];
  let isOver = false;
  const unmoved = other?.pause(FOR_EVER_MS).then(() => {
    isOver = true;
  });
  const moved = [one?.pause(FOR_EVER_MS), two?.pause(FOR_EVER_MS)];

  waits.wake('a');
  await Promise.all(moved);

  assert.equal(isOver, false);
  waits.stop();
  await unmoved;
});

test('pause() ends by itself when its time has passed', async () => {
  await createWaits().enter('a')?.pause(1);
});

test('stop() lets everyone go, and nobody in any more', async () => {
  const waits = createWaits();
  const place = waits.enter('a');
  const pausing = place?.pause(FOR_EVER_MS);

  waits.stop();
  await pausing;
  await place?.pause(FOR_EVER_MS);

  assert.equal(waits.stopped(), true);
  assert.equal(waits.enter('a'), undefined);
});

test('enter() has a bound, and a place that was left is free again', () => {
  const waits = createWaits();
  const places = Array.from({ length: 500 }, () => waits.enter('a'));

  assert.equal(places.includes(undefined), false);
  assert.equal(waits.enter('a'), undefined);
  places[0]?.leave();
  assert.notEqual(waits.enter('a'), undefined);
});
