/**
 * The contract of composed calls: each step and each compensation is claimed once and ends once, and an
 * adopting process finds everything that the former one recorded.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { BegunStep, EndedStep } from '../../../src/storage/port/composition-store.ts';
import type { Admission } from '../../../src/storage/port/invocation-store.ts';
import type { TokenRecord } from '../../../src/storage/port/records.ts';
import type { Store } from '../../../src/storage/port/store.ts';
import {
  type admission,
  admitCall,
  at,
  binding,
  chain,
  entry,
  HOUR,
  insert,
  newId,
  rootToken,
  SECOND,
  settlement,
  usd,
} from '../../support/fixtures.ts';
import type { Cases } from '../cases.ts';
import { entriesSince, same } from '../observe.ts';
import { raceOf } from '../race.ts';

const ME = 'instance-1';
const OTHER = 'instance-2';

/** Later than the last heartbeat of every process of a case. */
const ALL_SILENT = at(HOUR);

function begun({ intent }: Admission, changed: Partial<BegunStep> = {}): BegunStep {
  return {
    operation_id: intent.operation_id,
    role: 'step',
    step_id: 'hold',
    invocation_id: newId('inv-'),
    capability: 'hold_seat',
    parameters: { flight: 'LH 400' },
    ...changed,
  };
}

function ended(step: BegunStep, changed: Partial<EndedStep> = {}): EndedStep {
  return { ...step, outcome: 'completed', output: { hold_id: 'H-1', list: [1, null] }, ...changed };
}

async function composed(
  store: Store,
  changed: Parameters<typeof admission>[1] = {},
): Promise<{ token: TokenRecord; call: Admission }> {
  const [token] = await chain(store, [{}]);
  const call = await admitCall(store, token, { composed: GIVEN, ...changed });
  return { token, call };
}

/** The parameters of the composed call, with a character that `jsonb` refuses. */
const GIVEN = { date: '2030-01-01', odd: 'a\u0000b' };

const NOTHING = { bindings: [] } as const;

