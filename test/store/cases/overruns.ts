/**
 * The contract of overruns: debt on the whole lineage and the freeze that follows, with the settlement or
 * not at all.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { capabilityTarget } from '../../../src/domain/authority/freeze.ts';
import { minorMax } from '../../../src/domain/values/money.ts';
import type { BegunStep } from '../../../src/storage/port/composition-store.ts';
import type { Overrun } from '../../../src/storage/port/invocation-store.ts';
import type { TokenRecord } from '../../../src/storage/port/records.ts';
import type { Store } from '../../../src/storage/port/store.ts';
import {
  admission,
  admitCall,
  at,
  cents,
  chain,
  entry,
  freezeOf,
  newId,
  rootToken,
  settlement,
  usd,
} from '../../support/fixtures.ts';
import type { Cases } from '../cases.ts';
import { entriesSince, money, same } from '../observe.ts';

const debtsOf = (store: Store, tokens: readonly TokenRecord[]) =>
  Promise.all(tokens.map(async ({ token_id }) => (await store.describeToken(token_id, 0))?.debts));

/** An overrun of a call under this token. */
const of = ({ token_id }: TokenRecord, more: Omit<Overrun, 'token_id'>): Overrun => ({
  token_id,
  ...more,
});

/** A freeze of the capability for one root principal, with its entry. */
function freezing({ root_principal }: TokenRecord): NonNullable<Overrun['freeze']> {
  const target = capabilityTarget('book_flight', root_principal);
  const record = freezeOf({ what: 'capability', target, frozen_by: 'service:test' });
  return { record, entry: entry({ entry_type: 'operator' }) };
}

