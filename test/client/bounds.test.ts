/**
 * What a caller may rely on whatever the service and the network do: bounds that hold, calls that go
 * on only where nothing can happen twice, and mistakes that are told from silence.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { beforeEach, test } from 'vitest';
import { type ClientOptions, createClient, withRecovery } from '../../src/client/index.ts';
import { failure, RECOVERY } from '../../src/domain/failure.ts';
import { HandlerFailure, NoEffect } from '../../src/service/author/handler.ts';
import { listening } from '../http/socket.ts';
import { startRig } from '../invoke/rig.ts';
import { answering, type Desk, losing, openDesk } from './desk.ts';

const TOUCH = { capability: 'touch', parameters: {} };
const TOUCHED = '/svc/invoke/touch';

const rig = await startRig();
const url = `http://127.0.0.1:${await listening(rig)}`;
const { token } = await rig.token();
beforeEach(() => rig.world.script('touch'));

function clientWith(options: Partial<ClientOptions> = {}) {
  return createClient({ url, credential: token, pause: async () => undefined, ...options });
}

/** Makes the handler say so many times that nothing ran, and then succeed. Counts its runs. */
function failingTimes(
  times: number,
  type: 'service_unavailable' | 'not_found' | 'rate_limited',
  Kind: typeof NoEffect | typeof HandlerFailure = NoEffect,
): () => number {
  let runs = 0;
  rig.world.script('touch', () => {
    runs += 1;
    if (runs <= times) throw new Kind('Cannot reach the other side', type);
    return { runs };
  });
  return () => runs;
}

test('withRecovery() recovers when a handler once reports that nothing ran', async () => {
  const runs = failingTimes(1, 'service_unavailable');

  const { reply, failures } = await withRecovery(clientWith(), TOUCH);

  assert.ok(reply.ok);
  assert.equal(runs(), 2);
  assert.ok(failures.every(({ type }) => type === 'service_unavailable'));
});

test('invoke() recovers too, and a repeat with its key returns the outcome', async () => {
  const runs = failingTimes(1, 'service_unavailable');
  const keyed = { ...TOUCH, idempotency_key: 'mine' };

  const first = await clientWith().invoke(keyed);
  const second = await clientWith().invoke(keyed);

  assert.ok(first.ok && second.ok);
  assert.equal(runs(), 2);
  assert.deepEqual([first.replayed, second.replayed], [false, true]);
  assert.equal(second.answer.invocation_id, first.answer.invocation_id);
});

test('withRecovery() recovers from every retryable failure without an effect, and a repeat returns the same', async () => {
  const runs = failingTimes(2, 'rate_limited');
  const keyed = { ...TOUCH, idempotency_key: 'busy' };

  const first = await withRecovery(clientWith(), keyed);
  const second = await withRecovery(clientWith(), keyed);

  assert.ok(first.reply.ok && second.reply.ok);
  assert.equal(runs(), 3);
  assert.deepEqual([first.failures.length, second.failures.length], [2, 2]);
  assert.equal(second.reply.answer.invocation_id, first.reply.answer.invocation_id);
});

test('withRecovery() runs a handler only once when it failed after it may have acted', async () => {
  const runs = failingTimes(1, 'rate_limited', HandlerFailure);

  const { reply, stopped, failures } = await withRecovery(clientWith(), TOUCH);

  assert.equal(reply.ok, false);
  assert.equal(stopped, 'attempts');
  assert.equal(runs(), 1);
  assert.ok(failures.every(({ type }) => type === 'rate_limited'));
});

for (const action of ['retry_now', 'wait_and_retry', 'request_approval'] as const) {
  test(`withRecovery() sends a call once when it must not be retried, although it advises ${action}`, async () => {
    const { fetching, sent } = refusing({
      type: 'card_declined',
      detail: 'Cannot pay',
      retry: false,
      resolution: { action, recovery_class: RECOVERY[action] },
    });

    const { stopped } = await withRecovery(clientWith({ fetch: fetching }), TOUCH);

    assert.equal(stopped, 'caller');
    assert.equal(sent(), 1);
  });
}

test('invoke() sends a call once when it must not be retried, although nothing ran', async () => {
  const told = failure('service_unavailable', 'Cannot take more work');
  const { fetching, sent } = refusing({ ...told, retry: false });

  const reply = await clientWith({ fetch: fetching }).invoke(TOUCH);

  assert.equal(reply.ok, false);
  assert.equal(sent(), 1);
});

