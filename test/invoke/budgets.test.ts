/**
 * Budgets: which amount is checked, that it counts on the whole lineage, and what a call settles to.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { HandlerFailure, NoEffect } from '../../src/service/author/handler.ts';
import { BOB } from './principals.ts';
import { assertRefused, onEachStore, type Rig } from './rig.ts';

const usd = (max_amount: number) => ({ budget: { currency: 'USD', max_amount } });

async function quoteFor(rig: Rig, token: IssueAnswer, parameters: object): Promise<string> {
  const { body } = await rig.invoke(token.token, 'quote', parameters);
  return body.result.quote;
}

onEachStore((rig) => {
  // Spec, "Budget enforcement": its rows, and both sides of each edge, to the minor unit.
  const ROWS: [name: string, capability: string, budget: object, expected: string | undefined][] = [
    ['a fixed cost equal to the ceiling', 'pay', usd(10), undefined],
    ['a fixed cost a cent above the ceiling', 'pay', usd(9.99), 'budget_exceeded'],
    ['a fixed cost under no budget at all', 'pay', {}, undefined],
    ['a budget of nothing', 'pay', usd(0), 'budget_exceeded'],
    ['a dynamic cost whose bound is the ceiling', 'pay_dynamic', usd(20), undefined],
    ['a dynamic cost whose bound is a cent above', 'pay_dynamic', usd(19.99), 'budget_exceeded'],
    ['an estimated cost without a binding', 'guess', usd(1_000_000), 'budget_not_enforceable'],
    ['an estimated cost under no budget', 'guess', {}, undefined],
    ['a cost in another currency', 'pay_yen', usd(1_000_000), 'budget_currency_mismatch'],
    ['a free capability under a budget', 'touch', usd(0), undefined],
    [
      'a currency without decimals, at its ceiling',
      'pay_yen',
      { budget: { currency: 'JPY', max_amount: 1000 } },
      undefined,
    ],
    [
      'a currency without decimals, a unit above',
      'pay_yen',
      { budget: { currency: 'JPY', max_amount: 999 } },
      'budget_exceeded',
    ],
  ];
  for (const [name, capability, request, expected] of ROWS) {
    test(`invoke() ${expected ? 'refuses' : 'admits'} ${name}`, async () => {
      const token = await rig().token(request);
      const call = () => rig().invoke(token.token, capability);

      if (expected) await assertRefused(rig(), expected, call);
      else assert.equal((await call()).status, 200);
    });
  }

  test('invoke() checks the price that the binding pins, to the cent', async () => {
    const source = await rig().token();
    const at = { quote: await quoteFor(rig(), source, { price: 12.34 }) };
    const rich = await rig().token(usd(12.34));
    const poor = await rig().token(usd(12.33));

    await assertRefused(rig(), 'budget_exceeded', () => rig().invoke(poor.token, 'book', at));
    const { status, body } = await rig().invoke(rich.token, 'book', at);

    assert.equal(status, 200);
    assert.deepEqual(body.cost_actual, { currency: 'USD', amount: 12.34 });
    assert.equal(body.budget_context.cost_check_amount, 12.34);
    assert.equal(body.budget_context.cost_certainty, 'estimated');
    const price = { currency: 'USD', amount: 12.34 };
    assert.deepEqual(body.result.bound, { data: { seat: '12A' }, price });
  });

  test('invoke() ignores a price or an age in the parameters', async () => {
    const token = await rig().token(usd(50));
    const quote = await quoteFor(rig(), token, { price: 50.01 });

    await assertRefused(rig(), 'budget_exceeded', () =>
      rig().invoke(token.token, 'book', { quote, price: 0.01 }),
    );
    const forged: object[] = [
      { quote: { binding_id: quote, price: { currency: 'USD', amount: 1 } } },
      { quote: [quote] },
      { quote: `${quote} ` },
      { quote: quote.toUpperCase() },
    ];
    for (const parameters of forged) {
      await assertRefused(rig(), 'binding_invalid', () =>
        rig().invoke(token.token, 'book', parameters),
      );
    }
    for (const parameters of [
      { quote, issued_at: 'now' },
      { quote, quote_price: 1 },
    ]) {
      await assertRefused(rig(), 'budget_exceeded', () =>
        rig().invoke(token.token, 'book', parameters),
      );
    }
    assert.equal((await rig().budgetOf(token)).consumed, 0n);
  });

  test('invoke() answers foreign, misdirected, mistyped and invented bindings with the same body', async () => {
    const token = await rig().token();
    const bob = await rig().token({}, BOB);
    const handles = [
      await quoteFor(rig(), bob, { price: 5 }),
      await quoteFor(rig(), token, { price: 5, capability: 'confirm' }),
      await quoteFor(rig(), token, { price: 5, type: 'hold' }),
      `bnd_${'0'.repeat(32)}`,
      '',
      '__proto__',
      "' OR 1=1 --",
    ];

    const failures = [];
    for (const quote of handles) {
      const { body } = await assertRefused(rig(), 'binding_invalid', () =>
        rig().invoke(token.token, 'book', { quote }),
      );
      failures.push(JSON.stringify(body.failure));
    }
    assert.equal(new Set(failures).size, 1);
    const { body } = await assertRefused(rig(), 'binding_missing', () =>
      rig().invoke(token.token, 'book', { quote: null }),
    );
    assert.deepEqual(body.failure.resolution.requires, ['quote', 'quote']);
  });

  test('invoke() shares a binding within its root principal', async () => {
    const quote = await quoteFor(rig(), await rig().token({ subject: 'agent:x' }), { price: 5 });
    const other = await rig().child(await rig().token({ subject: 'agent:y' }));

    assert.equal((await rig().invoke(other.token, 'book', { quote })).status, 200);
  });

  test('invoke() refuses a binding without a price or with one in another currency', async () => {
    const token = await rig().token(usd(100));
    const unpriced = await quoteFor(rig(), token, {});
    const foreign = await quoteFor(rig(), token, { price: 1, currency: 'EUR' });

    for (const quote of [unpriced, foreign]) {
      await assertRefused(rig(), 'budget_not_enforceable', () =>
        rig().invoke(token.token, 'book', { quote }),
      );
    }
    const free = await rig().token();
    assert.equal((await rig().invoke(free.token, 'book', { quote: unpriced })).status, 200);
  });

  test('invoke() accepts a binding up to its max_age and not longer', async () => {
    const token = await rig().token({ ttl_hours: 5 });
    const confirm = (quote: string) => rig().invoke(token.token, 'confirm', { quote });
    rig().holdClock(true);

    const quote = await quoteFor(rig(), token, { capability: 'confirm' });
    rig().advance(60_000);
    const atTheEdge = await confirm(quote);
    rig().advance(1);
    const justAfter = await confirm(quote);
    rig().advance(-60_001);
    rig().holdClock(false);

    assert.equal(atTheEdge.status, 200);
    assert.equal(justAfter.body.failure.type, 'binding_stale');
    assert.deepEqual(justAfter.body.failure.resolution.requires, ['quote', 'quote']);
  });

  test('invoke() counts every spend on the token and each ancestor', async () => {
    const root = await rig().token(usd(35));
    const left = await rig().child(root, usd(20));
    const right = await rig().child(root);
    const below = await rig().child(left, { ...usd(15), subject: 'agent:c' });
    const pay = (token: IssueAnswer) => rig().invoke(token.token, 'pay');

    const first = await pay(below);
    assert.equal(first.body.budget_context.budget_max, 15);
    assert.equal(first.body.budget_context.budget_spent, 10);
    assert.equal(first.body.budget_context.budget_remaining, 5);
    await assertRefused(rig(), 'budget_exceeded', () => pay(below));
    assert.equal((await pay(left)).status, 200);
    await assertRefused(rig(), 'budget_exceeded', () => pay(left));

    // The right child has 35 of its own, but only what the root has left.
    const third = await pay(right);
    assert.equal(third.body.budget_context.budget_max, 35);
    assert.equal(third.body.budget_context.budget_spent, 10);
    assert.equal(third.body.budget_context.budget_remaining, 5);
    const { body } = await assertRefused(rig(), 'budget_exceeded', () => pay(right));
    assert.match(body.failure.detail, /budget is 35\.00, 30\.00 .* 5\.00 remains/);
    assert.equal(body.failure.resolution.grantable_by, 'human:alice');
    for (const [token, consumed] of [
      [root, 3000n],
      [left, 2000n],
      [right, 1000n],
      [below, 1000n],
    ] as const) {
      assert.deepEqual(
        { ...(await rig().budgetOf(token)), max: 0n },
        { max: 0n, reserved: 0n, consumed },
      );
    }
  });

  test('invoke() lets a child introduce a budget that its ancestors do not have', async () => {
    const root = await rig().token();
    const child = await rig().child(root, usd(10));

    assert.equal((await rig().invoke(child.token, 'pay')).status, 200);
    await assertRefused(rig(), 'budget_exceeded', () => rig().invoke(child.token, 'pay'));
    assert.equal((await rig().invoke(root.token, 'pay')).status, 200);
  });

  // What the handler says it cost, against the 20 that were reserved.
  const REPORTS: [name: string, cost: object | undefined, actual: number, alarms: number][] = [
    ['less than reserved', { currency: 'USD', amount: 7.5 }, 7.5, 0],
    ['nothing', { currency: 'USD', amount: 0 }, 0, 0],
    ['exactly the reservation', { currency: 'USD', amount: 20 }, 20, 0],
    ['a cent more than reserved', { currency: 'USD', amount: 20.01 }, 20, 1],
    ['another currency', { currency: 'EUR', amount: 1 }, 20, 1],
    ['no cost at all', undefined, 20, 0],
  ];
  for (const [name, cost, actual, alarms] of REPORTS) {
    test(`invoke() charges ${actual} when the handler reports ${name}`, async () => {
      const token = await rig().token(usd(50));
      rig().world.script('pay_dynamic', (_parameters, context) => {
        if (cost) context.cost(cost as { currency: string; amount: number });
        return {};
      });
      const logged = rig().log.length;

      const { status, body } = await rig().invoke(token.token, 'pay_dynamic');
      rig().world.script('pay_dynamic');

      assert.equal(status, 200);
      assert.deepEqual(body.cost_actual, { currency: 'USD', amount: actual });
      assert.equal(body.budget_context.cost_check_amount, 20);
      assert.equal(body.budget_context.budget_spent, actual);
      assert.equal(body.budget_context.budget_remaining, 50 - actual);
      assert.equal((await rig().budgetOf(token)).consumed, BigInt(actual * 100));
      const [entry] = await rig().entries(body.invocation_id);
      assert.deepEqual(entry?.cost_actual, body.cost_actual);
      const alarmed = rig()
        .log.slice(logged)
        .filter((line) => line.includes('cost_above_reservation'));
      assert.equal(alarmed.length, alarms);
      for (const line of alarmed) assert.match(line, new RegExp(body.invocation_id));
    });
  }

  test('invoke() reports the cost of a call for which nothing was reserved', async () => {
    const token = await rig().token();
    rig().world.script('guess', (_parameters, context) => {
      context.cost({ currency: 'USD', amount: 42 });
      return {};
    });

    const { status, body } = await rig().invoke(token.token, 'guess');
    rig().world.script('guess');

    assert.equal(status, 200);
    assert.deepEqual(body.cost_actual, { currency: 'USD', amount: 42 });
    assert.deepEqual((await rig().indeterminate()).length, 0);
  });

  test('invoke() raises an alarm when a free capability reports a cost', async () => {
    const token = await rig().token(usd(50));
    rig().world.script('touch', (_parameters, context) => {
      context.cost({ currency: 'USD', amount: 42 });
      return {};
    });

    const { status, body } = await rig().invoke(token.token, 'touch');
    rig().world.script('touch');

    assert.equal(status, 200);
    assert.equal('cost_actual' in body, false);
    assert.ok(rig().log.some((line) => line.includes(body.invocation_id)));
  });

  // What becomes of the 10 that were reserved, by the way the handler ended.
  const ENDINGS: [name: string, error: () => Error, type: string, kept: number][] = [
    ['threw', () => new Error('a secret'), 'internal_error', 1000],
    [
      'failed after it may have acted',
      () => new HandlerFailure('gone', 'not_found'),
      'not_found',
      1000,
    ],
    [
      'declared no effect',
      () => new NoEffect('sold out', 'clarification_required'),
      'clarification_required',
      0,
    ],
  ];
  for (const [name, error, type, kept] of ENDINGS) {
    test(`invoke() keeps ${kept} charged when the handler ${name}`, async () => {
      const token = await rig().token(usd(10));
      rig().world.script('pay', () => {
        throw error();
      });

      const { body } = await rig().invoke(token.token, 'pay');
      rig().world.script('pay');

      assert.equal(body.failure.type, type);
      assert.equal('cost_actual' in body, false);
      assert.equal(body.budget_context.budget_spent, kept / 100);
      assert.equal(body.budget_context.budget_remaining, 10 - kept / 100);
      const { reserved, consumed } = await rig().budgetOf(token);
      assert.deepEqual([reserved, consumed], [0n, BigInt(kept)]);
      const [entry, ...more] = await rig().entries(body.invocation_id);
      assert.equal(more.length, 0);
      assert.equal(entry?.state, 'failed');
      assert.equal(entry?.failure_type, type);
      assert.equal(entry?.cost_actual?.amount ?? 0, kept / 100);
    });
  }

  test('invoke() charges what a failing handler reported', async () => {
    const token = await rig().token(usd(20));
    rig().world.script('pay_dynamic', (_parameters, context) => {
      context.cost({ currency: 'USD', amount: 3 });
      throw new HandlerFailure('Cannot finish: the rest is gone', 'not_found');
    });

    const { body } = await rig().invoke(token.token, 'pay_dynamic');
    rig().world.script('pay_dynamic');

    assert.equal(body.failure.detail, 'Cannot finish: the rest is gone');
    assert.equal((await rig().budgetOf(token)).consumed, 300n);
  });
});
