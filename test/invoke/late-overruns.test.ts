/**
 * Overruns that are reported late, or on a way that is not the ordinary one: past the deadline, by a
 * call that lost its turn, by a read, by a step whose call was taken over, by a compensation.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { entryView } from '../../src/domain/log/entry.ts';
import type { JsonObject, Money } from '../../src/protocol/primitives.ts';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService } from '../../src/service/author/definition.ts';
import { type HandlerContext, NoEffect } from '../../src/service/author/handler.ts';
import { checkStore } from '../../src/storage/fsck/fsck.ts';
import { group } from '../support/missing.ts';
import { eventually, STORES, testService } from '../support/world.ts';
import { ALICE, OPERATOR, SETTINGS } from './principals.ts';

type Handler = (parameters: JsonObject, context: HandlerContext) => Promise<JsonObject>;

/** What each capability does, as the test at hand says. */
const scripts = new Map<string, Handler>();

const usd = (amount: number): Money => ({ currency: 'USD', amount });
const fixed = { certainty: 'fixed', financial: { currency: 'USD', amount: 10 } } as const;

function scripted(name: string) {
  return {
    name,
    description: 'Does what a test says',
    side_effect: 'write',
    minimum_scope: ['w.use'],
    handler: (parameters: JsonObject, context: HandlerContext) =>
      scripts.get(name)?.(parameters, context) ?? Promise.resolve({}),
  } as const;
}

const composed = (name: string, steps: { id: string; capability: string }[], policy: object) =>
  defineCapability({
    name,
    description: 'Runs steps',
    kind: 'composed',
    side_effect: name === 'undone' ? 'irreversible' : 'write',
    minimum_scope: ['w.use'],
    cost: { certainty: 'fixed', financial: { currency: 'USD', amount: 30 } },
    composition: {
      authority_boundary: 'same_service',
      steps,
      input_mapping: {},
      output_mapping: {},
      failure_policy: 'fail_parent',
      audit_policy: { record_child_invocations: true, parent_task_lineage: true },
      ...policy,
    },
  });

const definition = createService({
  id: 'late-overruns',
  capabilities: [
    defineCapability({ ...scripted('slow'), cost: fixed, deadline: '40ms' }),
    defineCapability({
      ...scripted('strict'),
      cost: fixed,
      deadline: '40ms',
      on_overrun: 'freeze',
    }),
    defineCapability({ ...scripted('patient'), cost: fixed }),
    defineCapability({
      ...scripted('look'),
      side_effect: 'read',
      cost: { certainty: 'estimated', financial: { currency: 'USD' } },
      on_overrun: 'freeze',
    }),
    defineCapability({
      ...scripted('book'),
      output: { type: 'object', fields: ['id'] },
      side_effect: { type: 'transactional', rollback_window: 'PT1H', compensation: 'cancel' },
      cost: fixed,
    }),
    defineCapability({
      ...scripted('cancel'),
      deadline: '40ms',
      inputs: [{ name: 'id', type: 'string' }],
    }),
    defineCapability({ ...scripted('fail'), cost: fixed }),
    composed('quiet', [{ id: 'one', capability: 'patient' }], {
      audit_policy: { record_child_invocations: false, parent_task_lineage: true },
    }),
    composed(
      'undone',
      [
        { id: 'one', capability: 'book' },
        { id: 'two', capability: 'fail' },
      ],
      { failure_policy: 'compensate' },
    ),
  ],
});

/** How a handler ends: what it reports last, and what it throws. */
interface End {
  readonly reported?: Money;
  readonly error?: Error;
}

/** Later than every sign of life. */
const ALL_SILENT = new Date(8.64e15);

