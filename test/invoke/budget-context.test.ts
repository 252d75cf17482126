/**
 * A caller whose token has a budget is told of it, whatever becomes of the call.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { BudgetContext } from '../../src/protocol/invocation.ts';
import type { Reply } from '../support/world.ts';
import { startRig } from './rig.ts';

const rig = await startRig();

const BUDGET = { currency: 'USD', max_amount: 20 };

/** Calls with a budget of 20 USD: what is compared with it, and the failure, if there is one. */
const CALLS: readonly [
  what: string,
  capability: string,
  amount: number,
  failure: string | undefined,
  call?: { parameters?: object; token?: object; fields?: object },
][] = [
  ['a call without a cost', 'touch', 0, undefined],
  ['a read without a cost', 'look', 0, undefined],
  ['a call with a cost', 'pay', 10, undefined],
  ['a call in another currency', 'pay_yen', 0, 'budget_currency_mismatch'],
  ['a call whose cost nothing pins', 'guess', 0, 'budget_not_enforceable'],
  ['a call that costs too much', 'pay', 10, 'budget_exceeded', { token: dollars(9) }],
  ['a call without its binding', 'book', 0, 'binding_missing'],
  ['an unknown capability', 'nothing_like_it', 0, 'unknown_capability'],
  ['a request that cannot be read', 'touch', 0, 'invalid_parameters', { fields: { task_id: 7 } }],
  ['an unknown input', 'touch', 0, 'invalid_parameters', { parameters: { nope: 1 } }],
  ['a scope that is lacking', 'secret', 0, 'scope_insufficient'],
  ['a class that is not admitted', 'human_only', 0, 'principal_class_not_admitted'],
  ['a call that needs approval', 'signed_off', 0, 'approval_required'],
  ['a handler that does not end', 'pay_slowly', 10, 'outcome_unknown'],
];

function dollars(max_amount: number) {
  return { budget: { currency: 'USD', max_amount } };
}

for (const [what, capability, amount, failure, call = {}] of CALLS) {
  test(`invoke() reports the budget after ${what}`, async () => {
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    rig.world.script('pay_slowly', () => ended.then(() => ({})));
    const { token } = await rig.token({ budget: BUDGET, ...call.token });
    const { body } = await rig.invoke(token, capability, call.parameters, {
      ...(call.fields && { fields: call.fields }),
    });
    end();

    assert.equal(body.failure?.type, failure, JSON.stringify(body));
    assertTold(body, amount, call.token ? 9 : 20);
  });

  test(`test() reports the budget before ${what}`, async () => {
    const { token } = await rig.token({ budget: BUDGET, ...call.token });
    const asked = { parameters: call.parameters ?? {}, ...call.fields };
    const { body } = await rig.ask('POST', `/svc/test/${capability}`, {
      bearer: token,
      body: asked,
    });

    assertTold(body, amount, call.token ? 9 : 20);
  });
}

test('invoke() reports the budget of an expired token', async () => {
  const { token } = await rig.token({ budget: BUDGET, ttl_hours: 1 });
  rig.advance(3_600_000);
  const { body } = await rig.invoke(token, 'touch');

  assert.equal(body.failure.type, 'token_expired');
  assertTold(body, 0, 20);
});

test('invoke() reports no budget to an unknown caller or for a token without one', async () => {
  const { token } = await rig.token();
  const replies = [await rig.invoke(token, 'pay'), await rig.invoke('a.b.c', 'pay')];

  for (const { body } of replies) assert.equal('budget_context' in body, false);
});

test('invoke() reports the remaining budget also when the call charged nothing', async () => {
  const { token } = await rig.token({ budget: BUDGET });
  await rig.invoke(token, 'pay');
  const { body } = await rig.invoke(token, 'touch');

  assert.deepEqual(body.budget_context, {
    budget_max: 20,
    budget_currency: 'USD',
    cost_check_amount: 0,
    cost_certainty: 'fixed',
    budget_spent: 10,
    budget_reserved: 0,
    budget_remaining: 10,
  });
});

function assertTold(body: Reply['body'], amount: number, max: number): void {
  const context = BudgetContext.parse(body.budget_context);
  assert.equal(context.budget_max, max);
  assert.equal(context.budget_currency, 'USD');
  assert.equal(context.cost_check_amount, amount);
}
