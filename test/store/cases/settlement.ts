/**
 * The contract of `settle`: money, releases, and that it happens once.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { Admission, Settlement } from '../../../src/storage/port/invocation-store.ts';
import type { TokenRecord } from '../../../src/storage/port/records.ts';
import type { Store } from '../../../src/storage/port/store.ts';
import {
  admission,
  admitCall,
  at,
  binding,
  cents,
  chain,
  childToken,
  EXCLUSIVE,
  entry,
  granted,
  HOUR,
  insert,
  keyOf,
  newId,
  rootToken,
  settlement,
  unstorableEntry,
  usd,
  useOf,
} from '../../support/fixtures.ts';
import type { Cases } from '../cases.ts';
import { entriesSince, grantOf, money, recordOf, same, unchanged } from '../observe.ts';

/** 100 were reserved; how much of it each outcome consumes. */
const CONSUMED: [outcome: Settlement['outcome'], actual: bigint | undefined, consumed: bigint][] = [
  ['completed', undefined, 100n],
  ['completed', 100n, 100n],
  ['completed', 30n, 30n],
  ['completed', 0n, 0n],
  ['failed', undefined, 100n],
  ['failed', 1n, 1n],
  ['no_effect', undefined, 0n],
  ['indeterminate', undefined, 100n],
];

export const OUTCOME_CASES: Cases = Object.fromEntries(
  CONSUMED.map(([outcome, actual, consumed]) => [
    `settle() consumes ${consumed} of 100 when a call is ${outcome} at ${actual ?? 'no'} actual cost`,
    async (store: Store) => {
      const line = await chain(store, [{ budget: cents(900) }, {}, { budget: cents(100) }]);
      const call = await admitCall(store, line[2], { charge: usd(100n) });

      const result = await store.settle(settlement(call, { outcome, actual }));

      assert.equal(result, 'settled');
      assert.deepEqual(await money(store, line), [
        [0n, consumed],
        [0n, consumed],
      ]);
    },
  ]),
);

