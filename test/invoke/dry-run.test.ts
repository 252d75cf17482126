/**
 * Dry runs over the public surface: every check, nothing reserved, nothing run, an entry of its own.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { TestAnswer } from '../../src/protocol/invocation.ts';
import { EXCLUSIVE } from '../support/fixtures.ts';
import type { Reply } from '../support/world.ts';
import { eventually } from '../support/world.ts';
import { ALICE, BOB, OPERATOR } from './principals.ts';
import { onEachStore, type Rig } from './rig.ts';

const BUDGET = { budget: { currency: 'USD', max_amount: 15 } };

function tryOut(rig: Rig, bearer: string, capability: string, body: object = { parameters: {} }) {
  return rig.ask('POST', `/svc/test/${capability}`, { bearer, body });
}

/** The answer, after checking that it fits its schema, that nothing ran and that one entry tells of it. */
async function answerOf(rig: Rig, ask: () => Promise<Reply>) {
  const before = { ran: rig.world.ranAny(), entries: await rig.entryCount() };
  const reply = await ask();
  assert.equal(reply.status, 200, JSON.stringify(reply.body));
  const answer = TestAnswer.parse(reply.body);
  assert.equal(rig.world.ranAny(), before.ran);
  assert.equal(await rig.entryCount(), before.entries + 1);
  const [entry] = await rig.entries(answer.invocation_id);
  assert.equal(entry?.entry_type, 'dry_run');
  assert.equal(entry?.entry_id, answer.audit?.entry_id);
  assert.equal(entry?.success, answer.would_be_admitted);
  assert.equal(entry?.event_class.startsWith('low_risk'), true);
  assert.equal(entry?.failure_type, answer.failure?.type ?? null);
  return { answer, entry };
}

