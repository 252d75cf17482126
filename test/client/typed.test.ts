/**
 * The types of the client: what the compiler knows of a service, and what it refuses.
 *
 * `npm run check` compiles this file, so each expected error is a test. What compiles also runs
 * against the real service, because types that say something else than the service are worse than
 * none.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { type Client, createClient, withRecovery } from '../../src/client/index.ts';
import type { Service } from '../../src/index.ts';
import { openDesk } from './desk.ts';
import { shop as definition } from './shop.ts';

const ADDRESS = { street: 'Main', lines: ['one', 'two'] };
const NUMBERS = { street: 5, lines: [1] };
const ZOD = {
  to: 'ann',
  amount: 5,
  limit: null,
  address: ADDRESS,
  either: true,
  place: [1, 2] as [number, number],
  way: { kind: 'post' as const, code: 'x' },
  tags: { a: 1 },
};

const desk = await openDesk({ definition });
const plain = await desk.client(['travel.shop']);
const { token } = await desk.service.issue('demo-human-key', { scope: ['travel.shop'] });
const shop = createClient<typeof definition>({ url: desk.url, credential: token });

describe('createClient<typeof service>() knows parameters and results', () => {
  test('of inputs by a list', async () => {
    const reply = await shop.invoke({ capability: 'by_list', parameters: { text: 'a' } });
    await shop.invoke({
      capability: 'by_list',
      parameters: { text: 'a', count: 2, size: 'small', parts: [1], extra: { a: 1 }, place: 'x' },
    });

    assert.ok(reply.ok);
    const { text, count } = reply.answer.result;
    // @ts-expect-error A list names the fields of a result without their types.
    const sum: number = count;
    assert.deepEqual([text, sum], ['a', 1]);
  });

  test('of no inputs', async () => {
    const reply = await shop.invoke({ capability: 'nothing.at-all', parameters: {} });

    assert.ok(reply.ok);
  });

  test('of zod', async () => {
    const reply = await shop.invoke({ capability: 'by_zod', parameters: ZOD });

    assert.ok(reply.ok);
    const { sent, way, again } = reply.answer.result;
    const speed: 'slow' | 'fast' = sent.speed;
    const texts: [string | null, string | undefined] = [way, again];
    // @ts-expect-error There is no such field.
    const { none } = reply.answer.result;
    assert.deepEqual(
      [speed, sent.amount, ...texts, none],
      ['slow', 5, 'post', undefined, undefined],
    );
  });

  test('of valibot', async () => {
    const parameters = { to: 'ann', address: ADDRESS };
    const reply = await shop.invoke({ capability: 'by_valibot', parameters });

    assert.ok(reply.ok);
    const { to, amount }: { to: string; amount: number | null } = reply.answer.result;
    assert.deepEqual([to, amount], ['ann', null]);
  });

  test('of arktype', async () => {
    const parameters = { to: 'ann', address: ADDRESS };
    const reply = await shop.invoke({ capability: 'by_arktype', parameters });

    assert.ok(reply.ok);
    const { to, amount }: { to: string; amount?: number | null } = reply.answer.result;
    assert.deepEqual([to, amount], ['ann', 5]);
  });
});

test('stream() knows the result of the completed event', async () => {
  const totals: number[] = [];
  for await (const { event, data } of shop.stream({
    capability: 'streamed',
    parameters: { until: 4 },
  })) {
    if (event === 'completed') totals.push(data.result.total);
    // @ts-expect-error Only the completed event has a result.
    if (event === 'failed') totals.push(data.result.total);
  }

  assert.deepEqual(totals, [4]);
});

test('withRecovery() knows parameters, result and the clients it passes on', async () => {
  const parameters = { to: 'ann', address: ADDRESS };
  const { reply } = await withRecovery(
    shop,
    { capability: 'by_valibot', parameters },
    {
      bindings: {
        async to(client) {
          const found = await client.invoke({ capability: 'by_arktype', parameters });
          return found.ok ? found.answer.result.to : undefined;
        },
      },
    },
  );

  assert.ok(reply.ok);
  const amount: number | null = reply.answer.result.amount;
  assert.equal(amount, null);
});

test('ask() knows the parameters of a dry run and the names in permissions', async () => {
  const tested = await shop.ask('test', { capability: 'streamed', parameters: { until: 1 } });
  const permissions = await shop.ask('permissions', {});

  assert.ok(tested.ok && tested.answer.would_be_admitted);
  assert.ok(permissions.ok);
  const names: (
    | 'by_list'
    | 'nothing.at-all'
    | 'by_zod'
    | 'by_valibot'
    | 'by_arktype'
    | 'streamed'
  )[] = permissions.answer.available.map(({ capability }) => capability);
  assert.equal(names.length, 6);
});

test('withCredential() keeps the types', async () => {
  const { token } = await desk.service.issue('demo-human-key', { scope: ['travel.shop'] });
  const again = shop.withCredential(token);

  const reply = await again.invoke({ capability: 'streamed', parameters: { until: 2 } });

  assert.ok(reply.ok);
  const total: number = reply.answer.result.total;
  assert.equal(total, 2);
});

test('createClient<Interface>() knows the capabilities of an interface', async () => {
  interface Shop {
    streamed: { parameters: { until: number }; result: { total: number } };
  }
  const { token } = await desk.service.issue('demo-human-key', { scope: ['travel.shop'] });
  const client: Client<Shop> = createClient<Shop>({ url: desk.url, credential: token });

  const reply = await client.invoke({ capability: 'streamed', parameters: { until: 3 } });
  // @ts-expect-error There is no such capability in the interface.
  await client.invoke({ capability: 'by_list', parameters: { text: 'a' } });

  assert.ok(reply.ok);
  const total: number = reply.answer.result.total;
  assert.equal(total, 3);
});

test('createClient() without a type takes every name and every object', async () => {
  const capability: string = 'streamed';
  const reply = await plain.invoke({ capability, parameters: { until: 3 } });
  const unknown = await plain.invoke({ capability: 'no_such', parameters: { any: 1 } });
  const tested = await plain.ask('test', { capability, parameters: { until: 3 } });

  assert.ok(reply.ok && tested.ok);
  assert.deepEqual(reply.answer.result, { total: 3 });
  assert.equal(unknown.ok, false);
});

test('createClient<Service>() of unknown capabilities takes every name and every object', async () => {
  const client = createClient<Service>({ url: desk.url });

  const reply = await client.invoke({ capability: 'no_such', parameters: { any: 1 } });

  assert.ok(!reply.ok);
  assert.equal(reply.failure.type, 'authentication_required');
});

test('calls with a fault do not compile, and the service refuses them', async () => {
  const refused = [
    // @ts-expect-error There is no such capability.
    shop.invoke({ capability: 'by_lost', parameters: { text: 'a' } }),
    // @ts-expect-error "text" is missing.
    shop.invoke({ capability: 'by_list', parameters: {} }),
    // @ts-expect-error "text" is a string.
    shop.invoke({ capability: 'by_list', parameters: { text: 5 } }),
    // @ts-expect-error "medium" is not among the allowed values.
    shop.invoke({ capability: 'by_list', parameters: { text: 'a', size: 'medium' } }),
    // @ts-expect-error "txt" is not an input.
    shop.invoke({ capability: 'by_list', parameters: { text: 'a', txt: 'a' } }),
    // @ts-expect-error It has no inputs.
    shop.invoke({ capability: 'nothing.at-all', parameters: { text: 'a' } }),
    // @ts-expect-error The street is a string.
    shop.invoke({ capability: 'by_zod', parameters: { ...ZOD, address: NUMBERS } }),
    // @ts-expect-error A way by post has a code.
    shop.invoke({ capability: 'by_zod', parameters: { ...ZOD, way: { kind: 'post', at: 'x' } } }),
    // @ts-expect-error "soon" is no speed.
    shop.invoke({ capability: 'by_zod', parameters: { ...ZOD, speed: 'soon' } }),
    // @ts-expect-error "address" is missing.
    shop.invoke({ capability: 'by_valibot', parameters: { to: 'ann' } }),
    // @ts-expect-error The lines are strings.
    shop.invoke({ capability: 'by_arktype', parameters: { to: 'a', address: NUMBERS } }),
    // @ts-expect-error "until" is a number.
    shop.ask('invoke', { capability: 'streamed', parameters: { until: 'x' } }),
    // @ts-expect-error There is no such capability.
    shop.ask('test', { capability: 'stramed', parameters: { until: 1 } }),
    // @ts-expect-error "until" is a number.
    withRecovery(shop, { capability: 'streamed', parameters: { until: 'x' } }).then(
      ({ reply }) => reply,
    ),
  ];

  for (const reply of await Promise.all(refused)) {
    const isAdmitted =
      reply.ok && (!('would_be_admitted' in reply.answer) || reply.answer.would_be_admitted);
    assert.ok(!isAdmitted, JSON.stringify(reply));
  }
});

test('wrong types of a client do not compile', () => {
  const options = { url: desk.url };
  // @ts-expect-error A capability has parameters and a result.
  createClient<{ ping: string }>(options);
  const renew = async () => 'x';
  const call = { capability: 'streamed', parameters: { until: 1 } } as const;
  // @ts-expect-error "quote" is no parameter of the call.
  const never = () => withRecovery(shop, call, { bindings: { quote: renew } });
  // @ts-expect-error There is no such capability.
  const other = () => shop.stream({ capability: 'stramed', parameters: { until: 1 } });
  // @ts-expect-error A client of one service is no client of another.
  const wrong: Client<{ ping: { parameters: { a: string }; result: { b: string } } }> = shop;

  assert.deepEqual([typeof never, typeof other, wrong.url], ['function', 'function', desk.url]);
});
