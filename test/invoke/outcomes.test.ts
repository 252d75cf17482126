/**
 * Outcomes nobody knows: deadlines, late ends, what operators see, and their word on it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { JsonObject } from '../../src/protocol/primitives.ts';
import { NoEffect } from '../../src/service/author/handler.ts';
import { EXCLUSIVE } from '../support/fixtures.ts';
import { eventually } from '../support/world.ts';
import { ALICE, OPERATOR } from './principals.ts';
import { onEachStore, type Rig } from './rig.ts';

interface Hanging {
  readonly signal: AbortSignal;
  finish(result: JsonObject | Error): void;
}

/** Makes a handler wait until the test lets it end. */
function hang(rig: Rig, capability: string): () => Hanging {
  let hanging: Hanging | undefined;
  rig.world.script(capability, (_parameters, { signal }) => {
    return new Promise((resolve, reject) => {
      hanging = {
        signal,
        finish: (result) => (result instanceof Error ? reject(result) : resolve(result)),
      };
    });
  });
  return () => {
    if (!hanging) throw new Error('Cannot let the handler end: it was not called');
    return hanging;
  };
}

const BUDGET = { budget: { currency: 'USD', max_amount: 10 } };

function reconcile(rig: Rig, body: object, bearer = OPERATOR) {
  return rig.ask('POST', '/svc/operator/reconcile', { bearer, body });
}

