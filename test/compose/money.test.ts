/**
 * What a whole costs is what its steps took, never more than was reserved for it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { NoEffect } from '../../src/service/author/handler.ts';
import { whole } from './catalog.ts';
import { onEachStore } from './desk.ts';

const dynamic = (upper_bound: number) =>
  ({ certainty: 'dynamic', financial: { currency: 'USD', upper_bound } }) as const;
const cents = (amount: number) => ({ currency: 'USD', amount });

const quoted = (name: string, cost: ReturnType<typeof dynamic>) =>
  whole(name, ['quote', 'book', 'act'], {
    cost,
    inputs: [{ name: 'price', type: 'number' }] as never,
    composition: {
      input_mapping: {
        quote: { price: '$.input.price' },
        book: { quote: '$.steps.quote.output.quote' },
      },
      output_mapping: { id: '$.steps.book.output.id' },
    },
  });

const wholes = [
  whole('spending', ['hold_one', 'spend', 'spend_more'], { cost: dynamic(45) }),
  whole('guessing', ['hold_one', 'guess'], { cost: dynamic(45) }),
  whole('free', ['look', 'act'], { cost: undefined as never }),
  whole('asking', ['look_paid', 'hold_one'], { cost: dynamic(45) }),
  quoted('quoting', dynamic(45)),
];

onEachStore(wholes, (desk) => {
  test('a composed call costs what its steps report, and releases the rest', async () => {
    const { world, token, invoke, spent } = desk();
    const held = await token();
    world.script('spend', (_parameters, context) => {
      context.cost(cents(7.5));
      return { id: 'a' };
    });
    world.script('spend_more', (_parameters, context) => {
      context.cost(cents(0));
      return { id: 'b' };
    });

    const { body } = await invoke(held.token, 'spending', { item: 'x' });

    assert.deepEqual(body.cost_actual, cents(17.5));
    assert.equal(body.budget_context.budget_remaining, 82.5);
    assert.deepEqual(await spent(held), [0n, 17_50n]);
  });

  test('a composed call stops before a step that would draw more than is left', async () => {
    const { world, token, invoke, spent, children } = desk();
    const held = await token();

    const { body } = await invoke(held.token, 'spending', { item: 'x' });

    // 10 and 20 are taken; of 45 only 15 is left for a step that may take 20.
    assert.equal(body.failure.type, 'composition_child_failed');
    assert.match(body.failure.detail, /"spend_more" for 20\.00 USD: 15\.00 is left/);
    assert.equal(world.calls('spend_more').length, 0);
    assert.equal(world.calls('undo_one').length, 1);
    assert.deepEqual(await spent(held), [0n, 30_00n]);
    const refused = (await children(body.invocation_id)).find(({ state }) => state === 'refused');
    assert.equal(refused?.failure_type, 'budget_exceeded');
  });

  test('a step that reports more than was left is charged only that, and the excess is reported', async () => {
    const { world, token, invoke, spent, log } = desk();
    const held = await token();
    world.script('spend', (_parameters, context) => {
      context.cost(cents(1_000));
      return { id: 'a' };
    });
    world.script('spend_more', () => {
      throw new NoEffect('Cannot spend');
    });

    await invoke(held.token, 'spending', { item: 'x' });

    assert.deepEqual(await spent(held), [0n, 30_00n]);
    assert.ok(log.some((line) => line.includes('cost_above_reservation')));
  });

  test('a step is charged the price that an earlier step pinned', async () => {
    const { world, token, invoke, spent } = desk();
    const held = await token();

    const { status, body } = await invoke(held.token, 'quoting', { price: 44.99 });

    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(body.cost_actual, cents(44.99));
    assert.deepEqual(await spent(held), [0n, 44_99n]);
    assert.deepEqual(world.calls('book')[0]?.context.bindings.quote?.data, { seat: '12A' });
    const dear = await invoke(held.token, 'quoting', { price: 45.01 });
    assert.match(dear.body.failure.detail, /45\.01 USD/);
    assert.equal(world.calls('book').length, 1);
  });

  test('a step without a pinned price is refused on a budget, and runs without one', async () => {
    const { world, token, invoke } = desk();
    world.script('guess', (_parameters, context) => {
      context.cost(cents(12));
      return { id: 'g' };
    });

    const refused = await invoke((await token()).token, 'guessing', { item: 'x' });
    assert.match(refused.body.failure.detail, /no binding fixes its estimated cost/);
    assert.equal(world.calls('guess').length, 0);

    const free = await invoke((await token({ budget: null })).token, 'guessing', { item: 'x' });
    assert.deepEqual(free.body.cost_actual, cents(22));
  });

  test('a composed call without a price reports and charges no cost', async () => {
    const { token, invoke, spent } = desk();
    const held = await token();

    const { body } = await invoke(held.token, 'free', { item: 'x' });

    assert.equal('cost_actual' in body, false);
    assert.deepEqual(await spent(held), [0n, 0n]);
  });

  test('the cost of a paid read is charged although the next step did nothing', async () => {
    const { world, token, invoke, spent } = desk();
    const held = await token();
    world.script('hold_one', () => {
      throw new NoEffect('Cannot hold: sold out');
    });

    await invoke(held.token, 'asking', { item: 'x' });

    assert.deepEqual(await spent(held), [0n, 1_00n]);
  });

  test('the composed call never costs more than was reserved, for any reports of its steps', async () => {
    const { world, token, invoke, spent } = desk();
    const amount = fc.integer({ min: 0, max: 60_00 }).map((minor) => minor / 100);
    await fc.assert(
      fc.asyncProperty(amount, amount, async (first, second) => {
        const held = await token({ budget: { currency: 'USD', max_amount: 45 } });
        world.script('spend', (_parameters, context) => {
          context.cost(cents(first));
          return { id: 'a' };
        });
        world.script('spend_more', (_parameters, context) => {
          context.cost(cents(second));
          return { id: 'b' };
        });

        const { body } = await invoke(held.token, 'spending', { item: 'x' });

        const [reserved, consumed] = await spent(held);
        assert.equal(reserved, 0n);
        assert.ok(consumed <= 45_00n);
        if (body.success) {
          const told = BigInt(Math.round(body.cost_actual.amount * 100));
          assert.equal(told, consumed);
        }
      }),
      { numRuns: 15 },
    );
  });
});
