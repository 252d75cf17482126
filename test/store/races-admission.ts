/**
 * Races for admission: budgets, grant uses, keys and leases are never taken twice, and no call is admitted
 * after an acknowledged revocation or freeze.
 *
 * @module
 */

import assert from 'node:assert/strict';
import {
  admission,
  at,
  cents,
  chain,
  childToken,
  EXCLUSIVE,
  entry,
  freezeOf,
  granted,
  HOUR,
  insert,
  keyOf,
  rootToken,
  settlement,
  usd,
  useOf,
} from '../support/fixtures.ts';
import { grantOf, money } from './observe.ts';
import {
  admittedOf,
  patiently,
  type Races,
  raceOf,
  raceToAdmit,
  reasonsOf,
  storeOf,
} from './race.ts';

export const MONEY_RACES: Races = {
  'admit() yields exactly what a budget allows to racing callers, six tokens deep': async (
    stores,
    { callers },
  ) => {
    const wide = { budget: cents(100_000) };
    const line = await chain(stores[0], [wide, { budget: cents(1_000) }, {}, wide, {}, wide]);
    const leaf = line[5];

    const results = await raceToAdmit(stores, callers, () =>
      admission(leaf, { charge: usd(100n) }),
    );

    assert.equal(admittedOf(results), 10);
    assert.deepEqual(reasonsOf(results), ['budget']);
    const expected = line.filter(({ budget }) => budget).map(() => [1_000n, 0n]);
    assert.deepEqual(await money(stores[0], line), expected);
  },

  'admit() yields what the parent allows to racing children together': async (
    stores,
    { callers },
  ) => {
    const parent = await insert(stores[0], rootToken({ budget: cents(10) }));
    const left = await insert(stores[0], childToken(parent, { budget: cents(10) }));
    const right = await insert(stores[0], childToken(parent, { budget: cents(10) }));

    const results = await raceToAdmit(stores, callers, (caller) =>
      admission(caller % 2 === 0 ? left : right, { charge: usd(1n) }),
    );

    assert.equal(admittedOf(results), 10);
    const [taken, ...each] = await money(stores[0], [parent, left, right]);
    assert.deepEqual(taken, [10n, 0n]);
    assert.equal(
      each.reduce((sum, [reserved]) => sum + reserved, 0n),
      10n,
    );
  },

  'settle() and admit() racing never lose or make money': async (stores, { callers }) => {
    const line = await chain(stores[0], [{ budget: cents(30) }, { budget: cents(20) }]);
    const leaf = line[1];

    const spent = await raceOf(stores, callers, async (store, caller) => {
      const call = admission(leaf, { charge: usd(2n) });
      // Not by instance: one instance may admit all of them.
      const actual = BigInt(Math.floor(caller / stores.length) % 3);
      const done = settlement(call, { actual });
      if (!(await patiently(() => store.admit(call))).admitted) return 0n;
      await patiently(() => storeOf(stores, caller + 1).settle(done));
      return actual;
    });

    const total = spent.reduce((sum, amount) => sum + amount, 0n);
    assert.deepEqual(await money(stores[0], line), [
      [0n, total],
      [0n, total],
    ]);
    assert.equal(total > 0n && total <= 20n, true);
  },

  'settle() and reconcile() happen once for racing callers': async (stores) => {
    const token = await insert(stores[0], rootToken({ budget: cents(100) }));
    const call = admission(token, { charge: usd(40n) });
    await stores[0].admit(call);

    const settled = await raceOf(stores, 24, (store) =>
      store.settle(settlement(call, { outcome: 'indeterminate' })),
    );
    const reconciled = await raceOf(stores, 24, (store) =>
      store.reconcile(call.intent.invocation_id, true, () => entry()),
    );

    assert.equal(settled.filter((result) => result === 'settled').length, 1);
    assert.equal(reconciled.filter((result) => result !== undefined).length, 1);
    assert.deepEqual(await money(stores[0], [token]), [[0n, 0n]]);
    assert.equal((await stores[0].sequence()).size, 3, 'issued, settled, reconciled');
  },
};