onEachStore((rig) => {
  /** A call that took longer than its deadline. */
  async function slowCall() {
    const token = await rig().token(BUDGET);
    const hanging = hang(rig(), 'pay_slowly');
    const reply = await rig().invoke(token.token, 'pay_slowly');
    rig().world.script('pay_slowly');
    return { token, reply, id: reply.body.invocation_id as string, ...hanging() };
  }

  test('invoke() answers outcome_unknown past the deadline, aborts the handler and keeps the charge', async () => {
    const { token, reply, id, signal, finish } = await slowCall();

    assert.equal(reply.status, 503);
    assert.equal(reply.body.failure.type, 'outcome_unknown');
    assert.equal(reply.body.effect, undefined);
    assert.equal(signal.aborted, true);
    assert.equal(reply.body.budget_context.budget_spent, 10);
    assert.deepEqual(
      { ...(await rig().budgetOf(token)), max: 0n },
      { max: 0n, reserved: 0n, consumed: 1000n },
    );
    const [entry, ...more] = await rig().entries(id);
    assert.equal(more.length, 0);
    assert.equal(entry?.state, 'indeterminate');
    assert.equal(entry?.success, false);
    assert.equal(entry?.failure_type, 'outcome_unknown');
    assert.equal(entry?.entry_id, reply.body.audit.entry_id);
    const listed = (await rig().indeterminate()).filter((each) => each.invocation_id === id);
    assert.deepEqual(
      listed.map(({ charged }) => charged),
      [{ currency: 'USD', amount: 10 }],
    );
    finish({});
    await eventually(async () => (await rig().entries(id)).length === 2);
  });

  test('reconcile() releases the charge once when the call was not executed', async () => {
    const { token, id, finish } = await slowCall();
    const body = { invocation_id: id, outcome: 'not_executed', reason: 'the bank says no' };

    const first = await reconcile(rig(), body);
    const again = await reconcile(rig(), body);

    assert.equal(first.status, 200);
    assert.deepEqual(first.body, {
      invocation_id: id,
      outcome: 'not_executed',
      refunded: { currency: 'USD', amount: 10 },
    });
    assert.equal(again.body.failure.type, 'not_found');
    assert.equal((await rig().budgetOf(token)).consumed, 0n);
    assert.equal(
      (await rig().indeterminate()).some((each) => each.invocation_id === id),
      false,
    );
    assert.equal((await rig().invoke(token.token, 'pay')).status, 200);
    finish({});
  });

  test('reconcile() keeps the charge when the call was executed', async () => {
    const { token, id, finish } = await slowCall();
    const body = { invocation_id: id, outcome: 'executed', reason: 'the bank says yes' };

    const { status, body: answer } = await reconcile(rig(), body);

    assert.equal(status, 200);
    assert.equal(answer.refunded, null);
    assert.equal((await rig().budgetOf(token)).consumed, 1000n);
    const path = `/svc/audit?entry_type=operator&invocation_id=${id}`;
    const { body: trail } = await rig().ask('POST', path, { bearer: OPERATOR });
    assert.deepEqual(
      trail.entries.map((each: { detail: object }) => each.detail),
      [{ verb: 'reconcile', ...body }],
    );
    const other = { ...body, outcome: 'not_executed' };
    assert.equal((await reconcile(rig(), other)).status, 404);
    assert.equal((await rig().budgetOf(token)).consumed, 1000n);
    finish({});
  });

  test('reconcile() refuses callers who are not operators, unknown calls, and incomplete requests', async () => {
    const { token, id, finish } = await slowCall();
    const body = { invocation_id: id, outcome: 'not_executed', reason: 'please' };

    for (const bearer of [ALICE, token.token]) {
      const refused = await reconcile(rig(), body, bearer);
      assert.equal(refused.body.failure.type, 'scope_insufficient');
    }
    const { reason: _, ...unreasoned } = body;
    assert.equal((await reconcile(rig(), unreasoned)).status, 400);
    assert.equal((await reconcile(rig(), { ...body, reason: ' ' })).status, 400);
    assert.equal((await reconcile(rig(), { ...body, outcome: 'maybe' })).status, 400);
    assert.equal((await reconcile(rig(), { ...body, invocation_id: 'inv-0' })).status, 400);
    assert.equal(
      (await reconcile(rig(), { ...body, invocation_id: 'inv-000000000000' })).status,
      404,
    );
    const settled = await rig().invoke((await rig().token()).token, 'pay');
    const known = { ...body, invocation_id: settled.body.invocation_id };
    assert.equal((await reconcile(rig(), known)).status, 404);
    assert.equal((await rig().budgetOf(token)).consumed, 1000n);
    finish({});
  });

  // How a handler ends after its call was answered, and what that changes.
  const LATE: [name: string, end: JsonObject | Error, state: string, consumed: bigint][] = [
    ['completes', { done: 'late' }, 'completed', 1000n],
    ['throws', new Error('late'), 'failed', 1000n],
    ['declares no effect', new NoEffect('nothing happened'), 'failed', 0n],
  ];
  for (const [name, end, state, consumed] of LATE) {
    test(`invoke() records a late handler that ${name} in a later entry, once`, async () => {
      const { token, id, finish } = await slowCall();

      finish(end);
      await eventually(async () => (await rig().entries(id)).length > 1);

      const entries = await rig().entries(id);
      assert.deepEqual(
        entries.map((entry) => [entry.entry_type, entry.state]),
        [
          ['invocation', 'indeterminate'],
          ['settlement', state],
        ],
      );
      assert.equal((await rig().budgetOf(token)).consumed, consumed);
      assert.equal(
        (await rig().indeterminate()).some((each) => each.invocation_id === id),
        false,
      );
      const body = { invocation_id: id, outcome: 'not_executed', reason: 'too late' };
      assert.equal((await reconcile(rig(), body)).status, 404);
    });
  }

  test('invoke() keeps the decision of an operator when the handler ends later', async () => {
    const { token, id, finish } = await slowCall();
    const body = { invocation_id: id, outcome: 'executed', reason: 'seen it happen' };
    await reconcile(rig(), body);

    finish(new NoEffect('nothing happened'));
    await eventually(async () =>
      (await rig().entries(id)).some((entry) => entry.entry_type === 'settlement'),
    );

    assert.equal((await rig().budgetOf(token)).consumed, 1000n);
  });

  test('invoke() records a late read too, which has nothing to reconcile', async () => {
    const hanging = hang(rig(), 'glance');
    const { status, body } = await rig().invoke((await rig().token()).token, 'glance');
    hanging().finish({ seen: true });
    rig().world.script('glance');

    assert.equal(status, 503);
    await eventually(async () => (await rig().entries(body.invocation_id)).length === 2);
    const entries = await rig().entries(body.invocation_id);
    assert.deepEqual(
      entries.map((entry) => [entry.entry_type, entry.state]),
      [
        ['invocation', 'indeterminate'],
        ['settlement', 'completed'],
      ],
    );
    const listed = await rig().indeterminate();
    assert.equal(
      listed.some((each) => each.invocation_id === body.invocation_id),
      false,
    );
  });

  test('invoke() replays the unknown outcome for the same key', async () => {
    const token = await rig().token(BUDGET);
    const headers = { 'idempotency-key': 'slow' };
    const hanging = hang(rig(), 'pay_slowly');
    const first = await rig().invoke(token.token, 'pay_slowly', {}, { headers });
    const ran = rig().world.ran('pay_slowly');

    const again = await rig().invoke(token.token, 'pay_slowly', {}, { headers });

    assert.equal(again.status, 503);
    assert.equal(again.text, first.text);
    assert.equal(rig().world.ran('pay_slowly'), ran);
    hanging().finish({});
    rig().world.script('pay_slowly');
  });

  test('invoke() closes a call that lost its lease as unknown, and records its outcome later', async () => {
    const token = await rig().token({ ...BUDGET, concurrent_branches: 'exclusive', ttl_hours: 5 });
    const ran = rig().world.ran('pay');
    const hanging = hang(rig(), 'pay');
    const first = rig().invoke(token.token, 'pay');
    await eventually(() => rig().world.ran('pay') > ran);

    // As if this process had been asleep: its lease ran out, and the next call took it.
    rig().advance(3_600_000);
    const second = await rig().invoke(token.token, 'touch');
    hanging().finish({ late: true });
    const { status, body } = await first;
    rig().advance(-3_600_000);
    rig().world.script('pay');

    assert.equal(second.status, 200);
    assert.equal(status, 503);
    assert.equal(body.failure.type, 'outcome_unknown');
    await eventually(async () => (await rig().entries(body.invocation_id)).length === 2);
    const entries = await rig().entries(body.invocation_id);
    assert.deepEqual(
      entries.map((entry) => [entry.entry_type, entry.state]),
      [
        ['invocation', 'indeterminate'],
        ['settlement', 'completed'],
      ],
    );
    assert.equal(entries[0]?.entry_id, body.audit.entry_id);
    const { reserved, consumed } = await rig().budgetOf(token);
    assert.deepEqual([reserved, consumed], [0n, 1000n]);
  });

  test('invoke() reports until when an exclusive token is busy, to its descendants too', async () => {
    const token = await rig().token(EXCLUSIVE);
    const child = await rig().child(token);
    const ran = rig().world.ran('touch');
    const hanging = hang(rig(), 'touch');
    const before = rig().store.now();

    const running = rig().invoke(token.token, 'touch');
    await eventually(() => rig().world.ran('touch') > ran);
    const busy = await rig().invoke(child.token, 'look');
    hanging().finish({});
    await running;
    rig().world.script('touch');

    assert.equal(busy.body.failure?.type, 'concurrent_branch_busy');
    const until = new Date(busy.body.failure.resolution.estimated_availability);
    assert.ok(until > before);
    assert.equal((await rig().invoke(child.token, 'look')).status, 200);
  });

  test('invoke() keeps an exclusive token busy while a call that missed its deadline still runs', async () => {
    const token = await rig().token(EXCLUSIVE);
    const hanging = hang(rig(), 'hurry');

    const slow = await rig().invoke(token.token, 'hurry');
    const beside = await rig().invoke(token.token, 'look');
    hanging().finish({});
    rig().world.script('hurry');

    assert.equal(slow.body.failure.type, 'outcome_unknown');
    assert.equal(beside.body.failure.type, 'concurrent_branch_busy');
    await eventually(async () => (await rig().invoke(token.token, 'look')).status === 200);
  });
});
