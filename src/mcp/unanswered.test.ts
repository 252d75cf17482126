import assert from 'node:assert/strict';
import { test } from 'vitest';
import { system } from '../platform.ts';
import { createUnanswered } from './unanswered.ts';

const request = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/list' });
const result = (id: number) => ({ jsonrpc: '2.0', id, result: {} });

/** Only to end a test that hangs. */
const LONG_MS = 20_000;

test('settled() resolves at once when nothing was asked', async () => {
  const unanswered = createUnanswered(system);
  unanswered.heard({ jsonrpc: '2.0', method: 'notifications/initialized' });

  await unanswered.settled(LONG_MS);
});

test('settled() waits for the last answer, and for no answer to what was called off', async () => {
  const unanswered = createUnanswered(system);
  let isSettled = false;
  for (const id of [1, 2, 3]) unanswered.heard(request(id));
  const settled = unanswered.settled(LONG_MS).then(() => {
    isSettled = true;
  });
  const params = { requestId: 3 };
  unanswered.heard({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
  unanswered.answered({ jsonrpc: '2.0', id: 2, error: { code: -32_601, message: 'no' } });
  // A question to the client is no answer to it.
  unanswered.answered(request(1));
  await Promise.resolve();
  assert.equal(isSettled, false);

  unanswered.answered(result(1));
  await settled;
});

test('settled() waits for nobody who has left', async () => {
  const unanswered = createUnanswered(system);
  unanswered.heard(request(1));
  const settled = unanswered.settled(LONG_MS);

  unanswered.forget();
  await settled;
  await unanswered.settled(LONG_MS);
});

test('settled() waits no longer than it was told', async () => {
  const unanswered = createUnanswered(system);
  unanswered.heard(request(1));

  await unanswered.settled(1);
});

test('heard() takes no second request under an id until the first has its answer', () => {
  const unanswered = createUnanswered(system);

  assert.equal(unanswered.heard(request(1)), true);
  assert.equal(unanswered.heard(request(1)), false);
  assert.equal(unanswered.heard(request(2)), true);
  unanswered.answered(result(1));
  assert.equal(unanswered.heard(request(1)), true);
});