onEachStore((rig) => {
  test('test() reports that a call would be admitted and at which cost, and reserves nothing', async () => {
    const token = await rig().token(BUDGET);

    const { answer } = await answerOf(rig(), () =>
      tryOut(rig(), token.token, 'pay', { parameters: {}, client_reference_id: 'r-1' }),
    );

    assert.equal(answer.would_be_admitted, true);
    assert.equal(answer.capability, 'pay');
    assert.equal(answer.client_reference_id, 'r-1');
    assert.deepEqual(answer.resolved_parameters, {});
    assert.deepEqual(answer.cost_check, { currency: 'USD', amount: 10, certainty: 'fixed' });
    assert.deepEqual(answer.approval, { required: false });
    assert.equal(answer.budget_context?.cost_check_amount, 10);
    assert.deepEqual(await rig().budgetOf(token), { max: 1500n, reserved: 0n, consumed: 0n });
    assert.equal((await rig().invoke(token.token, 'pay')).status, 200);
  });

  test('test() reports the refusal that the call would get, and its reason', async () => {
    const token = await rig().token(BUDGET);
    await rig().invoke(token.token, 'pay');

    const { answer } = await answerOf(rig(), () => tryOut(rig(), token.token, 'pay'));
    const real = await rig().invoke(token.token, 'pay');

    assert.equal(answer.would_be_admitted, false);
    assert.equal(answer.failure?.type, 'budget_exceeded');
    assert.deepEqual(answer.failure, real.body.failure);
    assert.equal(answer.budget_context?.budget_spent, 10);
  });

  test('test() resolves parameters as the call would, and refuses those it would refuse', async () => {
    const token = await rig().token();
    const body = { parameters: { note: 'a' } };

    const { answer } = await answerOf(rig(), () => tryOut(rig(), token.token, 'touch', body));
    const wrong = await answerOf(rig(), () =>
      tryOut(rig(), token.token, 'touch', { parameters: { odd: 1 } }),
    );

    assert.deepEqual(answer.resolved_parameters, { note: 'a' });
    assert.match(answer.parameters_digest ?? '', /^sha256:/);
    assert.equal(wrong.answer.failure?.type, 'invalid_parameters');
  });

  test('test() neither claims nor replays a key', async () => {
    const token = await rig().token(BUDGET);
    const headers = { 'idempotency-key': 'k-1' };
    await rig().invoke(token.token, 'pay', {}, { headers });

    const { answer } = await answerOf(rig(), () =>
      rig().ask('POST', '/svc/test/touch', {
        bearer: token.token,
        body: { parameters: {} },
        headers,
      }),
    );

    assert.equal(answer.would_be_admitted, true);
  });

  test('test() reports a freeze that a call would meet at admission', async () => {
    const token = await rig().token();
    const frozen = { what: 'capability', target: 'touch', reason: 'a drill' };
    await rig().ask('POST', '/svc/operator/freeze', { bearer: OPERATOR, body: frozen });

    const { answer } = await answerOf(rig(), () => tryOut(rig(), token.token, 'touch'));
    await rig().ask('POST', '/svc/operator/unfreeze', { bearer: OPERATOR, body: frozen });

    assert.equal(answer.would_be_admitted, false);
    assert.equal(answer.failure?.type, 'frozen');
  });

  test('test() reports until when an exclusive token is busy', async () => {
    const token = await rig().token(EXCLUSIVE);
    let finish = () => undefined as unknown;
    rig().world.script('touch', async () => {
      await new Promise((resolve) => {
        finish = () => resolve(undefined);
      });
      return {};
    });
    const ran = rig().world.ran('touch');
    const running = rig().invoke(token.token, 'touch');
    await eventually(() => rig().world.ran('touch') > ran);

    const busy = await answerOf(rig(), () => tryOut(rig(), token.token, 'look'));
    finish();
    await running;
    rig().world.script('touch');
    const free = await answerOf(rig(), () => tryOut(rig(), token.token, 'look'));

    assert.equal(busy.answer.failure?.type, 'concurrent_branch_busy');
    assert.ok(busy.answer.failure?.resolution.estimated_availability);
    assert.equal(free.answer.would_be_admitted, true);
  });

  test('test() reports that approval is needed, and makes no request', async () => {
    const token = await rig().token();

    const { answer } = await answerOf(rig(), () => tryOut(rig(), token.token, 'signed_off'));
    const { requests: asked } = await rig().store.listApprovals({
      now: rig().store.now(),
      limit: 10,
    });

    assert.equal(answer.would_be_admitted, false);
    assert.equal(answer.failure, undefined);
    assert.equal(answer.approval?.required, true);
    assert.equal(answer.approval?.approvals_required, 1);
    assert.deepEqual(answer.approval?.grant_policy?.allowed_grant_types, ['one_time']);
    assert.deepEqual(asked, []);
  });

  test('test() fails with a reason when there is nothing to check', async () => {
    const token = await rig().token();
    const cases: [ask: () => Promise<Reply>, status: number, type: string][] = [
      [() => rig().ask('POST', '/svc/test/touch', { body: {} }), 401, 'authentication_required'],
      [() => tryOut(rig(), ALICE, 'touch'), 401, 'invalid_token'],
      [() => tryOut(rig(), token.token, 'nowhere'), 404, 'unknown_capability'],
      [() => tryOut(rig(), token.token, 'touch', {}), 400, 'invalid_parameters'],
    ];
    for (const [ask, status, type] of cases) {
      const reply = await ask();
      assert.equal(reply.status, status, JSON.stringify(reply.body));
      assert.equal(reply.body.success, false);
      assert.equal(reply.body.failure.type, type);
    }
  });

  test('audit.query() shows dry runs only when asked for them', async () => {
    const token = await rig().token({ subject: 'agent:careful' }, BOB);
    await tryOut(rig(), token.token, 'touch', { parameters: {}, task_id: 'careful' });
    const audit = (query: string) =>
      rig().ask('POST', `/svc/audit?task_id=careful${query}`, { bearer: token.token });

    const plain = await audit('');
    const asked = await audit('&entry_type=dry_run');

    assert.equal(plain.body.count, 0);
    assert.equal(asked.body.count, 1);
    assert.equal(asked.body.entries[0].entry_type, 'dry_run');
  });
});
