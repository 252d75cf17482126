import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { type RateState, rateHeaders, rateLimited, rateWindow } from './rate.ts';

const PER_MINUTE = { limit: 100, window: 'PT1M' };

test('rateWindow() puts every moment of a window into that window, and the next one into the next', () => {
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
  assert.throws(() => rateWindow({ limit: 1, window: 'soon' }, new Date()), /no positive duration/);
});

const state: RateState = {
  policy: 'principal',
  limit: 100,
  windowMs: 60_000,
  remaining: 7,
  resetMs: 12_001,
};

test('rateHeaders() tells policy and state of each limit, and nothing where none is', () => {
  assert.deepEqual(rateHeaders([]), {});
  assert.deepEqual(
    rateHeaders([state, { ...state, policy: 'capability', limit: 2, remaining: 0 }]),
    {
      'ratelimit-policy': '"principal";q=100;w=60, "capability";q=2;w=60',
      ratelimit: '"principal";r=7;t=13, "capability";r=0;t=13',
    },
  );
});

test('rateLimited() says when to come back, never sooner than the window ends', () => {
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
