import assert from 'node:assert/strict';
import { afterEach, beforeEach, test, vi } from 'vitest';
import { startClock } from './clock.ts';
import type { Database } from './connection.ts';
import { settingsOf } from './options.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const DATABASE_TIME = Date.parse('2031-05-06T07:08:09.000Z');

/** A database whose clock can be set, and whose answers take a given time. */
function timed() {
  const state = { ms: DATABASE_TIME, tripMs: 0 };
  const read = async () => {
    vi.advanceTimersByTime(state.tripMs / 2);
    state.ms += state.tripMs / 2;
    const now = state.ms;
    vi.advanceTimersByTime(state.tripMs / 2);
    state.ms += state.tripMs / 2;
    return [{ now }];
  };
  return { state, database: { read } as unknown as Database };
}

test('startClock() returns the time of the database, corrected by half a round trip', async () => {
  const { state, database } = timed();
  state.tripMs = 80;

  const clock = await startClock(database, settingsOf({}));

  assert.equal(clock.now().getTime(), state.ms);
  clock.stop();
});

test('startClock() goes on between measurements', async () => {
  const { database } = timed();
  const clock = await startClock(database, settingsOf({}));

  vi.advanceTimersByTime(1_234);

  assert.equal(clock.now().getTime(), DATABASE_TIME + 1_234);
  clock.stop();
});

for (const { driftMs, warnings } of [
  { driftMs: 1_000, warnings: 0 },
  { driftMs: 1_001, warnings: 1 },
  { driftMs: -1_001, warnings: 1 },
]) {
  test(`startClock() follows a drift of ${driftMs} ms and warns ${warnings} times`, async () => {
    const { state, database } = timed();
    const warned: string[] = [];
    const onWarning = (message: string) => warned.push(message);
    const clock = await startClock(database, settingsOf({ onWarning }));

    state.ms += 10_000 + driftMs;
    await vi.advanceTimersByTimeAsync(10_000);

    assert.equal(clock.now().getTime(), DATABASE_TIME + 10_000 + driftMs);
    assert.equal(warned.length, warnings);
    clock.stop();
  });
}

test('startClock() takes the clock it is given and asks no database', async () => {
  const fixed = new Date(0);

  const clock = await startClock({} as Database, settingsOf({ clock: () => fixed }));

  assert.equal(clock.now(), fixed);
});
