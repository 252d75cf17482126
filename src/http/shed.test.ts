import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { test } from 'vitest';
import { watchLoad } from './shed.ts';

test('overload() refuses the request beyond the bound, and only that one', () => {
  const load = watchLoad({ inWorkMax: 2, loopDelayMaxMs: Number.POSITIVE_INFINITY });
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
  const load = watchLoad({ inWorkMax: 2, loopDelayMaxMs: Number.POSITIVE_INFINITY });
  try {
    for (let place = 0; place < 100_000; place += 1) load.enter();

    assert.equal(load.overload(), undefined);
  } finally {
    load.close();
  }
});

test('abandon() gives back the place of a request that waits, and leaves that of work that goes on', () => {
  const load = watchLoad({ inWorkMax: 2, loopDelayMaxMs: Number.POSITIVE_INFINITY });
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

test('overload() refuses while turns of the event loop take too long', async () => {
  // Every turn takes longer than nothing, so it is refused as soon as one has been measured.
  const load = watchLoad({ loopDelayMaxMs: 0 });
  try {
    while (load.overload() === undefined) await setTimeout(20);

    assert.match(String(load.overload()), /^event loop delay is \d+ ms$/);
  } finally {
    load.close();
  }
});
