/**
 * Races over the whole surface: no interleaving of callers spends more than was delegated.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { EXCLUSIVE } from '../support/fixtures.ts';
import type { Reply } from '../support/world.ts';
import { onEachStore, type Rig } from './rig.ts';

const CALLERS = 200;
const BUDGET = { budget: { currency: 'USD', max_amount: 100 } };

const SPENT = { max: 10_000n, reserved: 0n, consumed: 10_000n };

/** Sends all calls at once and checks that exactly ten of them were served, each with its entry. */
async function race(rig: Rig, tokens: readonly IssueAnswer[]): Promise<Reply[]> {
  const ran = rig.world.ran('pay');
  const entries = await rig.entryCount();
  const calls = Array.from({ length: CALLERS }, (_, index) => {
    const token = tokens[index % tokens.length] as IssueAnswer;
    return rig.invoke(token.token, 'pay');
  });

  const replies = await Promise.all(calls);

  const won = replies.filter(({ status }) => status === 200);
  const lost = replies.filter(({ status }) => status !== 200);
  assert.equal(won.length, 10);
  assert.deepEqual(
    new Set(lost.map(({ body }) => body.failure.type)),
    new Set(['budget_exceeded']),
  );
  assert.equal(
    won.reduce((sum, { body }) => sum + body.cost_actual.amount, 0),
    100,
  );
  assert.equal(rig.world.ran('pay'), ran + 10);
  assert.equal(await rig.entryCount(), entries + CALLERS);
  for (const { body } of replies) {
    const { budget_max, budget_spent, budget_reserved, budget_remaining } = body.budget_context;
    assert.ok(budget_spent + budget_reserved <= budget_max);
    assert.ok(budget_remaining >= 0 && budget_remaining <= budget_max);
    assert.ok(body.audit);
  }
  for (const { body } of lost) assert.ok(body.budget_context.budget_remaining < 10);
  return won;
}

onEachStore((rig) => {
  test('invoke() serves exactly the calls that a budget covers when 200 race for it', async () => {
    const token = await rig().token(BUDGET);

    const won = await race(rig(), [token]);

    assert.deepEqual(await rig().budgetOf(token), SPENT);
    // What each was told it left is a different moment of the same budget.
    assert.equal(new Set(won.map(({ body }) => body.invocation_id)).size, 10);
  });

  test('invoke() serves no more calls when callers race on five levels of a lineage', async () => {
    const tokens = [await rig().token(BUDGET)];
    for (let depth = 1; depth <= 5; depth++) {
      tokens.push(await rig().child(tokens.at(-1) as IssueAnswer, { subject: `agent:${depth}` }));
    }

    await race(rig(), tokens);

    assert.deepEqual(await rig().budgetOf(tokens[0] as IssueAnswer), SPENT);
  });

  test('invoke() serves no more calls when two children race under one parent', async () => {
    const parent = await rig().token(BUDGET);
    const children = [await rig().child(parent), await rig().child(parent, { subject: 'agent:c' })];

    await race(rig(), children);

    assert.deepEqual(await rig().budgetOf(parent), SPENT);
    const spent = await Promise.all(children.map((child) => rig().budgetOf(child)));
    assert.equal(
      spent.reduce((sum, { consumed }) => sum + consumed, 0n),
      10_000n,
    );
  });

  test('invoke() runs once for fifty callers with one key, and gives all the same answer', async () => {
    const token = await rig().token(BUDGET);
    const headers = { 'idempotency-key': 'one-of-fifty' };
    const ran = rig().world.ran('pay');

    const replies = await Promise.all(
      Array.from({ length: 50 }, () => rig().invoke(token.token, 'pay', {}, { headers })),
    );
    const after = await rig().invoke(token.token, 'pay', {}, { headers });

    assert.equal(rig().world.ran('pay'), ran + 1);
    assert.equal((await rig().budgetOf(token)).consumed, 1000n);
    for (const { status, text, body } of replies) {
      if (status === 200) assert.equal(text, after.text);
      else assert.equal(body.failure.type, 'idempotency_in_progress');
    }
    const first = replies.filter((each) => each.headers['idempotent-replayed'] === undefined);
    assert.equal(first.filter(({ status }) => status === 200).length, 1);
  });

  test('invoke() runs one call at a time under an exclusive token and all its descendants', async () => {
    const parent = await rig().token(EXCLUSIVE);
    const tokens = [parent, await rig().child(parent), await rig().child(parent)];
    let running = 0;
    let most = 0;
    rig().world.script('touch', async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return {};
    });

    const replies = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        rig().invoke((tokens[index % 3] as IssueAnswer).token, 'touch'),
      ),
    );
    rig().world.script('touch');

    assert.equal(most, 1);
    const busy = replies.filter(({ status }) => status !== 200);
    for (const { body } of busy) assert.equal(body.failure.type, 'concurrent_branch_busy');
    assert.ok(busy.length < 30);
  });
});
