/**
 * A store that fails at each step of an invocation: nothing runs unadmitted, nothing is claimed that
 * is not recorded, and what was admitted is settled when the store is back.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { beforeEach, test } from 'vitest';
import { entryOf, SALT_BYTES } from '../../src/domain/log/entry.ts';
import { ID_BYTES, idOf } from '../../src/domain/wire/ids.ts';
import { moneyOf } from '../../src/service/call/call.ts';
import type { IntentRecord } from '../../src/storage/port/records.ts';
import { OutcomeUnknown, type Store, StoreUnavailable } from '../../src/storage/port/store.ts';
import { group } from '../support/missing.ts';
import { eventually, STORES } from '../support/world.ts';
import { startRig } from './rig.ts';

type Step = 'load' | 'admit' | 'settle' | 'append';

/** `before`: nothing happened. `after`: it happened, and only the answer was lost. */
type Fault = (real: () => Promise<unknown>) => Promise<never>;

const unavailable: Fault = () => Promise.reject(new StoreUnavailable('Cannot write: a test'));
const lostBefore: Fault = () => Promise.reject(new OutcomeUnknown('Cannot tell: a test'));
const lostAfter: Fault = async (real) => {
  await real();
  throw new OutcomeUnknown('Cannot tell: a test');
};
const defect: Fault = () => Promise.reject(new Error('a defect of the store'));

interface Faults {
  plan(step: Step, fault: Fault, times?: number): void;
  wrap(store: Store): Store;
}

/** The real store, but for the steps that are told to fail, and for how often. */
function createFaults(): Faults {
  const plans = new Map<Step, { fault: Fault; times: number }>();
  const faulty =
    <Args extends unknown[], Result>(step: Step, real: (...args: Args) => Promise<Result>) =>
    (...args: Args): Promise<Result> => {
      const planned = plans.get(step);
      if (!planned || planned.times === 0) return real(...args);
      planned.times -= 1;
      return planned.fault(() => real(...args));
    };
  return {
    plan: (step, fault, times = 1) => void plans.set(step, { fault, times }),
    wrap: (store) => ({
      ...store,
      load: faulty('load', store.load),
      admit: faulty('admit', store.admit),
      settle: faulty('settle', store.settle),
      append: faulty('append', store.append),
    }),
  };
}

/** The entry that recovery makes of a call whose process it takes for dead. */
function closingEntry({ invocation_id, token_id, charge }: IntentRecord) {
  return entryOf(
    {
      entry_id: idOf('ent_', randomBytes(ID_BYTES.ent_)),
      entry_type: 'invocation',
      invocation_id,
      token_id,
      ...(charge && { cost_actual: moneyOf(charge) }),
      actor_key: 'agent:a',
      root_principal: 'human:alice',
      event_class: 'high_risk_failure',
      success: false,
      state: 'indeterminate',
      timestamp: new Date().toISOString(),
    },
    randomBytes(SALT_BYTES),
  );
}

const BUDGET = { budget: { currency: 'USD', max_amount: 10 } };

