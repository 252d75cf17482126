import assert from 'node:assert/strict';
import { test } from 'vitest';
import { type Platform, system } from '../../platform.ts';
import { createBodies } from '../bounds/bodies.ts';
import { CONNECTION_BOUNDS } from '../bounds/connection.ts';
import { STALL_MS } from '../bounds/limits.ts';
import { bodyInTime } from './body.ts';
import { webExchange } from './web.ts';

/** A platform whose timers run when the test says so. */
function heldPlatform(): Platform & { runTimers(): void; waiting: Set<() => void> } {
  const waiting = new Set<() => void>();
  const timers = new WeakMap<object, () => void>();
  return {
    ...system,
    waiting,
    after(_ms, run) {
      const timer = { unref: () => undefined };
      waiting.add(run);
      timers.set(timer, run);
      return timer;
    },
    cancel(timer) {
      const run = timer && timers.get(timer);
      if (run) waiting.delete(run);
    },
    runTimers() {
      for (const run of [...waiting]) run();
    },
  };
}

function exchanged(method = 'GET') {
  const platform = heldPlatform();
  const request = new Request('http://localhost/a?b', { method });
  const calls: string[] = [];
  const { ask, respond } = webExchange(request, {
    platform,
    bodies: createBodies(CONNECTION_BOUNDS),
    target: '/a?b',
    remoteAddress: undefined,
  });
  ask.onSent(() => void calls.push('sent'));
  ask.onClosed(() => void calls.push('closed'));
  return { platform, calls, ask, respond };
}

const ANSWER = { status: 200, headers: {}, body: 'h\u00e9' };

test('respond() counts an answer as sent when its body is read, and keeps no timer', async () => {
  const { platform, calls, respond } = exchanged();
  const response = respond({ ...ANSWER, headers: {} });

  assert.deepEqual(calls, []);
  assert.equal(await response.text(), 'h\u00e9');
  assert.deepEqual(calls, ['sent', 'closed']);
  assert.equal(response.headers.get('content-length'), '3');
  assert.equal(platform.waiting.size, 0);
});

test('respond() drops an answer that nothing reads in time', async () => {
  const { platform, calls, respond } = exchanged();
  const response = respond({ ...ANSWER, headers: {} });
  platform.runTimers();

  assert.deepEqual(calls, ['closed']);
  await assert.rejects(response.text(), new RegExp(`unread for ${STALL_MS} ms`));
});

test('respond() frees what a reader cancels', async () => {
  const { platform, calls, respond } = exchanged();
  await respond({ ...ANSWER, headers: {} }).body?.cancel();

  assert.deepEqual(calls, ['closed']);
  assert.equal(platform.waiting.size, 0);
});

test('respond() sends the length and no body for HEAD', async () => {
  const { calls, respond } = exchanged('HEAD');
  const response = respond({ ...ANSWER, headers: {} });

  assert.equal(response.body, null);
  assert.equal(response.headers.get('content-length'), '3');
  assert.deepEqual(calls, ['sent', 'closed']);
});

test('bodyInTime() refuses a body that never comes', async () => {
  const platform = heldPlatform();
  const reading = bodyInTime(platform, new Promise(() => undefined));
  platform.runTimers();

  await assert.rejects(reading, /took too long to arrive/);
});
