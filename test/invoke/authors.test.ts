/**
 * What an author's code may say and do, and what it can never bring about.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createService, defineCapability, HandlerFailure, NoEffect } from '../../src/index.ts';
import { ALICE, OPERATOR, testService } from '../support/world.ts';

const USD_10 = { currency: 'USD', amount: 10 };

let behave: () => Promise<object> | object = () => ({});
const act = defineCapability({
  name: 'act',
  description: 'Does what the test says',
  side_effect: 'write',
  minimum_scope: ['travel.read'],
  response_modes: ['unary', 'streaming'],
  inputs: [{ name: 'size', type: 'integer', required: false, default: 0 }],
  cost: { certainty: 'fixed', financial: USD_10 },
  async handler({ size }, context) {
    // Not awaited, as careless code does.
    if (size > 0) void context.progress({ pad: 'x'.repeat(size) });
    return { ...(await behave()) };
  },
});
const redeem = defineCapability({
  name: 'redeem',
  description: 'Takes a voucher of another house',
  side_effect: 'write',
  minimum_scope: ['travel.read'],
  inputs: [{ name: 'voucher', type: 'string' }],
  cost: { certainty: 'estimated', financial: { currency: 'USD' } },
  requires_binding: [{ type: 'voucher', field: 'voucher', max_age: 'PT1H' }],
  resolveBinding: (handle) =>
    handle === 'V-1'
      ? { issued_at: new Date(), price: { currency: 'USD', amount: 7 }, data: { house: 'b' } }
      : undefined,
  handler: (_parameters, { bindings }) => ({ house: bindings.voucher?.data.house }),
});
const definition = createService({ id: 'authors', capabilities: [act, redeem] });

const service = await testService({ definition });
const budget = { currency: 'USD', max_amount: 1_000 };
const issued = await service.issue(ALICE, { scope: ['travel.read'], budget });
const { token, token_id: tokenId } = issued;

async function spent(): Promise<number> {
  return (await service.ask('GET', `/svc/tokens/${tokenId}`, { bearer: token })).body.budget_spent;
}

describe('failures that a handler throws', () => {
  const reserved = [
    new HandlerFailure('ask somebody', 'approval_required'),
    new HandlerFailure('nothing ran, or so it says', 'service_unavailable'),
    new HandlerFailure('who are you', 'invalid_token'),
    new HandlerFailure('charged, and then too much', 'budget_exceeded'),
    new HandlerFailure('half done', 'scope_insufficient'),
    new NoEffect('nobody knows, and yet nothing happened', 'outcome_unknown'),
  ];
  for (const thrown of reserved) {
    test(`invoke() treats a ${thrown.name} of "${thrown.type}" as a defect, and keeps the charge`, async () => {
      behave = () => Promise.reject(thrown);
      const before = await spent();

      const { status, body } = await service.invoke(token, 'act');

      assert.deepEqual([status, body.failure.type], [500, 'internal_error']);
      assert.equal(await spent(), before + 10);
    });
  }

  test('invoke() releases the charge when a backend was down before any effect', async () => {
    behave = () => Promise.reject(new NoEffect('Cannot reach the airline', 'service_unavailable'));
    const before = await spent();

    const { status, body } = await service.invoke(token, 'act');

    assert.deepEqual([status, body.failure.type], [503, 'service_unavailable']);
    assert.equal(await spent(), before);
  });

  test('invoke() lists a call whose handler reports an unknown outcome', async () => {
    behave = () => Promise.reject(new HandlerFailure('Cannot say', 'outcome_unknown'));

    const { status, body } = await service.invoke(token, 'act');

    const listed = await service.ask('GET', '/svc/operator/indeterminate', { bearer: OPERATOR });
    const ids = listed.body.indeterminate.map(
      (each: { invocation_id: string }) => each.invocation_id,
    );
    assert.deepEqual([status, body.failure.type], [503, 'outcome_unknown']);
    assert.ok(ids.includes(body.invocation_id));
  });
});

test('invoke() survives an event that is too large and not awaited', async () => {
  behave = () => ({ fine: true });

  const unary = await service.invoke(token, 'act', { size: 70_000 });
  const streamed = await service.invoke(
    token,
    'act',
    { size: 70_000 },
    { fields: { stream: true } },
  );

  assert.equal(unary.status, 200);
  assert.match(streamed.body, /event: completed/);
});

test('invoke() accepts a binding that the capability itself can resolve, at its price', async () => {
  const taken = await service.invoke(token, 'redeem', { voucher: 'V-1' });
  const unknown = await service.invoke(token, 'redeem', { voucher: 'V-2' });

  assert.deepEqual(taken.body.result, { house: 'b' });
  assert.equal(taken.body.budget_context.cost_check_amount, 7);
  assert.equal(unknown.body.failure.type, 'binding_invalid');
});

test('issue_refund() refuses an amount that cannot be read as money, and charges nothing', async () => {
  const desk = await testService();
  const budget = { currency: 'USD', max_amount: 3_000 };
  const { token: holder } = await desk.issue(ALICE, { scope: ['travel.refund'], budget });
  for (const amount of [-5, 0, 10.005, 1e-7]) {
    const refund = { booking_id: 'BK-1000', amount, reason: 'late' };
    const { status, body } = await desk.invoke(holder, 'issue_refund', refund);
    assert.deepEqual([status, body.failure.type], [400, 'invalid_parameters']);
    assert.equal(body.budget_context.budget_spent, 0);
  }
  const honest = { booking_id: 'BK-1000', amount: 50, reason: 'late' };
  assert.equal((await desk.invoke(holder, 'issue_refund', honest)).body.cost_actual.amount, 50);
});

test('tokens.issue limits the lifetime of a token to the configured maximum', async () => {
  const short = await testService({ definition, settings: { max_ttl_hours: 0.5 } });
  const { expires_at } = await short.issue(ALICE, { scope: ['travel.read'] });
  assert.ok(new Date(expires_at).getTime() <= Date.now() + 1_800_000);
});