test('withRecovery() drops a grant that does not fit, and makes a new request', async () => {
  const { fetching, sent } = refusing(failure('approval_grant_invalid', 'Cannot use the grant'));
  const granted = { ...TOUCH, approval_grant: 'grant-1' };

  const { stopped } = await withRecovery(clientWith({ fetch: fetching }), granted);

  assert.equal(stopped, 'caller');
  assert.equal(sent(), 2);
});

test('withRecovery() runs a handler only once when it asks for another token after it may have acted', async () => {
  let runs = 0;
  rig.world.script('touch', () => {
    runs += 1;
    throw new HandlerFailure('Cannot pay the rest', 'budget_exceeded');
  });
  const other = await rig.token({ subject: 'agent:other' });

  const options = { redelegate: async () => other.token };
  const { reply } = await withRecovery(clientWith(), TOUCH, options);

  assert.equal(!reply.ok && reply.failure.type, 'internal_error');
  assert.equal(runs, 1);
});

const OWN = {
  type: 'purse_empty',
  detail: 'Cannot pay the rest',
  retry: false,
  resolution: {
    action: 'request_budget_increase',
    recovery_class: RECOVERY.request_budget_increase,
  },
};
for (const [what, more, count] of [
  ['stops at a failure of the capability that asks for another token', {}, 1],
  ['goes on with another token where such a failure had no effect', { effect: 'none' }, 5],
] as const) {
  test(`withRecovery() ${what}`, async () => {
    const { fetching, sent } = refusing(OWN, more);

    const options = { redelegate: async () => token };
    const { stopped } = await withRecovery(clientWith({ fetch: fetching }), TOUCH, options);

    assert.equal(stopped, count === 1 ? 'caller' : 'attempts');
    assert.equal(sent(), count);
  });
}

test('withRecovery() does not switch the token of a call that may have run without an answer', async () => {
  const first = await rig.token();
  const other = await rig.token({ subject: 'agent:other' });
  const { fetch } = losing((path, count) => path === TOUCHED && count === 1);
  const before = rig.world.ran('touch');
  const client = clientWith({
    credential: first.token,
    fetch,
    async pause() {
      const body = { token_id: first.token_id };
      await rig.ask('POST', '/svc/tokens/revoke', { bearer: first.token, body });
    },
  });

  const options = { redelegate: async () => other.token };
  const { stopped, failures } = await withRecovery(client, TOUCH, options);

  assert.deepEqual(
    failures.map(({ type }) => type),
    ['outcome_unknown', 'invalid_token'],
  );
  assert.equal(stopped, 'caller');
  assert.equal(rig.world.ran('touch'), before + 1);
});

/** A network in which every call of the capability is refused with this failure. */
function refusing(told: object, more: object = {}) {
  let sent = 0;
  const fetching = answering((path) => {
    if (path !== TOUCHED) return undefined;
    sent += 1;
    return Response.json({ success: false, ...more, failure: told }, { status: 422 });
  });
  return { fetching, sent: () => sent };
}

test('invoke() keeps the key after every other failure of a handler', async () => {
  const runs = failingTimes(1, 'not_found');
  const keyed = { ...TOUCH, idempotency_key: 'other' };

  const replies = [await clientWith().invoke(keyed), await clientWith().invoke(keyed)];

  assert.equal(runs(), 1);
  for (const reply of replies) assert.equal(!reply.ok && reply.failure.type, 'not_found');
});

test('invoke() keeps the key after a stored answer of type service_unavailable', async () => {
  const keys: (string | null)[] = [];
  const told = failure('service_unavailable', 'Cannot ship: the carrier is down');
  const client = clientWith({
    async fetch(input, init) {
      const { headers, url: asked } = new Request(input, init);
      if (!asked.endsWith(TOUCHED)) return fetch(input, init);
      keys.push(headers.get('idempotency-key'));
      const kept = { 'idempotent-replayed': 'true' };
      return Response.json({ success: false, failure: told }, { status: 503, headers: kept });
    },
  });

  await client.invoke({ ...TOUCH, idempotency_key: 'kept' });

  assert.deepEqual(keys, ['kept', 'kept', 'kept']);
});

test('withRecovery() sends at most as many requests as it has attempts, and does not wait after the last', async () => {
  const { fetch, sent } = losing((path) => path === TOUCHED);
  const waits: number[] = [];
  const pause = async (ms: number) => void waits.push(ms);

  const once = await withRecovery(clientWith({ fetch, pause }), TOUCH, { attemptsMax: 1 });
  const sentOnce = sent.filter((path) => path === TOUCHED).length;
  const hasty = await withRecovery(clientWith({ fetch, pause }), TOUCH, { waitMaxMs: 0 });

  assert.deepEqual([once.stopped, sentOnce], ['attempts', 1]);
  assert.deepEqual([hasty.stopped, sent.filter((path) => path === TOUCHED).length], ['time', 2]);
  assert.deepEqual(waits, []);
});