for (const { name, open } of STORES) {
  group(`late overruns (${name})`, async () => {
    const place = await open();
    const service = await testService({ store: place.url, definition, settings: SETTINGS });

    const root = (more: object = {}) =>
      service.issue(ALICE, {
        scope: ['w.use'],
        subject: 'agent:a',
        budget: { currency: 'USD', max_amount: 500 },
        ...more,
      });
    const child = (parent: IssueAnswer, more: object = {}) =>
      service.issue(parent.token, {
        scope: ['w.use'],
        subject: 'agent:b',
        parent_token: parent.token_id,
        budget: { currency: 'USD', max_amount: 100 },
        ...more,
      });
    const view = async ({ token_id, token }: IssueAnswer) =>
      (await service.ask('GET', `/svc/tokens/${token_id}`, { bearer: token })).body;
    const entriesOf = async (invocationId: string) => {
      await service.store.sequence();
      const { entries } = await service.store.queryEntries({ invocationId, limit: 10 });
      return entries.map(entryView).reverse();
    };
    const alarmsOf = (id: string) =>
      service.log.filter((line) => line.includes('cost_above_reservation') && line.includes(id))
        .length;
    const unfreeze = (target: string) =>
      service.ask('POST', '/svc/operator/unfreeze', {
        bearer: OPERATOR,
        body: { what: 'capability', target, root_principal: 'human:alice', reason: 'paid' },
      });
    const isSound = async () => assert.deepEqual((await checkStore(service.store)).findings, []);

    /** A call of `slow` or `strict` that passes its deadline; what it does then is the test's. */
    async function late(capability: 'slow' | 'strict', token: IssueAnswer, before?: Money) {
      let end: ((done: End) => void) | undefined;
      scripts.set(
        capability,
        (_parameters, { cost }) =>
          new Promise((resolve, reject) => {
            if (before) cost(before);
            end = ({ reported, error }) => {
              if (reported) cost(reported);
              if (error) reject(error);
              else resolve({ done: true });
            };
          }),
      );
      const { body } = await service.invoke(token.token, capability);
      assert.equal(body.failure.type, 'outcome_unknown');
      return {
        id: body.invocation_id as string,
        async finish(done: End) {
          const before = (await entriesOf(body.invocation_id)).length;
          end?.(done);
          await eventually(async () => (await entriesOf(body.invocation_id)).length > before);
        },
      };
    }

    test('a handler that ends after its deadline owes what it reports beyond the reservation', async () => {
      const parent = await root();
      const token = await child(parent);
      const call = await late('slow', token);

      await call.finish({ reported: usd(15) });

      const [, settled] = await entriesOf(call.id);
      assert.deepEqual([settled?.entry_type, settled?.state], ['settlement', 'completed']);
      assert.deepEqual(settled?.cost_actual, usd(10));
      assert.deepEqual(settled?.detail, { cost_reported: usd(15) });
      for (const each of [token, parent]) {
        const seen = await view(each);
        assert.deepEqual(seen.debts, [usd(5)]);
        assert.deepEqual([seen.budget_spent, seen.budget_reserved], [10, 0]);
      }
      assert.equal(alarmsOf(call.id), 1);
      await isSound();
    });

    test('a late overrun freezes a capability with on_overrun for that root principal', async () => {
      const token = await root();
      const call = await late('strict', token);

      await call.finish({ reported: usd(15), error: new Error('after the effect') });

      const again = await service.invoke(token.token, 'strict');
      assert.equal(again.body.failure.type, 'frozen');
      assert.deepEqual((await view(token)).debts, [usd(5)]);
      await isSound();
      assert.deepEqual((await unfreeze('strict')).body, { lifted: true });
    });

    test('a cost that was reported before the deadline is owed at once, and the rest when the handler ends', async () => {
      const token = await root();
      const call = await late('slow', token, usd(13));

      const [unknown] = await entriesOf(call.id);
      assert.deepEqual(unknown?.detail, { cost_reported: usd(13) });
      assert.deepEqual((await view(token)).debts, [usd(3)]);
      await isSound();

      await call.finish({ reported: usd(20) });

      assert.deepEqual((await view(token)).debts, [usd(10)]);
      assert.equal(alarmsOf(call.id), 2);
      await isSound();
    });

    test('a late end that reports nothing more adds nothing', async () => {
      const token = await root();
      const call = await late('slow', token, usd(13));

      await call.finish({});

      const [, settled] = await entriesOf(call.id);
      assert.equal(settled?.detail, null);
      assert.deepEqual((await view(token)).debts, [usd(3)]);
      assert.equal(alarmsOf(call.id), 1);
      await isSound();
    });

    test('a late cost is still owed after an operator reconciled the call', async () => {
      const token = await root();
      const call = await late('slow', token);
      const body = { invocation_id: call.id, outcome: 'executed', reason: 'seen' };
      await service.ask('POST', '/svc/operator/reconcile', { bearer: OPERATOR, body });

      await call.finish({ reported: usd(15) });

      assert.deepEqual((await view(token)).debts, [usd(5)]);
      await isSound();
    });

    test('a late handler that declares no effect owes nothing', async () => {
      const token = await root();
      const call = await late('slow', token);

      await call.finish({ reported: usd(15), error: new NoEffect('nothing happened') });

      const seen = await view(token);
      assert.deepEqual([seen.debts, seen.budget_spent], [[], 0]);
      await isSound();
    });

    test('a call that lost its lease owes once', async () => {
      const token = await root({ concurrent_branches: 'exclusive', ttl_hours: 5 });
      let end: (() => void) | undefined;
      scripts.set(
        'patient',
        (_parameters, { cost }) =>
          new Promise((resolve) => {
            end = () => {
              cost(usd(15));
              resolve({});
            };
          }),
      );
      const first = service.invoke(token.token, 'patient');
      await eventually(() => end !== undefined);
      // Another call takes the turn of one whose process stood still for longer than its lease.
      service.advance(10 * 60_000);
      scripts.set('patient', async () => ({}));
      assert.equal((await service.invoke(token.token, 'patient')).body.success, true);
      service.advance(-10 * 60_000);

      end?.();
      const { body } = await first;

      assert.equal(body.failure.type, 'outcome_unknown');
      await eventually(async () => (await entriesOf(body.invocation_id)).length === 2);
      assert.deepEqual((await view(token)).debts, [usd(5)]);
      assert.equal(alarmsOf(body.invocation_id), 1);
      await isSound();
    });

    test('a read that nothing was reserved for freezes when its report cannot be compared', async () => {
      const token = await root({ budget: undefined });
      scripts.set('look', async (_parameters, { cost }) => {
        cost({ currency: 'JPY', amount: 7 });
        return {};
      });

      const { body } = await service.invoke(token.token, 'look');

      const [entry] = await entriesOf(body.invocation_id);
      assert.deepEqual(entry?.detail, { cost_reported: { currency: 'JPY', amount: 7 } });
      const again = await service.invoke(token.token, 'look');
      assert.equal(again.body.failure?.type, 'frozen');
      await isSound();
      await unfreeze('look');
    });

    test('a step that overran has an entry, also where steps are only listed', async () => {
      const token = await root();
      scripts.set('patient', async (_parameters, { cost }) => {
        cost(usd(14));
        return {};
      });

      const { body } = await service.invoke(token.token, 'quiet');

      assert.equal(body.success, true, JSON.stringify(body));
      await service.store.sequence();
      const { entries } = await service.store.queryEntries({ capability: 'patient', limit: 1 });
      const [step] = entries.map(entryView);
      assert.equal(step?.parent_invocation_id, body.invocation_id);
      assert.deepEqual(step?.detail, { step: 'one', drawn: usd(10), cost_reported: usd(14) });
      assert.deepEqual((await view(token)).debts, [usd(4)]);
      await isSound();
    });

    test('a step whose call was taken over owes what it reports', async () => {
      const token = await root();
      scripts.set('patient', async (_parameters, { cost }) => {
        await service.store.adoptComposition('another', ALL_SILENT);
        cost(usd(14));
        return {};
      });

      const { body } = await service.invoke(token.token, 'quiet');

      assert.equal(body.failure.type, 'outcome_unknown');
      assert.deepEqual((await view(token)).debts, [usd(4)]);
    });

    for (const isLate of [false, true]) {
      test(`a compensation that reports a cost ${isLate ? 'after its deadline ' : ''}is reported and raises an alarm`, async () => {
        const token = await root();
        scripts.set('book', async () => ({ id: 'B-1' }));
        scripts.set('fail', async () => {
          throw new NoEffect('nothing happened');
        });
        scripts.set('cancel', async (_parameters, { cost }) => {
          if (isLate) await new Promise((resolve) => setTimeout(resolve, 80));
          cost(usd(3));
          return {};
        });

        const { body } = await service.invoke(token.token, 'undone');

        assert.equal(body.success, false);
        const told = async () => {
          await service.store.sequence();
          const { entries } = await service.store.queryEntries({ capability: 'cancel', limit: 1 });
          return entries.map(entryView)[0];
        };
        const type = isLate ? 'settlement' : 'compensation';
        await eventually(async () => (await told())?.entry_type === type);
        const entry = await told();
        assert.equal(entry?.parent_invocation_id, body.invocation_id);
        assert.deepEqual(entry?.detail?.cost_reported, usd(3));
        assert.equal(alarmsOf(String(entry?.invocation_id)), 1);
      });
    }
  });
}
