/**
 * Overruns: a handler that reports more than was reserved, from the call to the operator who lifts the freeze.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { entryView } from '../../src/domain/log/entry.ts';
import type { Money } from '../../src/protocol/primitives.ts';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService, DefinitionError } from '../../src/service/author/definition.ts';
import { checkStore } from '../../src/storage/fsck/fsck.ts';
import { group } from '../support/missing.ts';
import { STORES, testService } from '../support/world.ts';
import { ALICE, BOB, OPERATOR, SETTINGS } from './principals.ts';

let reported: Money = { currency: 'USD', amount: 10 };

const fixed = { certainty: 'fixed', financial: { currency: 'USD', amount: 10 } } as const;
const priced = {
  description: 'Reports what a test says',
  side_effect: 'write',
  minimum_scope: ['w.use'],
  cost: fixed,
  handler: (_parameters: object, { cost }: { cost(amount: Money): void }) => {
    cost(reported);
    return { done: true };
  },
} as const;

const definition = createService({
  id: 'overruns',
  capabilities: [
    defineCapability({ ...priced, name: 'pay' }),
    defineCapability({ ...priced, name: 'strict', on_overrun: 'freeze' }),
    defineCapability({
      name: 'whole',
      description: 'Pays in a step',
      kind: 'composed',
      side_effect: 'write',
      minimum_scope: ['w.use'],
      cost: { certainty: 'fixed', financial: { currency: 'USD', amount: 30 } },
      composition: {
        authority_boundary: 'same_service',
        steps: [
          { id: 'first', capability: 'pay' },
          { id: 'second', capability: 'strict' },
        ],
        input_mapping: {},
        output_mapping: {},
        failure_policy: 'fail_parent',
        audit_policy: { record_child_invocations: true, parent_task_lineage: true },
      },
    }),
  ],
});

test('createService() refuses on_overrun where nothing costs money', () => {
  const { cost: _, ...free } = priced;
  const capability = defineCapability({ ...free, name: 'free', on_overrun: 'freeze' });

  assert.throws(
    () => createService({ id: 'free', capabilities: [capability] }),
    (error) =>
      error instanceof DefinitionError && /capability free: on_overrun/.test(error.message),
  );
});

for (const { name, open } of STORES) {
  group(`overruns (${name})`, async () => {
    const place = await open();
    const service = await testService({ store: place.url, definition, settings: SETTINGS });

    const budget = { currency: 'USD', max_amount: 100 };
    const root = (key = ALICE) =>
      service.issue(key, { scope: ['w.use'], subject: 'agent:a', budget });
    const child = (parent: IssueAnswer) =>
      service.issue(parent.token, {
        scope: ['w.use'],
        subject: 'agent:b',
        parent_token: parent.token_id,
        budget: { currency: 'USD', max_amount: 50 },
      });
    const view = async ({ token_id, token }: IssueAnswer) =>
      (await service.ask('GET', `/svc/tokens/${token_id}`, { bearer: token })).body;
    const entriesOf = async (invocationId: string) => {
      await service.store.sequence();
      const { entries } = await service.store.queryEntries({ invocationId, limit: 10 });
      return entries.map(entryView);
    };
    const asOperator = (method: string, path: string, body?: object) =>
      service.ask(method, `/svc/operator/${path}`, { bearer: OPERATOR, ...(body && { body }) });

    test('a call that costs more than reserved is charged the reservation, and the rest is debt', async () => {
      const parent = await root();
      const token = await child(parent);
      reported = { currency: 'USD', amount: 12.5 };

      const { body } = await service.invoke(token.token, 'pay');

      assert.equal(body.success, true);
      assert.deepEqual(body.cost_actual, { currency: 'USD', amount: 10 });
      const [entry] = await entriesOf(body.invocation_id);
      assert.deepEqual(entry?.cost_actual, { currency: 'USD', amount: 10 });
      assert.deepEqual(entry?.detail, { cost_reported: reported });
      for (const each of [token, parent]) {
        const seen = await view(each);
        assert.deepEqual(seen.debts, [{ currency: 'USD', amount: 2.5 }]);
        assert.deepEqual([seen.budget_spent, seen.budget_reserved], [10, 0]);
      }
      const alarms = service.log.filter((line) => line.includes('cost_above_reservation'));
      assert.ok(alarms.some((line) => line.includes(body.invocation_id)));
      const metrics = await service.ask('GET', '/metrics');
      assert.match(String(metrics.text), /writ_cost_overruns_total\{capability="pay"\} \d/);
    });

    test('a report in another currency is charged as reserved and is no debt', async () => {
      const token = await root();
      reported = { currency: 'JPY', amount: 5 };

      const { body } = await service.invoke(token.token, 'pay');

      assert.deepEqual(body.cost_actual, { currency: 'USD', amount: 10 });
      assert.deepEqual((await view(token)).debts, []);
      const [entry] = await entriesOf(body.invocation_id);
      assert.deepEqual(entry?.detail, { cost_reported: reported });
    });

    test('a report within the reservation leaves neither debt nor alarm', async () => {
      const token = await root();
      reported = { currency: 'USD', amount: 10 };

      const { body } = await service.invoke(token.token, 'strict');

      assert.equal(body.success, true);
      assert.deepEqual((await view(token)).debts, []);
    });

    test('a capability with on_overrun freezes for that root principal until an operator lifts it', async () => {
      const token = await root();
      const bobs = await root(BOB);
      reported = { currency: 'USD', amount: 11 };
      const { body } = await service.invoke(token.token, 'strict');
      assert.equal(body.success, true);

      const again = await service.invoke(token.token, 'strict');
      const whole = await service.invoke(token.token, 'whole');
      reported = { currency: 'USD', amount: 1 };
      const other = await service.invoke(bobs.token, 'strict');
      const free = await service.invoke(token.token, 'pay');

      assert.equal(again.body.failure.type, 'frozen');
      assert.match(again.body.failure.detail, /"strict" is frozen for "human:alice"/);
      assert.equal(whole.body.failure.type, 'frozen');
      assert.equal(other.body.success, true);
      assert.equal(free.body.success, true);
      const { body: shown } = await asOperator('GET', 'frozen');
      const [freeze] = shown.frozen;
      assert.equal(shown.frozen.length, 1);
      assert.deepEqual(
        [freeze.what, freeze.target, freeze.root_principal, freeze.frozen_by],
        ['capability', 'strict', 'human:alice', 'service:overruns'],
      );
      await service.store.sequence();
      const { entries } = await service.store.queryEntries({ entryType: 'operator', limit: 10 });
      const told = entries.map(entryView).find(({ actor_key }) => actor_key === 'service:overruns');
      assert.equal(told?.root_principal, 'human:alice');
      assert.equal(told?.detail?.invocation_id, body.invocation_id);

      const lift = { what: 'capability', target: 'strict', root_principal: 'human:alice' };
      const lifted = await asOperator('POST', 'unfreeze', { ...lift, reason: 'paid' });
      assert.deepEqual(lifted.body, { lifted: true });
      assert.equal((await service.invoke(token.token, 'strict')).body.success, true);
    });

    test('a step that costs more than was left for it is debt of the whole lineage, and freezes', async () => {
      const token = await root();
      reported = { currency: 'USD', amount: 14 };

      const { body } = await service.invoke(token.token, 'whole');

      assert.equal(body.success, true, JSON.stringify(body));
      assert.deepEqual(body.cost_actual, { currency: 'USD', amount: 20 });
      assert.deepEqual((await view(token)).debts, [{ currency: 'USD', amount: 8 }]);
      assert.equal((await view(token)).budget_spent, 20);
      const { body: shown } = await asOperator('GET', 'frozen');
      assert.deepEqual(
        shown.frozen.map(({ target }: { target: string }) => target),
        ['strict'],
      );
      assert.deepEqual((await checkStore(service.store)).findings, []);
      await asOperator('POST', 'unfreeze', {
        what: 'capability',
        target: 'strict',
        root_principal: 'human:alice',
        reason: 'paid',
      });
    });

    test('an operator freezes a capability for one root principal, and only an existing capability', async () => {
      const token = await root();
      reported = { currency: 'USD', amount: 1 };
      const one = { what: 'capability', target: 'pay', root_principal: 'human:alice' };

      const wrong = [
        { ...one, root_principal: 'alice' },
        { ...one, root_principal: 'human:a b' },
        { what: 'service', root_principal: 'human:alice' },
        { what: 'root_principal', target: 'human:bob', root_principal: 'human:alice' },
        { ...one, target: 'pay human:bob' },
      ];
      for (const each of wrong) {
        const { status } = await asOperator('POST', 'freeze', { ...each, reason: 'x' });
        assert.match(String(status), /^(?:400|404)$/, JSON.stringify(each));
      }
      await asOperator('POST', 'freeze', { ...one, reason: 'x' });
      const { body } = await service.invoke(token.token, 'pay');
      assert.deepEqual((await checkStore(service.store)).findings, []);
      await asOperator('POST', 'unfreeze', { ...one, reason: 'x' });

      assert.equal(body.failure.type, 'frozen');
      assert.equal((await service.invoke(token.token, 'pay')).body.success, true);
    });
  });
}
