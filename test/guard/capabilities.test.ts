/**
 * Guarded tools as capabilities: what is declared, what reaches the upstream, what it costs and who approves.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { guardService } from '../../src/guard/definition.ts';
import { NO_PINS, pinned } from '../../src/guard/pins.ts';
import type { JsonObject } from '../../src/protocol/primitives.ts';
import { HandlerFailure } from '../../src/service/author/handler.ts';
import { expectAnswer } from '../../src/testing/expect.ts';
import { testService } from '../../src/testing/test-service.ts';
import { BY, budget, failureOf, GOOD, guardOf, opened, PAY } from './rig.ts';

test('guardService() declares a capability from the reviewed tool', () => {
  const { options } = guardOf(`  pay:
    effect: irreversible
    approval: { when: always, passkey: true, people: 2 }
    limit: 10 per minute
    log: [to]`);
  const { service } = guardService(options);
  const pay = service.catalog.capabilities.get('pay');

  assert.equal(service.id, 'shop');
  assert.equal(pay?.description, 'Pay\\u{202e} someone\nat once');
  assert.deepEqual(pay.side_effect, { type: 'irreversible' });
  assert.deepEqual(pay.minimum_scope, ['shop.irreversible']);
  assert.deepEqual(pay.rate_limit, { limit: 10, window: '1m' });
  assert.deepEqual(pay.observability, { fields_logged: ['to'] });
  assert.deepEqual(
    [pay.approval?.when, pay.approval?.approvals_required, pay.approval?.require],
    ['always', 2, 'passkey'],
  );
  assert.deepEqual(pay.inputs, [
    { name: 'amount', type: 'number', required: true },
    { name: 'to', type: 'string', required: true },
    {
      name: 'note',
      type: 'string',
      required: false,
      default: 'none',
      description: 'A\\u{200b}note',
    },
    { name: 'when', type: 'string', required: false },
  ]);
  assert.equal(pay.input_schema?.$schema, undefined);
  assert.deepEqual(pay.input_schema?.$defs, {
    account: { type: 'string', minLength: 2, pattern: '(a+)+$' },
  });
});

test('a call reaches the upstream with exactly the checked parameters', async () => {
  const { shop, calls } = await opened('  pay: { effect: write }');
  const agent = await shop.caller('a');

  const { invocation_id, result } = expectAnswer(await agent.invoke('pay', GOOD));

  assert.deepEqual(result, { done: true });
  assert.equal(calls.length, 1);
  const [call] = calls;
  assert.deepEqual(call?.parameters, { ...GOOD, note: 'none' });
  assert.deepEqual([call?.tool, call?.isRead, call?.invocationId], [PAY, false, invocation_id]);
  assert.ok(call?.signal instanceof AbortSignal);
  await shop.close();
});

test('a call with other parameters than the schema admits does not reach the upstream', async () => {
  const { shop, calls } = await opened('  pay: { effect: write }');
  const agent = await shop.caller('a');
  const refused: [parameters: JsonObject, detail: RegExp][] = [
    [{ amount: -1, to: 'bob' }, /"amount": expected at least 0/],
    [{ amount: 1, to: 'b' }, /"to": expected a length of at least 2/],
    [{ amount: 1 }, /without "to"/],
    [{ ...GOOD, other: 1 }, /no input "other"/],
    [{ ...GOOD, 'x-trace[id]': 'a' }, /no input "x-trace\[id\]"/],
  ];

  for (const [parameters, detail] of refused) {
    const reply = await agent.invoke('pay', parameters);
    assert.equal(failureOf(reply).type, 'invalid_parameters');
    assert.match(failureOf(reply).detail, detail);
  }
  assert.equal(calls.length, 0);
  await shop.close();
});

test('a tool gets null for a property that must be there and was left out', async () => {
  const { shop, calls } = await opened('  look: { tool: look up, effect: read }', () => ({
    found: true,
  }));

  expectAnswer(await (await shop.caller('a')).invoke('look'));

  assert.deepEqual(calls[0]?.parameters, { at: null });
  assert.equal(calls[0]?.isRead, true);
  await shop.close();
});

test('an answer that differs from the reviewed schema is not passed on', async () => {
  const { shop, service } = await opened(
    '  look: { tool: look up, effect: read, log: [found] }',
    () => ({
      found: 'canary',
    }),
  );

  const reply = await (await shop.caller('a')).invoke('look');

  assert.equal(failureOf(reply).type, 'upstream_failed');
  assert.match(failureOf(reply).detail, /"look up": it is not as its schema says: found: /);
  assert.doesNotMatch(JSON.stringify(reply), /canary/);
  assert.equal(
    service.catalog.capabilities.get('look')?.description,
    'Tool "look up" of the upstream',
  );
  await shop.close();
});

test('a fixed cost ends the budget', async () => {
  const { shop, calls } = await opened('  pay: { effect: write, cost: 10 USD }');
  const agent = await shop.caller('a', { budget });

  for (let i = 0; i < 2; i++) expectAnswer(await agent.invoke('pay', GOOD));
  const third = await agent.invoke('pay', GOOD);

  assert.equal(failureOf(third).type, 'budget_exceeded');
  assert.equal(calls.length, 2);
  await shop.expectSpent(agent, 20);
  await shop.close();
});

test('a cost from the request is charged as it was sent', async () => {
  const { shop, calls } = await opened(
    '  pay: { effect: write, cost: { field: amount, currency: USD, most: 20 } }',
  );
  const agent = await shop.caller('a', { budget });

  expectAnswer(await agent.invoke('pay', { ...GOOD, amount: 12.5 }));
  await shop.expectSpent(agent, 12.5);
  for (const amount of [20.01, 0.001]) {
    const reply = await agent.invoke('pay', { ...GOOD, amount });
    assert.equal(failureOf(reply).type, 'invalid_parameters');
    assert.match(failureOf(reply).detail, /"amount": expected an amount of USD from 0 to 20/);
  }
  assert.equal(
    failureOf(await agent.invoke('pay', { ...GOOD, amount: 20 })).type,
    'budget_exceeded',
  );

  assert.equal(calls.length, 1);
  await shop.expectSpent(agent, 12.5);
  await shop.close();
});

test('a cost from the request that is missing is refused', async () => {
  const tool = {
    ...PAY,
    inputSchema: { type: 'object', properties: { amount: { type: 'number' } } },
  };
  const { options, calls } = guardOf(
    '  pay: { effect: write, cost: { field: amount, currency: USD, most: 20 } }',
  );
  const pins = pinned(NO_PINS, [tool], BY);
  const shop = await testService(guardService({ ...options, pins, live: [tool] }).service);

  const reply = await (await shop.caller('a')).invoke('pay');

  assert.equal(failureOf(reply).type, 'invalid_parameters');
  assert.equal(calls.length, 0);
  await shop.close();
});

type CostRow = [name: string, answer: JsonObject, spent: number];

const COSTS: CostRow[] = [
  ['what the answer says', { usage: { cost: 2.5 } }, 2.5],
  ['an amount that is a text', { usage: { cost: '2.5' } }, 2.5],
  ['a part of a cent as a cent', { usage: { cost: 0.001 } }, 0.01],
  ['a tiny part of a cent as a cent', { usage: { cost: 0.000000001 } }, 0.01],
  ['an imprecise sum as what it means', { usage: { cost: 0.1 + 0.2 } }, 0.3],
  ['nothing', { usage: { cost: 0 } }, 0],
  ['nothing for minus zero', { usage: { cost: -0 } }, 0],
  ['the largest amount without an amount', { usage: {} }, 5],
  ['the largest amount for a negative one', { usage: { cost: -1 } }, 5],
  ['the largest amount for words', { usage: { cost: '1e9' } }, 5],
  ['the largest amount for more than that', { usage: { cost: 7 } }, 5],
];

for (const [name, answer, spent] of COSTS) {
  test(`a cost from the answer charges ${name}`, async () => {
    const { shop } = await opened(
      '  pay: { effect: write, cost: { answer: usage.cost, currency: USD, most: 5 } }',
      () => answer,
    );
    const agent = await shop.caller('a', { budget });

    expectAnswer(await agent.invoke('pay', GOOD));

    await shop.expectSpent(agent, spent);
    await shop.close();
  });
}

test('a cost from the answer above the largest amount becomes debt', async () => {
  const { shop } = await opened(
    '  pay: { effect: write, cost: { answer: cost, currency: USD, most: 5 } }',
    () => ({ cost: 7 }),
  );
  const agent = await shop.caller('a', { budget });

  expectAnswer(await agent.invoke('pay', GOOD));

  const entry = await shop.expectEntry({ capability: 'pay' });
  assert.deepEqual(entry.cost_actual, { currency: 'USD', amount: 5 });
  assert.deepEqual(entry.detail, { cost_reported: { currency: 'USD', amount: 7 } });
  await shop.close();
});

test('a failed call is charged with what was reserved', async () => {
  const { shop } = await opened(
    '  pay: { effect: write, cost: { answer: cost, currency: USD, most: 5 } }',
    () => {
      throw new HandlerFailure('Cannot tell', 'upstream_failed' as 'not_found');
    },
  );
  const agent = await shop.caller('a', { budget });

  const { type, retry } = failureOf(await agent.invoke('pay', GOOD));

  assert.deepEqual([type, retry], ['upstream_failed', false]);
  await shop.expectSpent(agent, 5);
  await shop.close();
});

test('a read that has a price stays charged when its answer cannot be used, and is sent once', async () => {
  const cost = 'cost: { answer: usage.cost, currency: USD, most: 5 }';
  const { shop, calls } = await opened(`  look: { tool: look up, effect: read, ${cost} }`, () => ({
    usage: { cost: 5 },
  }));
  const agent = await shop.caller('a', { budget });

  const { type } = failureOf(await agent.invoke('look', {}));

  assert.equal(type, 'upstream_failed');
  assert.deepEqual(
    calls.map(({ isRead }) => isRead),
    [false],
  );
  await shop.expectSpent(agent, 5);
  await shop.close();
});

test('an approver sees the tool and all parameters before the call runs', async () => {
  const { shop, calls } = await opened('  pay: { effect: write, approval: always }');
  const agent = await shop.caller('a');

  const asked = await agent.invoke('pay', GOOD);
  assert.equal(failureOf(asked).type, 'approval_required');
  assert.equal(calls.length, 0);
  const id = failureOf(asked).approval_request_id as string;
  const bob = shop.human('bob');
  const shown = expectAnswer(
    await bob.client.ask('approval_requests.get', { approval_request_id: id }),
  );
  assert.deepEqual(shown.preview, { tool: 'pay', parameters: { ...GOOD, note: 'none' } });
  expectAnswer(await bob.approve(asked));
  expectAnswer(await agent.invoke('pay', GOOD, { continue_approved: true }));

  assert.equal(calls.length, 1);
  await shop.close();
});

test('parameters that an approver could not be shown are refused', async () => {
  const { shop, calls } = await opened('  pay: { effect: write, approval: always }');

  const reply = await (await shop.caller('a')).invoke('pay', { ...GOOD, note: 'x'.repeat(33_000) });

  assert.equal(failureOf(reply).type, 'invalid_parameters');
  assert.match(failureOf(reply).detail, /an approver must see all parameters/);
  assert.equal(calls.length, 0);
  await shop.close();
});

test('an approval above an amount looks at the field or the cost', async () => {
  for (const rule of [
    'approval: { above: 10, field: amount }',
    'approval: above 10 USD, cost: { field: amount, currency: USD, most: 50 }',
  ]) {
    const { shop } = await opened(`  pay: { effect: write, ${rule} }`);
    const agent = await shop.caller('a');

    assert.ok((await agent.invoke('pay', GOOD)).ok);
    const above = await agent.invoke('pay', { ...GOOD, amount: 10.01 });
    assert.equal(failureOf(above).type, 'approval_required');
    await shop.close();
  }
});
