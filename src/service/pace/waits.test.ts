import assert from 'node:assert/strict';
import { test } from 'vitest';
import { system } from '../../platform.ts';
import { createWaits } from './waits.ts';

/** Longer than any test: only waking ends it. */
const FOR_EVER_MS = 3_600_000;

const by = (id: string, root_principal = 'human:alice', gone?: AbortSignal) => ({
  id,
  root_principal,
  gone,
});

test('wake() ends only the pauses of its id', async () => {
  const waits = createWaits(system);
  const [one, two, other] = [waits.enter(by('a')), waits.enter(by('a')), waits.enter(by('b'))];
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
  await createWaits(system).enter(by('a'))?.pause(1);
});

test('stop() ends every pause and admits no waiter', async () => {
  const waits = createWaits(system);
  const place = waits.enter(by('a'));
  const pausing = place?.pause(FOR_EVER_MS);

  waits.stop();
  await pausing;
  await place?.pause(FOR_EVER_MS);

  assert.equal(place?.isOver(), true);
  assert.equal(waits.enter(by('a')), undefined);
});

test('pause() ends only for the caller that has left', async () => {
  const waits = createWaits(system);
  const leaving = new AbortController();
  const [place, other] = [
    waits.enter(by('a', 'human:alice', leaving.signal)),
    waits.enter(by('a')),
  ];
  const pausing = place?.pause(FOR_EVER_MS);

  leaving.abort();
  await pausing;
  await place?.pause(FOR_EVER_MS);

  assert.equal(place?.isOver(), true);
  assert.equal(other?.isOver(), false);
});

test('enter() bounds the waiters of a root principal and reuses a place that was left', () => {
  const waits = createWaits(system);
  const places = Array.from({ length: 50 }, () => waits.enter(by('a')));

  assert.equal(places.includes(undefined), false);
  assert.equal(waits.enter(by('b')), undefined);
  assert.notEqual(waits.enter(by('a', 'human:bob')), undefined);
  places[0]?.leave();
  assert.notEqual(waits.enter(by('b')), undefined);
});

test('enter() bounds all waiters and reuses a place that was left', () => {
  const waits = createWaits(system);
  const places = Array.from({ length: 500 }, (_, place) => {
    return waits.enter(by('a', `human:${place % 10}`));
  });

  assert.equal(places.includes(undefined), false);
  assert.equal(waits.enter(by('a')), undefined);
  places[0]?.leave();
  assert.notEqual(waits.enter(by('a')), undefined);
});