export const SETTLEMENT_CASES: Cases = {
  'settle() leaves what other calls reserved and consumed': async (store) => {
    const line = await chain(store, [{ budget: cents(900) }, { budget: cents(800) }]);
    const [root, child] = line;
    const call = admission(child, { charge: usd(50n) });
    await store.admit(admission(root, { charge: usd(7n) }));
    await store.admit(admission(child, { charge: usd(20n) }));
    await store.admit(call);

    await store.settle(settlement(call, { actual: 45n }));

    assert.deepEqual(await money(store, line), [
      [27n, 45n],
      [20n, 45n],
    ]);
  },

  'settle() keeps the money exact beyond what a double holds': async (store) => {
    const token = await insert(
      store,
      rootToken({ budget: { currency: 'JPY', max_amount: Number.MAX_SAFE_INTEGER } }),
    );
    const most = BigInt(Number.MAX_SAFE_INTEGER);
    const call = await admitCall(store, token, { charge: { currency: 'JPY', amount: most } });

    await store.settle(settlement(call, { actual: most - 1n }));

    assert.deepEqual(await money(store, [token]), [[0n, most - 1n]]);
  },

  'settle() keeps the entry and closes the intent': async (store) => {
    const { call, size } = await admitted(store);
    const done = settlement(call);

    await store.settle(done);

    same(await entriesSince(store, size), [{ ...done.entry, sequence: size }]);
    same(await store.abandonedIntents(at(HOUR), 10), []);
    same(await store.indeterminate(10), []);
  },

  'settle() keeps the answer of a call that had a key, whatever its outcome': async (store) => {
    for (const outcome of ['completed', 'failed', 'no_effect', 'indeterminate'] as const) {
      const token = await insert(store, rootToken());
      const call = await admitCall(store, token, { idempotency: keyOf(token, 'k') });
      const answer = Uint8Array.from([0, 255, 10, 0, 128]);

      await store.settle(settlement(call, { outcome, answer }));

      const record = await recordOf(store, token.token_id, keyOf(token, 'k'));
      same(record?.answer, answer);
    }
  },

  'settle() keeps the bindings that the call issued, exactly': async (store) => {
    const { token, call } = await admitted(store);
    const priced = binding(token, { price: usd(12_345n), data: { a: { b: ['ü', 1.5, null] } } });
    const free = binding(token, { type: 'seat', capability: 'choose_seat', issued_at: at(7) });

    await store.settle(settlement(call, { bindings: [priced, free] }));

    const bindingIds = [priced.binding_id, free.binding_id];
    const { bindings } = await store.load({ tokenId: token.token_id, bindingIds });
    const byId = new Map(bindings.map((kept) => [kept.binding_id, kept]));
    same(byId.get(priced.binding_id), priced);
    same(byId.get(free.binding_id), free);
  },

  'settle() does not give a grant use back': async (store) => {
    for (const outcome of ['failed', 'no_effect', 'indeterminate'] as const) {
      const token = await insert(store, rootToken());
      const grant = await granted(store, token);
      const call = await admitCall(store, token, { grant: useOf(grant) });

      await store.settle(settlement(call, { outcome }));

      assert.equal((await grantOf(store, token.token_id, grant.grant_id))?.uses, 1);
    }
  },

  'settle() releases the leases, whatever the outcome': async (store) => {
    for (const outcome of ['completed', 'failed', 'no_effect', 'indeterminate'] as const) {
      const line = await chain(store, [EXCLUSIVE, EXCLUSIVE]);
      const call = await admitCall(store, line[1], { leaseUntil: at(HOUR) });

      await store.settle(settlement(call, { outcome }));

      assert.equal((await store.admit(admission(line[1]))).admitted, true);
    }
  },

  'settle() works for a call whose token was revoked or expired meanwhile': async (store) => {
    const token = await insert(store, rootToken({ budget: cents(10), expires_at: at(HOUR) }));
    const call = await admitCall(store, token, { charge: usd(4n) });
    await store.revokeToken(token.token_id, at(HOUR), () => entry());

    const result = await store.settle(settlement(call, { actual: 3n, now: at(2 * HOUR) }));

    assert.equal(result, 'settled');
    assert.deepEqual(await money(store, [token]), [[0n, 3n]]);
  },

  'settle() charges no child that was made after the admission': async (store) => {
    const root = await insert(store, rootToken({ budget: cents(10) }));
    const call = await admitCall(store, root, { charge: usd(4n) });
    const child = await insert(store, childToken(root, { budget: cents(10) }));

    await store.settle(settlement(call));

    assert.deepEqual(await money(store, [root, child]), [
      [0n, 4n],
      [0n, 0n],
    ]);
  },

  'settle() rejects an actual cost above the reservation, and changes nothing': async (store) => {
    const { token, call } = await admitted(store, { charge: usd(50n) });

    await unchanged(store, { tokens: [token.token_id] }, () =>
      assert.rejects(store.settle(settlement(call, { actual: 51n }))),
    );
    assert.equal(await store.settle(settlement(call, { actual: 50n })), 'settled');
  },

  'settle() rejects a negative cost, which would give money': async (store) => {
    const { token, call } = await admitted(store, { charge: usd(50n) });
    const other = await admitCall(store, token, { charge: usd(40n) });
    await store.settle(settlement(other));

    await unchanged(store, { tokens: [token.token_id] }, () =>
      assert.rejects(store.settle(settlement(call, { actual: -1n }))),
    );
  },

  'settle() rejects a call that was never admitted, and stores nothing': async (store) => {
    const token = await insert(store, rootToken({ budget: cents(10) }));
    const stray = admission(token, { charge: usd(1n) });
    const keys = [keyOf(token, 'k')];

    const result = await unchanged(store, { tokens: [token.token_id], keys }, () =>
      store.settle(settlement(stray, { bindings: [binding(token)] })).catch(() => 'rejected'),
    );

    assert.notEqual(result, 'settled');
  },
};