for (const place of STORES) {
  group(place.name, async () => {
    const faults = createFaults();
    const opened = await place.open();
    const rig = await startRig({ store: opened.url, wrap: faults.wrap });
    beforeEach(() => {
      ran = rig.world.ranAny();
    });

    /** Handlers that ran in this test. */
    let ran = 0;
    const ranNow = () => rig.world.ranAny() - ran;

    /** Another process takes this one for dead before it tries again. */
    async function closeAsUnknown(invocationId: string): Promise<void> {
      const [intent] = await rig.store.abandonedIntents(new Date(Date.now() + 86_400_000), 10);
      assert.ok(intent);
      assert.equal(intent.invocation_id, invocationId);
      const closed = await rig.store.settle({
        operation_id: intent.operation_id,
        outcome: 'indeterminate',
        bindings: [],
        answer: new Uint8Array(),
        entry: closingEntry(intent),
        now: rig.store.now(),
      });
      assert.equal(closed, 'settled');
    }

    test('invoke() runs nothing and charges nothing when the store cannot be read', async () => {
      const { token } = await rig.token(BUDGET);

      faults.plan('load', unavailable);
      const { status, body, headers } = await rig.invoke(token, 'pay');

      assert.equal(status, 503);
      assert.equal(body.failure.type, 'service_unavailable');
      assert.equal(headers['retry-after'], '1');
      assert.match(body.invocation_id, /^inv-/);
      assert.equal(ranNow(), 0);
    });

    test('invoke() runs nothing when admission fails, and allows a retry', async () => {
      const token = await rig.token(BUDGET);

      faults.plan('admit', unavailable);
      const { body } = await rig.invoke(token.token, 'pay');

      assert.equal(body.failure.type, 'service_unavailable');
      assert.equal(ranNow(), 0);
      const entries = await rig.entries(body.invocation_id);
      assert.deepEqual(
        entries.map(({ state, failure_type }) => [state, failure_type]),
        [['refused', 'service_unavailable']],
      );
      assert.equal((await rig.invoke(token.token, 'pay')).status, 200);
    });

    test('invoke() names no entry when the refusal could not be recorded', async () => {
      const { token } = await rig.token(BUDGET);

      faults.plan('admit', unavailable);
      faults.plan('append', unavailable);
      const { body } = await rig.invoke(token, 'pay');

      assert.equal(body.failure.type, 'service_unavailable');
      assert.equal('audit' in body, false);
      assert.equal(ranNow(), 0);
    });

    test('invoke() answers 5xx instead of a refusal that it could not record', async () => {
      const { token } = await rig.token();

      for (const fault of [unavailable, lostBefore, lostAfter, defect]) {
        faults.plan('append', fault);
        const { status, body } = await rig.invoke(token, 'secret');
        assert.ok(status >= 500, JSON.stringify(body));
        assert.equal('audit' in body, false);
        assert.ok((await rig.entries(body.invocation_id)).length <= 1);
      }
    });

    for (const [name, fault, wasAdmitted] of [
      ['was not admitted', lostBefore, false],
      ['was admitted', lostAfter, true],
    ] as const) {
      test(`invoke() neither runs nor charges a call when it is unknown whether it ${name}`, async () => {
        const token = await rig.token({ ...BUDGET, concurrent_branches: 'exclusive' });
        const headers = { 'idempotency-key': `lost ${name}`.replaceAll(' ', '-') };

        faults.plan('admit', fault);
        const { status, body } = await rig.invoke(token.token, 'pay', {}, { headers });

        assert.equal(status, 503);
        assert.equal(body.failure.type, 'outcome_unknown');
        assert.equal(ranNow(), 0);
        assert.equal('audit' in body, false);
        await eventually(async () => (await rig.entries(body.invocation_id)).length === 1);
        const { reserved, consumed } = await rig.budgetOf(token);
        assert.deepEqual([reserved, consumed], [0n, 0n]);
        const again = await rig.invoke(token.token, 'pay', {}, { headers });
        assert.equal(again.body.failure?.type, wasAdmitted ? 'outcome_unknown' : undefined);
        assert.equal((await rig.invoke(token.token, 'touch')).status, 200);
        assert.equal((await rig.entries(body.invocation_id)).length, 1);
        assert.deepEqual(await rig.indeterminate(), []);
      });
    }

    for (const [name, interfere] of [
      [
        'loses its lease',
        async (token: string) => {
          rig.advance(3_600_000);
          const next = await rig.invoke(token, 'touch');
          rig.advance(-3_600_000);
          assert.equal(next.status, 200);
        },
      ],
      ['is closed by another process', (_token: string, id: string) => closeAsUnknown(id)],
    ] as const) {
      test(`invoke() gives back what a call took that ${name} before its lost admission is undone`, async () => {
        const token = await rig.token({
          ...BUDGET,
          concurrent_branches: 'exclusive',
          ttl_hours: 5,
        });
        let id = '';
        faults.plan('admit', lostAfter);
        faults.plan('settle', async (real) => {
          await eventually(() => id !== '');
          await interfere(token.token, id);
          return real() as Promise<never>;
        });

        const { body } = await rig.invoke(token.token, 'pay');
        id = body.invocation_id;

        assert.equal(body.failure.type, 'outcome_unknown');
        await eventually(async () => (await rig.entries(body.invocation_id)).length === 2);
        const entries = await rig.entries(body.invocation_id);
        assert.deepEqual(
          entries.map((each) => [each.entry_type, each.state]),
          [
            ['invocation', 'indeterminate'],
            ['settlement', 'failed'],
          ],
        );
        const { reserved, consumed } = await rig.budgetOf(token);
        assert.deepEqual([reserved, consumed], [0n, 0n]);
        assert.deepEqual(await rig.indeterminate(), []);
      });
    }

    for (const [name, fault] of [
      ['is away', unavailable],
      ['loses the step', lostBefore],
      ['loses its answer', lostAfter],
      ['has a defect', defect],
    ] as const) {
      test(`invoke() answers outcome_unknown when the store ${name} at settlement, and settles later`, async () => {
        const token = await rig.token(BUDGET);
        const headers = { 'idempotency-key': `unsettled ${name}`.replaceAll(' ', '-') };

        faults.plan('settle', fault, 2);
        const { status, body } = await rig.invoke(token.token, 'pay', {}, { headers });

        assert.equal(status, 503);
        assert.equal(body.failure.type, 'outcome_unknown');
        assert.equal(body.failure.retry, false);
        assert.equal('audit' in body, false);
        assert.equal('result' in body, false);
        await eventually(async () => {
          const [entry] = await rig.entries(body.invocation_id);
          return entry?.state === 'completed';
        });
        assert.equal((await rig.entries(body.invocation_id)).length, 1);
        const { reserved, consumed } = await rig.budgetOf(token);
        assert.deepEqual([reserved, consumed], [0n, 1000n]);
        // Now that it is recorded, the same key gets the answer that was meant all along.
        const again = await rig.invoke(token.token, 'pay', {}, { headers });
        assert.equal(again.status, 200);
        assert.equal(again.body.invocation_id, body.invocation_id);
        assert.equal(ranNow(), 1);
      });
    }

    test('invoke() reports the outcome of a call that was closed by others while the store was unavailable', async () => {
      const token = await rig.token(BUDGET);
      faults.plan('settle', unavailable);
      const { body } = await rig.invoke(token.token, 'pay');
      assert.equal(body.failure.type, 'outcome_unknown');

      await closeAsUnknown(body.invocation_id);

      await eventually(async () => (await rig.entries(body.invocation_id)).length === 2);
      const entries = await rig.entries(body.invocation_id);
      assert.deepEqual(
        entries.map((each) => [each.entry_type, each.state]),
        [
          ['invocation', 'indeterminate'],
          ['settlement', 'completed'],
        ],
      );
      assert.deepEqual(await rig.indeterminate(), []);
      assert.equal((await rig.budgetOf(token)).consumed, 1000n);
    });

    test('invoke() returns no read, and no bindings of it, that it could not record', async () => {
      const { token } = await rig.token();

      for (const [fault, type] of [
        [unavailable, 'service_unavailable'],
        [lostBefore, 'outcome_unknown'],
        [lostAfter, 'outcome_unknown'],
      ] as const) {
        faults.plan('append', fault);
        const { body } = await rig.invoke(token, 'quote', { price: 5 });
        assert.equal(body.failure.type, type);
        assert.equal('result' in body, false);
        // One entry at most: a second would tell of the call twice.
        const entries = await rig.entries(body.invocation_id);
        assert.equal(entries.length, fault === lostBefore ? 0 : 1);
      }
    });

    test('invoke() does not replay when the replay cannot be recorded', async () => {
      const { token } = await rig.token();
      const headers = { 'idempotency-key': 'replayed' };
      await rig.invoke(token, 'touch', {}, { headers });

      faults.plan('append', unavailable, 2);
      const { status, body } = await rig.invoke(token, 'touch', {}, { headers });

      assert.equal(status, 503);
      assert.equal(body.success, false);
      assert.equal((await rig.invoke(token, 'touch', {}, { headers })).status, 200);
      assert.equal(ranNow(), 1);
    });

    test('a closed store refuses every call and runs none', async () => {
      const { token } = await rig.token();
      await rig.store.close();

      for (const capability of ['look', 'touch', 'pay']) {
        const { status, body } = await rig.invoke(token, capability);
        assert.equal(status, 503);
        assert.equal(body.failure.type, 'service_unavailable');
      }
      assert.equal(ranNow(), 0);
    });
  });
}