export const STEP_CASES: Cases = {
  'beginStep() claims a step for one invocation, however often it asks': async (store) => {
    const { call } = await composed(store);
    const step = begun(call);

    assert.equal(await store.beginStep(step, ME), true);
    assert.equal(await store.beginStep(step, ME), true);
    assert.equal(await store.beginStep({ ...step, invocation_id: newId('inv-') }, ME), false);
  },

  'beginStep() distinguishes a step, its compensation and other steps': async (store) => {
    const { call } = await composed(store);
    const other = await composed(store);

    assert.equal(await store.beginStep(begun(call), ME), true);
    assert.equal(await store.beginStep(begun(call, { role: 'compensation' }), ME), true);
    assert.equal(await store.beginStep(begun(call, { step_id: 'book' }), ME), true);
    assert.equal(await store.beginStep(begun(other.call), ME), true);
  },

  'beginStep() yields one claim to racing invocations': async (store) => {
    const { call } = await composed(store);

    const claims = await raceOf([store], 8, () => store.beginStep(begun(call), ME));

    assert.equal(claims.filter(Boolean).length, 1);
  },

  'beginStep() refuses a step that has ended': async (store) => {
    const { call } = await composed(store);
    const step = begun(call);
    await store.beginStep(step, ME);
    await store.endStep(ended(step), ME, NOTHING);

    assert.equal(await store.beginStep(step, ME), false);
  },

  'beginStep() refuses calls that are unknown, not composed, closed or owned by another process':
    async (store) => {
      const plain = await admitCall(store, await insert(store, rootToken()));
      const { call } = await composed(store);
      const closed = await composed(store);
      await store.settle(settlement(closed.call));

      for (const role of ['step', 'compensation'] as const) {
        assert.equal(await store.beginStep(begun(call, { role }), OTHER), false);
        assert.equal(await store.beginStep(begun(plain, { role }), ME), false);
        assert.equal(await store.beginStep(begun(closed.call, { role }), ME), false);
        assert.equal(
          await store.beginStep(begun(call, { role, operation_id: 'op_none' }), ME),
          false,
        );
      }
    },

  'beginStep() lets only compensations follow a call that was closed while it ran': async (
    store,
  ) => {
    const { call } = await composed(store);
    await store.settle(settlement(call, { outcome: 'indeterminate', stillRuns: true }));

    assert.equal(await store.beginStep(begun(call), ME), false);
    assert.equal(await store.beginStep(begun(call, { role: 'compensation' }), ME), true);
  },

  'endStep() stores the entry, the bindings and the rollback window': async (store) => {
    const { token, call } = await composed(store);
    const step = begun(call);
    await store.beginStep(step, ME);
    const { size } = await store.sequence();
    const logged = entry({ invocation_id: step.invocation_id });
    const pinned = binding(token);
    const window = { ...windowOf(token), until: at(HOUR) };

    const done = await store.endStep(ended(step), ME, {
      entry: logged,
      bindings: [pinned],
      rollback: window,
    });

    assert.equal(done, true);
    same(await entriesSince(store, size), [{ ...logged, sequence: size }]);
    const { bindings } = await store.load({
      tokenId: token.token_id,
      bindingIds: [pinned.binding_id],
    });
    same(bindings, [pinned]);
    same(await store.rollbackUntil(window), at(HOUR));
  },

  'endStep() changes nothing when repeated, and refuses another outcome': async (store) => {
    const { call } = await composed(store);
    const step = begun(call);
    await store.beginStep(step, ME);
    const { size } = await store.sequence();
    const logged = entry({ invocation_id: step.invocation_id });
    const kept = { entry: logged, bindings: [] };
    await store.endStep(ended(step), ME, kept);

    assert.equal(await store.endStep(ended(step), ME, kept), true);
    assert.equal(await store.endStep(ended(step, { outcome: 'failed' }), ME, kept), false);
    assert.equal(await store.endStep(ended(step), ME, { ...kept, entry: entry() }), false);
    assert.equal((await entriesSince(store, size)).length, 1);
  },

  'endStep() repeated by the process that lost the call is the same as once': async (store) => {
    const { call } = await composed(store);
    const step = begun(call);
    await store.beginStep(step, ME);
    const kept = { entry: entry({ invocation_id: step.invocation_id }), bindings: [] };
    await store.endStep(ended(step), ME, kept);
    const { size } = await store.sequence();
    await store.adoptComposition('another', at(HOUR));

    assert.equal(await store.endStep(ended(step), ME, kept), true);
    assert.deepEqual(await entriesSince(store, size), []);
  },

  'endStep() refuses a step that did not begin, or that another process owns': async (store) => {
    const { call } = await composed(store);
    const step = begun(call);
    const { size } = await store.sequence();
    const kept = { entry: entry(), bindings: [] };

    assert.equal(await store.endStep(ended(step), ME, kept), false);
    await store.beginStep(step, ME);
    assert.equal(await store.endStep(ended(step), OTHER, kept), false);
    const stranger = ended({ ...step, invocation_id: newId('inv-') });
    assert.equal(await store.endStep(stranger, ME, kept), false);
    assert.equal((await entriesSince(store, size)).length, 0);
  },
};