export const CLAIM_RACES: Races = {
  'admit() yields exactly max_uses uses of a grant to racing callers': async (
    stores,
    { callers },
  ) => {
    const token = await insert(stores[0], rootToken());
    const session = { grant_type: 'session_bound', session_id: 's', max_uses: 7 } as const;
    const grant = await granted(stores[0], token, session);

    const results = await raceToAdmit(stores, Math.ceil(callers * 2.5), () =>
      admission(token, { grant: useOf(grant) }),
    );

    assert.equal(admittedOf(results), 7);
    assert.deepEqual(reasonsOf(results), ['grant']);
    assert.equal((await grantOf(stores[0], token.token_id, grant.grant_id))?.uses, 7);
  },

  'admit() yields a key to one of racing callers': async (stores) => {
    const token = await insert(stores[0], rootToken());
    const idempotency = keyOf(token, 'key');

    const results = await raceToAdmit(stores, 50, () => admission(token, { idempotency }));

    assert.equal(admittedOf(results), 1);
    assert.deepEqual(reasonsOf(results), ['key']);
  },

  'admit() yields a key that need not be kept to one of racing callers': async (stores) => {
    const token = await insert(stores[0], rootToken());
    const idempotency = { ...keyOf(token, 'key'), keepUntil: at(HOUR) };
    const first = admission(token, { idempotency });
    await stores[0].admit(first);
    await stores[0].settle(settlement(first));
    const next = { now: at(HOUR), idempotency: { ...idempotency, keepUntil: at(2 * HOUR) } };

    const results = await raceToAdmit(stores, 50, () => admission(token, next));

    assert.equal(admittedOf(results), 1);
    assert.deepEqual(reasonsOf(results), ['key']);
  },

  'admit() yields an exclusive token to one of racing callers': async (stores) => {
    const root = await insert(stores[0], rootToken(EXCLUSIVE));
    const child = await insert(stores[0], childToken(root, EXCLUSIVE));

    const results = await raceToAdmit(stores, 50, (caller) =>
      admission(caller % 2 === 0 ? root : child),
    );

    assert.equal(admittedOf(results), 1);
    assert.deepEqual(reasonsOf(results), ['busy']);
  },

  'admit() yields a lease that ran out to one of racing callers': async (stores) => {
    const token = await insert(stores[0], rootToken(EXCLUSIVE));
    await stores[0].admit(admission(token, { leaseUntil: at(HOUR) }));

    const results = await raceToAdmit(stores, 50, () => admission(token, { now: at(HOUR) }));

    assert.equal(admittedOf(results), 1);
    assert.deepEqual(reasonsOf(results), ['busy']);
  },

  'admit() fails when it started after a revocation was acknowledged': async (
    stores,
    { callers },
  ) => {
    const line = await chain(stores[0], [{}, {}, {}]);
    const [root, , leaf] = line;

    const before = raceToAdmit(stores, callers, () => admission(leaf));
    await storeOf(stores, 1).revokeToken(root.token_id, at(1), () => entry());
    const after = await raceToAdmit(stores, callers, () => admission(leaf));
    await before;

    assert.equal(admittedOf(after), 0);
    assert.deepEqual(reasonsOf(after), ['revoked']);
  },

  'admit() fails when it started after a freeze was acknowledged': async (stores, { callers }) => {
    const token = await insert(stores[0], rootToken());
    const freeze = freezeOf({ what: 'root_principal', target: token.root_principal });

    const before = raceToAdmit(stores, callers, () => admission(token));
    await storeOf(stores, 1).freeze(freeze, entry());
    const after = await raceToAdmit(stores, callers, () => admission(token));
    await before;

    assert.equal(admittedOf(after), 0);
    assert.deepEqual(reasonsOf(after), ['frozen']);
  },
};
