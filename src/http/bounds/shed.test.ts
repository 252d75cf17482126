import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { test } from 'vitest';
import { system } from '../../platform.ts';
import { LATE_SAMPLES_MIN, QUEUED_WORK_MIN } from './limits.ts';
import { type Load, watchLoad } from './shed.ts';

test('overload() refuses the request beyond the bound, and only that one', () => {
  const load = watchLoad(system, { inWorkMax: 2, loopDelayMaxMs: Number.POSITIVE_INFINITY });
  try {
    load.enter().begin();
    const second = load.enter();
    second.begin();
    load.enter();
    assert.equal(load.overload(), '2 requests are in work');
    second.leave();
    assert.equal(load.overload(), undefined);
    assert.equal(load.inWork(), 2);
  } finally {
    load.close();
  }
});

test('overload() does not count requests that only wait for their bodies, however many they are', () => {
  const load = watchLoad(system, { inWorkMax: 2, loopDelayMaxMs: Number.POSITIVE_INFINITY });
  try {
    for (let place = 0; place < 100_000; place += 1) load.enter();

    assert.equal(load.overload(), undefined);
  } finally {
    load.close();
  }
});

test('wait() gives back the place of work until the body is there', () => {
  const load = watchLoad(system, { inWorkMax: 2, loopDelayMaxMs: Number.POSITIVE_INFINITY });
  try {
    const slots = Array.from({ length: 3 }, () => load.enter());
    for (const slot of slots) {
      slot.begin();
      slot.wait();
    }
    assert.equal(load.overload(), undefined);

    slots[0]?.abandon();
    slots[0]?.wait();
    slots[1]?.begin();
    slots[2]?.begin();
    assert.deepEqual([load.inWork(), load.overload()], [2, '2 requests are in work']);
  } finally {
    load.close();
  }
});

test('abandon() gives back the place of a request that waits, and leaves that of work that goes on', () => {
  const load = watchLoad(system, { inWorkMax: 2, loopDelayMaxMs: Number.POSITIVE_INFINITY });
  try {
    const [waiting, working] = [load.enter(), load.enter()];
    working.begin();

    waiting.abandon();
    working.abandon();
    assert.equal(load.inWork(), 1);

    working.leave();
    working.leave();
    waiting.leave();
    assert.equal(load.inWork(), 0);
  } finally {
    load.close();
  }
});

/** A load whose delays the test names one by one. */
function delayedLoad() {
  let see: (medianMs: number) => void = () => undefined;
  const load = watchLoad(system, {
    loopDelayMaxMs: 1_000,
    delays: (to) => {
      see = to;
      return () => undefined;
    },
  });
  return { load, see: (...delays: number[]) => delays.forEach((each) => void see(each)) };
}

function work(load: Load, count: number): void {
  for (let place = 0; place < count; place += 1) load.enter().begin();
}

const LATE = Array.from({ length: LATE_SAMPLES_MIN }, () => 3_000);

test('overload() refuses after delays in a row, while work is queued', () => {
  const { load, see } = delayedLoad();
  work(load, QUEUED_WORK_MIN);

  see(...LATE);

  assert.equal(
    load.overload(),
    `event loop delay is 3000 ms, with ${QUEUED_WORK_MIN} requests in work`,
  );
});

test('overload() takes a sequential caller, however late every sample is', () => {
  const { load, see } = delayedLoad();
  for (let request = 0; request < 100; request += 1) {
    see(...LATE);
    const place = load.enter();
    assert.equal(load.overload(), undefined);
    place.begin();
    place.leave();
  }
});

test('overload() refuses nothing while less work is queued, or while its bodies are still coming', () => {
  const { load, see } = delayedLoad();
  work(load, QUEUED_WORK_MIN - 1);
  for (let place = 0; place < 1_000; place += 1) load.enter();

  see(...LATE);

  assert.equal(load.overload(), undefined);
});

const SEQUENCES: [name: string, delays: readonly number[], refuses: boolean][] = [
  ['a single late sample', [60_000], false],
  ['one late sample fewer than it takes', LATE.slice(1), false],
  ['late samples with a good one between them', [...LATE.slice(1), 999, ...LATE.slice(1)], false],
  ['samples at the bound', LATE.map(() => 1_000), false],
  ['a good sample after many late ones', [...LATE, ...LATE, 20], false],
  ['samples just above the bound', LATE.map(() => 1_001), true],
  ['late samples after good ones', [5, 5, ...LATE], true],
];
for (const [name, delays, refuses] of SEQUENCES) {
  test(`overload() ${refuses ? 'refuses' : 'refuses nothing'} after ${name}`, () => {
    const { load, see } = delayedLoad();
    work(load, QUEUED_WORK_MIN);

    see(...delays);

    assert.equal(load.overload() !== undefined, refuses);
  });
}

test('watchLoad() measures the delays of its own event loop', async () => {
  // Every turn takes longer than nothing, so it is refused as soon as enough have been measured.
  const load = watchLoad(system, { loopDelayMaxMs: 0 });
  try {
    work(load, QUEUED_WORK_MIN);
    while (load.overload() === undefined) await setTimeout(20);

    assert.match(String(load.overload()), /^event loop delay is \d+ ms, with 16 requests in work$/);
  } finally {
    load.close();
  }
});