export const ADOPTION_CASES: Cases = {
  'adoptComposition() hands over the call with its steps, in the order in which they began': async (
    store,
  ) => {
    const { call } = await composed(store, { charge: usd(30n) });
    const output = { text: 'a\u0000b', nested: [{ __proto__x: 1 }] };
    const first = begun(call, { step_id: 'zebra' });
    const second = begun(call, { step_id: 'apple', parameters: { half: '\ud800' } });
    await store.beginStep(first, ME);
    await store.endStep(ended(first, { output, drawn: 7n }), ME, NOTHING);
    await store.beginStep(second, ME);

    const adopted = await store.adoptComposition(OTHER, ALL_SILENT);

    assert.equal(adopted?.isSettled, false);
    same(adopted.parameters, GIVEN);
    same(adopted.intent, { ...call.intent, instance_id: OTHER });
    same(adopted.steps, [ended(first, { output, drawn: 7n }), second]);
  },

  'adoptComposition() takes the call from its former process': async (store) => {
    const { call } = await composed(store);
    const step = begun(call);
    await store.beginStep(step, ME);
    await store.adoptComposition(OTHER, ALL_SILENT);

    assert.equal(await store.beginStep(begun(call, { step_id: 'next' }), ME), false);
    assert.equal(await store.endStep(ended(step), ME, NOTHING), false);
    assert.equal(await store.endStep(ended(step), OTHER, NOTHING), true);
  },

  'adoptComposition() takes the oldest of those whose process is silent, each once': async (
    store,
  ) => {
    const later = await composed(store, { now: at(3 * SECOND) });
    const earlier = await composed(store, { now: at(2 * SECOND) });
    await composed(store, { intent: { instance_id: 'alive' } });
    await store.heartbeat('alive', at(2 * HOUR));

    const adopted = await raceOf([store], 3, () => store.adoptComposition(OTHER, ALL_SILENT));
    const ids = adopted.map((each) => each?.intent.operation_id);

    assert.deepEqual(
      ids.filter(Boolean).sort(),
      [earlier.call, later.call].map(({ intent }) => intent.operation_id).sort(),
    );
    assert.equal(await store.adoptComposition(OTHER, ALL_SILENT), undefined);
    const third = await store.adoptComposition('instance-3', ALL_SILENT);
    assert.equal(third?.intent.operation_id, earlier.call.intent.operation_id);
  },

  'adoptComposition() finds only composed calls, and abandonedIntents() only the others': async (
    store,
  ) => {
    const plain = await admitCall(store, await insert(store, rootToken()));
    const { call } = await composed(store);

    const abandoned = await store.abandonedIntents(ALL_SILENT, 10);
    const adopted = await store.adoptComposition(OTHER, ALL_SILENT);

    same(abandoned, [plain.intent]);
    assert.equal(adopted?.intent.operation_id, call.intent.operation_id);
    assert.equal(await store.adoptComposition(OTHER, ALL_SILENT), undefined);
  },

  'adoptComposition() finds a call closed while it ran, until its release': async (store) => {
    const { call } = await composed(store);
    const step = begun(call);
    await store.beginStep(step, ME);
    await store.settle(settlement(call, { outcome: 'indeterminate', stillRuns: true }));

    const adopted = await store.adoptComposition(OTHER, ALL_SILENT);
    await store.releaseLeases(call.intent.operation_id);

    assert.equal(adopted?.isSettled, true);
    same(adopted.steps, [step]);
    assert.equal(await store.adoptComposition('instance-3', ALL_SILENT), undefined);
    assert.equal(await store.beginStep(begun(call, { role: 'compensation' }), OTHER), false);
  },

  'returnComposition() makes the call adoptable at once, and only for its owner': async (store) => {
    const { call } = await composed(store);
    const id = call.intent.operation_id;
    await store.heartbeat(ME, at(2 * HOUR));
    await store.returnComposition(id, OTHER);
    assert.equal(await store.adoptComposition(OTHER, at(HOUR)), undefined);

    await store.returnComposition(id, ME);

    assert.equal(await store.beginStep(begun(call), ME), false);
    const again = await store.adoptComposition(ME, at(HOUR));
    assert.equal(again?.intent.operation_id, id);
    assert.equal(await store.beginStep(begun(call), ME), true);
  },

  'settle() removes the steps of a composed call, whatever its outcome': async (store) => {
    for (const outcome of ['completed', 'failed', 'no_effect', 'indeterminate'] as const) {
      const { call } = await composed(store);
      await store.beginStep(begun(call), ME);

      await store.settle(settlement(call, { outcome }));

      assert.equal(await store.adoptComposition(OTHER, ALL_SILENT), undefined);
    }
  },
};

export const ROLLBACK_CASES: Cases = {
  'rollbackUntil() returns the window of a settled call, by its values': async (store) => {
    const token = await insert(store, rootToken());
    const call = await admitCall(store, token);
    const window = { ...windowOf(token), until: at(HOUR) };

    await store.settle(settlement(call, { rollback: window }));

    same(await store.rollbackUntil(window), at(HOUR));
    for (const other of [
      { capability: 'cancel' },
      { root_principal: 'human:x' },
      { digest: 'sha256:b' },
    ]) {
      assert.equal(await store.rollbackUntil({ ...window, ...other }), undefined);
    }
  },

  'settle() keeps the latest of several windows': async (store) => {
    const token = await insert(store, rootToken());
    for (const until of [at(2 * HOUR), at(HOUR)]) {
      const call = await admitCall(store, token);
      await store.settle(settlement(call, { rollback: { ...windowOf(token), until } }));
    }

    same(await store.rollbackUntil(windowOf(token)), at(2 * HOUR));
  },

  'settle() stores no window for a call with another outcome': async (store) => {
    const token = await insert(store, rootToken());
    const call = await admitCall(store, token);
    await store.settle(settlement(call, { outcome: 'indeterminate' }));

    const rollback = { ...windowOf(token), until: at(HOUR) };
    const result = await store.settle(settlement(call, { rollback }));

    assert.equal(result, 'superseded');
    assert.equal(await store.rollbackUntil(rollback), undefined);
  },
};

function windowOf({ root_principal }: TokenRecord) {
  return { capability: 'release_seat', root_principal, digest: 'sha256:a' };
}
