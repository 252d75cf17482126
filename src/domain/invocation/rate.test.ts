import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { createPacer, type RateState, rateHeaders, rateLimited, rateWindow } from './rate.ts';

const PER_MINUTE = { limit: 100, window: 'PT1M' };

test('rateWindow() gives all moments of a window the same window, and the next moment the next', () => {
  fc.assert(
    fc.property(fc.date({ noInvalidDate: true, min: new Date(0) }), (now) => {
      const { start, lengthMs, resetMs } = rateWindow(PER_MINUTE, now);

      assert.equal(lengthMs, 60_000);
      assert.equal(start.getTime() % 60_000, 0);
      assert.ok(start.getTime() <= now.getTime() && resetMs > 0);
      assert.equal(start.getTime() + lengthMs, now.getTime() + resetMs);
    }),
  );
});

test('rateWindow() refuses a window without length', () => {
  assert.throws(
    () => rateWindow({ limit: 1, window: 'soon' }, new Date()),
    /not a positive duration/,
  );
});

const state: RateState = {
  policy: 'principal',
  limit: 100,
  windowMs: 60_000,
  remaining: 7,
  resetMs: 12_001,
};

test('rateHeaders() gives policy and state of each limit, and nothing without limits', () => {
  assert.deepEqual(rateHeaders([]), {});
  assert.deepEqual(
    rateHeaders([state, { ...state, policy: 'capability', limit: 2, remaining: 0 }]),
    {
      'ratelimit-policy': '"principal";q=100;w=60, "capability";q=2;w=60',
      ratelimit: '"principal";r=7;t=13, "capability";r=0;t=13',
    },
  );
});

test('rateLimited() names a retry time that is never before the end of the window', () => {
  const { type, retry, detail, resolution } = rateLimited(state, PER_MINUTE);

  assert.equal(type, 'rate_limited');
  assert.equal(retry, true);
  assert.match(detail, /all 100 calls of the root principal in PT1M are used; more in 13 s$/);
  assert.deepEqual(resolution, {
    action: 'wait_and_retry',
    recovery_class: 'wait_then_retry',
    estimated_availability: 'PT13S',
  });
});

describe('createPacer()', () => {
  const RATE = { limit: 10, window: 'PT1S' };
  const taken = (pacer: ReturnType<typeof createPacer>, key: string, nowMs: number) => {
    let calls = 0;
    while (pacer.take(key, nowMs) === undefined) calls += 1;
    return calls;
  };

  test('admits exactly the limit at once, for each key separately', () => {
    const pacer = createPacer('the root principal', RATE);

    assert.equal(taken(pacer, 'a', 5_000), 10);
    assert.equal(taken(pacer, 'b', 5_000), 10);
  });

  test('admits a call each time the allowance has grown by one, after any number of refusals', () => {
    const pacer = createPacer('the root principal', RATE);
    taken(pacer, 'a', 0);
    for (let i = 0; i < 1_000; i += 1) pacer.take('a', 50);

    assert.equal(taken(pacer, 'a', 99), 0);
    assert.equal(taken(pacer, 'a', 100), 1);
    assert.equal(taken(pacer, 'a', 400), 3);
    assert.equal(taken(pacer, 'a', 60_000), 10);
  });

  test('names the time of the next admitted call', () => {
    const pacer = createPacer('the address', { limit: 2, window: 'PT1M' });
    taken(pacer, 'a', 0);

    const found = pacer.take('a', 1_000);

    assert.equal(found?.type, 'rate_limited');
    assert.equal(found?.resolution.estimated_availability, 'PT29S');
    assert.match(String(found?.detail), /the address has used its 2 calls in PT1M; more in 29 s$/);
  });

  test('giveBack() restores the state before the call', () => {
    const pacer = createPacer('the address', RATE);
    for (let i = 0; i < 1_000; i += 1) {
      assert.equal(pacer.take('a', 0), undefined);
      pacer.giveBack('a');
    }

    assert.equal(taken(pacer, 'a', 0), 10);
  });

  test('forgets keys that were not used recently, and stays within a bound', () => {
    const pacer = createPacer('the address', { limit: 1, window: 'PT1H' });
    pacer.take('first', 0);
    for (let i = 0; i < 100_000; i += 1) pacer.take(`other ${i}`, 0);

    assert.equal(pacer.take('first', 0), undefined);
  });

  test('never admits more in any interval than the limit plus what grows back in it', () => {
    const gaps = fc.array(fc.nat({ max: 300 }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(gaps, (steps) => {
        const pacer = createPacer('the address', RATE);
        const times: number[] = [];
        let now = 0;
        for (const step of steps) {
          now += step;
          if (pacer.take('a', now) === undefined) times.push(now);
        }
        const excess = times.flatMap((from, first) =>
          times
            .slice(first)
            .filter((to, more) => more + 1 > 10 + Math.floor((to - from) / 100 + 1e-6)),
        );
        assert.deepEqual(excess, []);
      }),
    );
  });
});
