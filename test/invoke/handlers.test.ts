/**
 * Handlers: what they are given, what they may return or throw, and what never leaves through them.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { JsonObject } from '../../src/protocol/primitives.ts';
import type { HandlerContext } from '../../src/service/author/handler.ts';
import { HandlerFailure, NoEffect } from '../../src/service/author/handler.ts';
import type { Script } from '../support/scripts.ts';
import { onEachStore, type Rig } from './rig.ts';

const BUDGET = { budget: { currency: 'USD', max_amount: 10 } };

/** Invokes with a script in place, once. */
async function once(rig: Rig, capability: string, script: Script, request: object = {}) {
  const token = await rig.token(request);
  rig.world.script(capability, script);
  const reply = await rig.invoke(token.token, capability, {}, { fields: { task_id: 'task' } });
  rig.world.script(capability);
  return { token, reply };
}

/** An object of so many levels. */
function nested(levels: number): JsonObject {
  let inner: JsonObject = {};
  for (let level = 1; level < levels; level += 1) inner = { inner };
  return inner;
}

onEachStore((rig) => {
  test('a handler gets the caller, the root principal and the ids of the call', async () => {
    let seen: HandlerContext | undefined;
    const { reply, token } = await once(
      rig(),
      'pay',
      (_parameters, context) => {
        seen = context;
        return {};
      },
      { purpose_parameters: { task_id: 'task', why: { deep: 1 } } },
    );

    assert.ok(seen);
    assert.equal(seen.invocation_id, reply.body.invocation_id);
    assert.equal(seen.task_id, 'task');
    assert.equal(seen.principal, 'agent:a');
    assert.equal(seen.root_principal, 'human:alice');
    assert.equal(seen.caller_class, 'internal');
    assert.deepEqual(seen.token.scope, ['w.use']);
    assert.deepEqual(seen.token.purpose, { task_id: 'task', why: { deep: 1 } });
    assert.equal(seen.token.depth, 0);
    assert.equal(seen.token.token_id, token.token_id);
    assert.equal(seen.token.expires_at.toISOString(), token.expires_at);
    assert.equal(seen.signal.aborted, false);
    await seen.progress({ half: true });
  });

  test('a handler gets nothing that could widen its authority', async () => {
    const token = await rig().token({ purpose_parameters: { why: { deep: 1 } } });
    const { body } = await rig().invoke(token.token, 'quote', { price: 5 });
    const stored = () =>
      rig().store.load({ tokenId: token.token_id, bindingIds: [body.result.quote] });
    const before = await stored();
    rig().world.script('book', (parameters, context) => {
      assert.throws(() => Object.assign(context, { principal: 'human:root' }), TypeError);
      assert.throws(() => Object.assign(context.token, { depth: -1 }), TypeError);
      assert.throws(() => (context.token.scope as string[]).push('w.secret'), TypeError);
      context.token.expires_at.setFullYear(3000);
      Object.assign(context.token.purpose, { task_id: 'other' });
      Object.assign(context.bindings.quote?.data ?? {}, { seat: '1A' });
      Object.assign(parameters, { quote: 'changed' });
      // No way to the token's text, the store, the keys or the configuration.
      const found = JSON.stringify(Object.keys(context).sort());
      assert.doesNotMatch(found, /jwt|bearer|store|key|config|parts/i);
      assert.equal(JSON.stringify(context.token).includes(token.token), false);
      return {};
    });

    const first = await rig().invoke(token.token, 'book', { quote: body.result.quote });
    rig().world.script('book');
    const second = await rig().invoke(token.token, 'book', { quote: body.result.quote });

    assert.equal(first.status, 200, JSON.stringify(first.body));
    assert.deepEqual(second.body.result.bound.data, { seat: '12A' });
    assert.deepEqual(await stored(), before);
  });

  test('a handler cannot change its result after returning it', async () => {
    const kept: JsonObject = { list: [1] };
    const { reply } = await once(rig(), 'touch', () => {
      setImmediate(() => Object.assign(kept, { list: [1, 2, 3] }));
      return kept;
    });

    assert.deepEqual(reply.body.result, { list: [1] });
  });

  test('a result is read as JSON reads it', async () => {
    const { reply } = await once(rig(), 'touch', () => ({
      when: new Date(0),
      gone: undefined,
      no: Number.NaN,
    }));

    assert.deepEqual(reply.body.result, { when: '1970-01-01T00:00:00.000Z', no: null });
  });

  const cyclic: JsonObject = {};
  cyclic.self = cyclic;
  const GARBAGE: [name: string, result: unknown][] = [
    ['nothing', undefined],
    ['null', null],
    ['a text', 'done'],
    ['a list', [1]],
    ['a number that calls itself an object', { toJSON: () => 5 }],
    ['an object that is nothing', { toJSON: () => undefined }],
    ['a circle', cyclic],
    ['a bigint', { much: 1n }],
    [
      'a getter that throws',
      Object.defineProperty({}, 'x', { enumerable: true, get: () => assert.fail('a secret') }),
    ],
    ['more than a mebibyte', { text: 'x'.repeat(1_048_577) }],
    ['a function', () => ({})],
    ['an integer that readers round', { id: 2 ** 53 }],
    ['the character no database keeps', { text: 'a\u0000b' }],
    ['half a character', { text: '\ud800' }],
    ['more levels than readers take', nested(33)],
    ['a key that is not a key to every reader', JSON.parse('{"__proto__": 1}')],
  ];
  for (const [name, result] of GARBAGE) {
    test(`a handler that returns ${name} is a defect whose effect is recorded`, async () => {
      const { reply, token } = await once(rig(), 'pay', () => result as JsonObject, BUDGET);

      assert.equal(reply.status, 500);
      assert.equal(reply.body.failure.type, 'internal_error');
      assert.equal('result' in reply.body, false);
      assert.equal((await rig().budgetOf(token)).consumed, 1000n);
      const [entry, ...more] = await rig().entries(reply.body.invocation_id);
      assert.equal(more.length, 0);
      assert.equal(entry?.state, 'failed');
      assert.equal(entry?.entry_id, reply.body.audit.entry_id);
    });
  }

  test('a result with the maximum depth is answered', async () => {
    const { reply } = await once(rig(), 'touch', () => nested(32));

    assert.deepEqual(reply.body.result, nested(32));
  });

  test('progress() rejects events that strict readers refuse', async () => {
    const refused: string[] = [];
    const events = [{ id: 2 ** 53 }, { text: 'a\u0000b' }, { text: '\udfff' }, nested(33)];
    await once(rig(), 'touch', async (_parameters, { progress }) => {
      for (const event of events) {
        await progress(event).catch((error: Error) => refused.push(error.name));
      }
      await progress(nested(32));
      return {};
    });

    assert.deepEqual(
      refused,
      events.map(() => 'RangeError'),
    );
  });

  test('unreadable characters in the failure text of a handler are replaced', async () => {
    const { reply } = await once(rig(), 'touch', () => {
      throw new NoEffect('Cannot find "a\u0000\ud800b"', 'not_found');
    });

    assert.equal(reply.body.failure.detail, 'Cannot find "a\ufffd\ufffdb"');
  });

  const THROWN: [name: string, thrown: unknown][] = [
    ['an error', new Error('secret-canary')],
    ['a text', 'secret-canary'],
    ['nothing', undefined],
    ['an error with a cause', new Error('x', { cause: 'secret-canary' })],
    ['a failure nobody knows', new HandlerFailure('secret-canary', 'secret-canary' as 'not_found')],
    [
      'a failure named like a property',
      new NoEffect('secret-canary', 'constructor' as 'not_found'),
    ],
    [
      'what only looks like a failure',
      { name: 'NoEffect', type: 'not_found', message: 'secret-canary' },
    ],
  ];
  for (const [name, thrown] of THROWN) {
    test(`a handler that throws ${name} discloses nothing to the caller, and the charge stays`, async () => {
      const { reply, token } = await once(
        rig(),
        'pay',
        () => {
          throw thrown;
        },
        BUDGET,
      );

      assert.equal(reply.body.failure.type, 'internal_error');
      assert.equal(reply.text?.includes('secret-canary'), false);
      assert.equal((await rig().budgetOf(token)).consumed, 1000n);
      const [entry, ...more] = await rig().entries(reply.body.invocation_id);
      assert.equal(more.length, 0);
      assert.equal(entry?.state, 'failed');
      assert.equal(JSON.stringify(entry).includes('secret-canary'), false);
    });
  }

  test('a handler can return a typed failure, and cannot change its guidance', async () => {
    const { reply } = await once(rig(), 'touch', () => {
      throw new HandlerFailure('Cannot seat: the plane left', 'binding_stale');
    });

    assert.equal(reply.status, 409);
    assert.deepEqual(reply.body.failure, {
      type: 'binding_stale',
      detail: 'Cannot seat: the plane left',
      retry: true,
      resolution: { action: 'refresh_binding', recovery_class: 'refresh_then_retry' },
    });
  });

  const UNKEEPABLE: [name: string, data: unknown][] = [
    ['a circle', cyclic],
    ['a bigint', { much: 1n }],
    ['the character no database keeps', { text: 'a\u0000b' }],
    ['half a character', { text: '\ud800' }],
    ['nine kibibytes', { text: 'x'.repeat(9_216) }],
  ];
  for (const [name, data] of UNKEEPABLE) {
    test(`a handler that pins ${name} fails at that point, and the call is settled`, async () => {
      const { reply, token } = await once(
        rig(),
        'pay',
        (_parameters, context) => {
          const binding = { type: 'quote', capability: 'book', data: data as JsonObject };
          return { quote: context.issueBinding(binding) };
        },
        BUDGET,
      );

      assert.equal(reply.body.failure.type, 'internal_error');
      const { reserved, consumed } = await rig().budgetOf(token);
      assert.deepEqual([reserved, consumed], [0n, 1000n]);
    });
  }

  test('a handler can pin valid amounts, within the bound of one call', async () => {
    const outcomes: string[] = [];
    const attempt = (what: () => unknown) => {
      try {
        what();
        outcomes.push('ok');
      } catch {
        outcomes.push('refused');
      }
    };
    await once(rig(), 'touch', (_parameters, context) => {
      const price = (amount: number, currency = 'USD') =>
        context.issueBinding({ type: 'quote', capability: 'book', price: { currency, amount } });
      for (const amount of [1.234, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60]) {
        attempt(() => price(amount));
        attempt(() => context.cost({ currency: 'USD', amount }));
      }
      attempt(() => price(1, 'XYZ'));
      attempt(() => price(1.5, 'JPY'));
      for (let i = 0; i < 1_000; i++) price(1);
      attempt(() => price(1));
      throw new NoEffect('enough');
    });

    assert.deepEqual(new Set(outcomes), new Set(['refused']));
  });

  test('bindings of a call that reported no effect are not issued', async () => {
    let quote = '';
    const { token } = await once(rig(), 'touch', (_parameters, context) => {
      quote = context.issueBinding({ type: 'quote', capability: 'book' });
      throw new NoEffect('Cannot quote');
    });

    const { body } = await rig().invoke(token.token, 'book', { quote });

    assert.equal(body.failure.type, 'binding_invalid');
  });

  test('a handle is unguessable and unique', async () => {
    const { token } = await rig().token();
    const handles = new Set<string>();
    for (let i = 0; i < 5; i++) {
      handles.add((await rig().invoke(token, 'quote', {})).body.result.quote);
    }

    assert.equal(handles.size, 5);
    for (const handle of handles) assert.match(handle, /^bnd_[0-9a-f]{32,}$/);
  });
});