export const OVERRUN_CASES: Cases = {
  'settle() adds an overrun to the debt of every token of the lineage, with or without a budget':
    async (store) => {
      const line = await chain(store, [{ budget: cents(900) }, {}, { budget: cents(100) }]);
      const own = line[2];
      for (const debt of [usd(5n), usd(7n), { currency: 'JPY', amount: 3n }]) {
        const call = await admitCall(store, own, { charge: usd(10n) });
        await store.settle(settlement(call, { outcome: 'completed', overrun: of(own, { debt }) }));
      }

      const owed = [{ currency: 'JPY', amount: 3n }, usd(12n)];
      same(await debtsOf(store, line), [owed, owed, owed]);
      assert.deepEqual(await money(store, line), [
        [0n, 30n],
        [0n, 30n],
      ]);
    },

  'settle() adds an overrun once, however often it is repeated': async (store) => {
    const [root] = await chain(store, [{ budget: cents(900) }]);
    const call = await admitCall(store, root, { charge: usd(10n) });
    const closing = settlement(call, {
      outcome: 'failed',
      overrun: of(root, { debt: usd(5n), freeze: freezing(root) }),
    });

    assert.equal(await store.settle(closing), 'settled');
    const since = (await store.sequence()).size;
    assert.equal(await store.settle(closing), 'settled');
    const other = { ...closing, entry: entry() };
    assert.equal(await store.settle(other), 'superseded');

    same(await debtsOf(store, [root]), [[usd(5n)]]);
    assert.equal((await entriesSince(store, since)).length, 0);
  },

  'settle() keeps debt at the largest amount rather than fail after the effect': async (store) => {
    const [root] = await chain(store, [{}]);
    const debt = usd(minorMax('USD'));
    for (let calls = 0; calls < 3; calls++) {
      const call = await admitCall(store, root);
      assert.equal(
        await store.settle(settlement(call, { outcome: 'completed', overrun: of(root, { debt }) })),
        'settled',
      );
    }

    same(await debtsOf(store, [root]), [[debt]]);
  },

  'settle() freezes with an overrun, in the same step and with its own entry': async (store) => {
    const [root] = await chain(store, [{}]);
    const [other] = await chain(store, [{}]);
    const call = await admitCall(store, root);
    const freeze = freezing(root);
    const since = (await store.sequence()).size;

    await store.settle(settlement(call, { outcome: 'completed', overrun: of(root, { freeze }) }));

    const kept = await entriesSince(store, since);
    assert.deepEqual(
      kept.map(({ entry_type }) => entry_type),
      ['invocation', 'operator'],
    );
    same((await store.listFreezes(2)).freezes, [freeze.record]);
    const refused = await store.admit(admission(root));
    assert.equal(refused.admitted, false);
    assert.equal(!refused.admitted && refused.reason, 'frozen');
    const { freezes } = await store.load({ tokenId: root.token_id, capability: 'book_flight' });
    same(freezes, [freeze.record]);
    // Neither other roots nor other capabilities.
    assert.equal((await store.admit(admission(other))).admitted, true);
    const elsewhere = await store.load({ tokenId: root.token_id, capability: 'cancel_flight' });
    assert.deepEqual(elsewhere.freezes, []);
    assert.equal(await store.unfreeze(freeze.record, entry()), true);
    assert.equal((await store.admit(admission(root))).admitted, true);
  },

  'reconcile() keeps the overrun of a late end with its entry, once': async (store) => {
    const line = await chain(store, [{ budget: cents(900) }, {}]);
    const [root, own] = line;
    const call = await admitCall(store, own, { charge: usd(100n) });
    await store.settle(settlement(call, { outcome: 'indeterminate' }));
    const { invocation_id } = call.intent;
    const freeze = freezing(root);
    const overrun = of(own, { debt: usd(5n), freeze });
    const since = (await store.sequence()).size;

    const first = await store.reconcile(invocation_id, false, () => entry(), { overrun });
    const again = await store.reconcile(invocation_id, false, () => entry(), { overrun });

    assert.equal(typeof first, 'object');
    assert.equal(again, undefined);
    same(await debtsOf(store, line), [[usd(5n)], [usd(5n)]]);
    same((await store.listFreezes(2)).freezes, [freeze.record]);
    assert.equal((await entriesSince(store, since)).length, 2);
    assert.deepEqual(await money(store, line), [[0n, 100n]]);
  },

  'reconcile() keeps no overrun where its actor has ended': async (store) => {
    const [root] = await chain(store, [{}]);
    const call = await admitCall(store, root);
    await store.settle(settlement(call, { outcome: 'indeterminate' }));
    await store.revokeToken(root.token_id, at(0), () => entry());
    const by = { actor: root.token_id, overrun: of(root, { debt: usd(5n) }) };

    const ended = await store.reconcile(call.intent.invocation_id, false, () => entry(), by);

    assert.equal(ended, 'actor_revoked');
    same(await debtsOf(store, [root]), [[]]);
  },

  'append() keeps an overrun with its entries, once, whatever comes with it': async (store) => {
    const line = await chain(store, [{}, {}]);
    const [root, own] = line;
    const freeze = freezing(root);
    const one = entry();
    const since = (await store.sequence()).size;

    await store.append([one], [], of(own, { debt: usd(5n), freeze }));
    await store.sequence();
    await store.append([one], [], of(own, { debt: usd(5n), freeze }), true);

    same(await debtsOf(store, line), [[usd(5n)], [usd(5n)]]);
    same((await store.listFreezes(2)).freezes, [freeze.record]);
    assert.equal((await entriesSince(store, since)).length, 2);
  },

  'admit() names the freeze of a capability before that of it for one root principal': async (
    store,
  ) => {
    const root = rootToken();
    await store.insertRoot(root, entry());
    const narrow = freezing(root).record;
    const wide = freezeOf({ what: 'capability', target: 'book_flight' });
    await store.freeze(narrow, entry());
    await store.freeze(wide, entry());

    const refused = await store.admit(admission(root));
    const { freezes } = await store.load({ tokenId: root.token_id, capability: 'book_flight' });

    same(!refused.admitted && refused.reason === 'frozen' ? refused.freeze : undefined, wide);
    same(freezes, [wide, narrow]);
  },

  'endStep() adds the overrun of a step, once, and freezes with it': async (store) => {
    const line = await chain(store, [{ budget: cents(900) }, {}]);
    const [root, own] = line;
    const call = await admitCall(store, own, { charge: usd(100n), composed: {} });
    const { operation_id, instance_id } = call.intent;
    const begun: BegunStep = {
      operation_id,
      role: 'step',
      step_id: 'one',
      invocation_id: newId('inv-'),
      capability: 'book_flight',
      parameters: {},
    };
    await store.beginStep(begun, instance_id);
    const ended = { ...begun, outcome: 'completed', drawn: 10n } as const;
    const freeze = freezing(root);
    const overrun = of(own, { debt: usd(5n), freeze });
    const kept = { bindings: [], entry: entry(), overrun };

    assert.equal(await store.endStep(ended, instance_id, kept), true);
    assert.equal(await store.endStep(ended, instance_id, kept), true);

    same(await debtsOf(store, line), [[usd(5n)], [usd(5n)]]);
    same((await store.listFreezes(2)).freezes, [freeze.record]);
  },
};