test('withRecovery() repeats under the same key when answers are lost', async () => {
  const { fetch, sent } = losing((path, count) => path === TOUCHED && count <= 2);
  const before = rig.world.ran('touch');

  const { reply, failures } = await withRecovery(clientWith({ fetch }), TOUCH);

  assert.ok(reply.ok);
  assert.equal(reply.replayed, true);
  assert.equal(rig.world.ran('touch'), before + 1);
  assert.equal(sent.filter((path) => path === TOUCHED).length, 3);
  assert.deepEqual(
    failures.map(({ type }) => type),
    ['outcome_unknown', 'outcome_unknown'],
  );
});

test('withRecovery() adds no key to a call that must not have one', async () => {
  failingTimes(3, 'service_unavailable');
  const keys: (string | null)[] = [];
  const client = clientWith({
    async fetch(input, init) {
      const { headers, url: asked } = new Request(input, init);
      if (asked.endsWith(TOUCHED)) keys.push(headers.get('idempotency-key'));
      return fetch(input, init);
    },
  });

  const { reply } = await withRecovery(client, { ...TOUCH, idempotency_key: null });

  assert.ok(reply.ok);
  assert.deepEqual(keys, [null, null, null, null]);
});

test('withRecovery() stops waiting for an undecided approval when its time is up', async () => {
  const desk: Desk = await openDesk();
  let asked = 0;
  const client = await desk.client(['travel.charter'], {
    token: { budget: { currency: 'USD', max_amount: 30_000 } },
    async fetch(input, init) {
      if (!String(input).includes('/svc/approval_requests/')) return fetch(input, init);
      asked += 1;
      return never(init?.signal);
    },
  });
  const parameters = { route: 'SEA-SFO', date: '2026-12-01' };

  const call = { capability: 'charter_jet', parameters };
  const recovered = await withRecovery(client, call, { waitMaxMs: 20 });
  await desk.service.close();

  assert.equal(recovered.stopped, 'time');
  assert.equal(asked, 1);
});

for (const capability of ['__proto__', 'constructor', 'toString']) {
  test(`invoke() asks the service about a capability named ${capability}`, async () => {
    const reply = await clientWith().invoke({ capability, parameters: {} });

    assert.equal(!reply.ok && reply.failure.type, 'unknown_capability');
    assert.ok(!reply.ok && reply.answer);
  });
}

for (const idempotency_key of ['a€b', 'a\nb', ' a', '', 7 as never]) {
  test(`invoke() sends nothing under the key ${JSON.stringify(idempotency_key)}`, async () => {
    const { fetch, sent } = losing(() => false);

    const invoked = clientWith({ fetch }).invoke({ ...TOUCH, idempotency_key });

    await assert.rejects(invoked, /^TypeError: Cannot send the request: "idempotency_key" is /);
    assert.equal(sent.includes(TOUCHED), false);
  });
}

test('createClient() refuses a credential that no header can carry, and does not repeat it', () => {
  for (const credential of ['€uro', 'a b', 'a\nb', '']) {
    assert.throws(
      () => clientWith({ credential }),
      /^TypeError: Cannot use the credential: expect/,
    );
    assert.throws(() => clientWith().withCredential(credential), TypeError);
  }
});

/** A service whose documents do not come. */
const withoutManifest: typeof fetch = (input, init) =>
  /invoke/.test(String(input)) ? fetch(input, init) : never(init?.signal);

test('invoke() can be aborted while it waits for the manifest', async () => {
  const client = clientWith({ fetch: withoutManifest });
  const controller = new AbortController();
  const { signal } = controller;
  const reading = async () => {
    for await (const _ of client.stream(TOUCH, { signal })) assert.fail('nothing was said');
  };

  const asked = [
    client.invoke(TOUCH, { signal }),
    client.ask('manifest', {}, { signal }),
    reading(),
  ];
  controller.abort(new Error('enough'));

  for (const each of asked) await assert.rejects(each, /enough/);
});

test('invoke() waits for the manifest no longer than its timeout', async () => {
  const client = clientWith({ fetch: withoutManifest });

  for (const reply of [
    await client.invoke(TOUCH, { timeoutMs: 20 }),
    await client.ask('manifest', {}, { timeoutMs: 20 }),
  ]) {
    assert.equal(!reply.ok && reply.failure.type, 'service_unavailable');
  }
});

/** Does not answer, until it is given up. */
function never(signal: AbortSignal | null | undefined): Promise<Response> {
  return new Promise((_resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason));
  });
}