export const ONCE_CASES: Cases = {
  'settle() with the same entry again is the same as once': async (store) => {
    const { token, call } = await admitted(store, { charge: usd(50n), key: 'k' });
    const done = settlement(call, { actual: 20n, bindings: [binding(token)] });
    await store.settle(done);

    const again = await unchanged(
      store,
      { tokens: [token.token_id], keys: [keyOf(token, 'k')] },
      () => store.settle(done),
    );

    assert.equal(again, 'settled');
  },

  'settle() with another entry is superseded, and changes nothing': async (store) => {
    for (const outcome of ['completed', 'indeterminate'] as const) {
      const { token, call } = await admitted(store, { charge: usd(50n), key: 'k' });
      await store.settle(settlement(call, { outcome }));
      const watched = { tokens: [token.token_id], keys: [keyOf(token, 'k')] };

      for (const late of ['completed', 'no_effect', 'indeterminate'] as const) {
        const issued = binding(token);
        const result = await unchanged(store, watched, () =>
          store.settle(settlement(call, { outcome: late, bindings: [issued] })),
        );
        assert.equal(result, 'superseded');
        const bindingIds = [issued.binding_id];
        same((await store.load({ tokenId: token.token_id, bindingIds })).bindings, []);
      }
    }
  },

  'settle() is superseded when the lease was lost to another call': async (store) => {
    for (const outcome of ['completed', 'failed', 'no_effect'] as const) {
      const { token, slow } = await overtaken(store);

      const result = await unchanged(store, { tokens: [token.token_id] }, () =>
        store.settle(settlement(slow, { outcome })),
      );

      assert.equal(result, 'superseded');
    }
  },

  'settle() as indeterminate closes a call whose lease was lost': async (store) => {
    const { token, slow, next } = await overtaken(store);
    const { size } = await store.sequence();
    const lost = settlement(slow, { outcome: 'indeterminate' });

    const result = await store.settle(lost);

    assert.equal(result, 'settled');
    assert.deepEqual(await money(store, [token]), [[5n, 50n]]);
    same(await entriesSince(store, size), [{ ...lost.entry, sequence: size }]);
    const stillBusy = await store.admit(admission(token, { now: at(HOUR) }));
    assert.equal(!stillBusy.admitted && stillBusy.reason, 'busy', 'the lease is not the loser’s');
    assert.equal(await store.settle(settlement(next)), 'settled');
  },

  'settle() is superseded when one of two leases was lost': async (store) => {
    const [root, leaf] = await chain(store, [EXCLUSIVE, EXCLUSIVE]);
    const slow = await admitCall(store, leaf, { leaseUntil: at(HOUR) });
    await store.admit(admission(root, { now: at(HOUR) }));

    assert.equal(await store.settle(settlement(slow)), 'superseded');
  },

  'settle() is superseded when the lease was lost and the winner has finished': async (store) => {
    const { token, slow, next } = await overtaken(store);
    await store.settle(settlement(next));

    const result = await unchanged(store, { tokens: [token.token_id] }, () =>
      store.settle(settlement(slow)),
    );

    assert.equal(result, 'superseded');
  },

  'settle() accepts a call whose expired lease no other call took': async (store) => {
    const token = await insert(store, rootToken(EXCLUSIVE));
    const slow = await admitCall(store, token, { leaseUntil: at(HOUR) });

    assert.equal(await store.settle(settlement(slow, { now: at(2 * HOUR) })), 'settled');
  },

  'settle() changes nothing when its entry cannot be stored': async (store) => {
    const { token, call } = await admitted(store, { charge: usd(50n) });

    await unchanged(store, { tokens: [token.token_id] }, () =>
      assert.rejects(store.settle(settlement(call, { entry: unstorableEntry() }))),
    );
  },
};

/** A token with a budget and one admitted call under it, with neighbours in the same store. */
async function admitted(store: Store, { charge = usd(10n), key = newId('inv-') } = {}) {
  const token = await insert(store, rootToken({ budget: cents(1_000) }));
  const call = admission(token, { charge, idempotency: keyOf(token, key) });
  assert.equal((await store.admit(call)).admitted, true);
  return { token, call, size: (await store.sequence()).size };
}

/** A slow call under an exclusive token whose lease another call took. */
async function overtaken(
  store: Store,
): Promise<{ token: TokenRecord; slow: Admission; next: Admission }> {
  const token = await insert(
    store,
    rootToken({ budget: cents(1_000), concurrent_branches: 'exclusive' }),
  );
  const slow = admission(token, { charge: usd(50n), leaseUntil: at(HOUR) });
  const next = admission(token, { charge: usd(5n), now: at(HOUR), leaseUntil: at(3 * HOUR) });
  assert.equal((await store.admit(slow)).admitted, true);
  assert.equal((await store.admit(next)).admitted, true);
  return { token, slow, next };
}
