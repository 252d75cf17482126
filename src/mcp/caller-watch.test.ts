import assert from 'node:assert/strict';
import { test } from 'vitest';
import { failure } from '../domain/failure.ts';
import { watchCaller } from './caller-watch.ts';
import type { Gateway } from './gateway.ts';

/** A gateway whose invocations are refused with this type. */
function refusing(type: 'token_expired' | 'budget_exceeded'): Gateway {
  const answer = { success: false, failure: failure(type, 'Cannot do it') };
  return { ask: async () => answer as never, manifest: async () => answer as never };
}

/** A response that has begun, and its end. */
function begun() {
  let end: (text: string) => void = () => undefined;
  let fail: () => void = () => undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      end = (text) => {
        controller.enqueue(new TextEncoder().encode(text));
        controller.close();
      };
      fail = () => controller.error(new Error('the client has left'));
    },
  });
  return { response: new Response(body), end: (text: string) => end(text), fail: () => fail() };
}

test('watchCaller() gives the failure of an unknown caller in place of the answer', async () => {
  const watch = watchCaller({});
  const { response } = begun();
  const admitted = watch.admitted(response);
  await watch.watched(refusing('token_expired')).ask('invoke', {} as never);

  assert.equal((await admitted) instanceof Response, false);
});

test('watchCaller() lets the refusal of a known caller leave as it is', async () => {
  const watch = watchCaller({});
  const { response, end } = begun();
  const admitted = watch.admitted(response);
  await watch.watched(refusing('budget_exceeded')).ask('invoke', {} as never);
  end('refused');

  assert.equal(await ((await admitted) as Response).text(), 'refused');
});

test('watchCaller() lets the answer begin when the caller is known, before the call ends', async () => {
  const seen: unknown[] = [];
  const watch = watchCaller({ proved: (issued?: string) => void seen.push(issued) });
  const { response, end } = begun();
  const admitted = watch.admitted(response);
  watch.caller.proved('issued');
  const begunResponse = (await admitted) as Response;
  end('done');

  assert.equal(await begunResponse.text(), 'done');
  assert.deepEqual(seen, ['issued']);
});

test('watchCaller() lets a known caller get what its call reports, whatever the type', async () => {
  const watch = watchCaller({ proved: () => undefined });
  const { response, end } = begun();
  watch.caller.proved();
  await watch.watched(refusing('token_expired')).ask('invoke', {} as never);
  end('refused');

  assert.equal(await ((await watch.admitted(response)) as Response).text(), 'refused');
});

test('watchCaller() waits for the invocation, not for what is asked before it', async () => {
  const watch = watchCaller({});
  const { response } = begun();
  const admitted = watch.admitted(response);
  const gateway = watch.watched(refusing('token_expired'));
  await gateway.ask('permissions', {} as never);
  await new Promise(setImmediate);
  await gateway.ask('invoke', {} as never);

  assert.equal((await admitted) instanceof Response, false);
});

test('watchCaller() lets an answer leave that needs no invocation', async () => {
  const watch = watchCaller({});
  const { response, end } = begun();
  end('no such method');

  assert.equal(await ((await watch.admitted(response)) as Response).text(), 'no such method');
  const empty = await watch.admitted(new Response(null, { status: 202 }));
  assert.equal((empty as Response).status, 202);
});

test('watchCaller() passes on a body that breaks', async () => {
  const watch = watchCaller({});
  const { response, fail } = begun();
  fail();

  const admitted = (await watch.admitted(response)) as Response;
  await assert.rejects(admitted.text(), /the client has left/);
});
