/**
 * The contract of concurrent calls: each is admitted and settled, and each token inserted, as if alone.
 *
 * A store may batch the requests of one turn; the results must not differ.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { EntryRecord } from '../../../src/domain/log/entry.ts';
import type { Admission, Refused, Settlement } from '../../../src/storage/port/invocation-store.ts';
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
  freezeOf,
  HOUR,
  insert,
  keyOf,
  rootToken,
  settlement,
  usd,
} from '../../support/fixtures.ts';
import type { Cases } from '../cases.ts';
import { entriesSince, money, recordOf, same } from '../observe.ts';
import { admittedOf } from '../race.ts';

export const TOGETHER_CASES: Cases = {
  'insertRoot() of concurrent tokens inserts each, except one whose id is taken': async (store) => {
    const first = await insert(store, rootToken());
    const { size } = await store.sequence();
    const budget = { currency: 'JPY', max_amount: Number.MAX_SAFE_INTEGER };
    const tokens = [
      rootToken({ budget, session_id: 'session-1' }),
      rootToken({ purpose: { task_id: 'trip', nested: { to: ['Zürich', null] } }, scope: [] }),
      rootToken({ concurrent_branches: 'exclusive', capability: 'book_flight' }),
    ];
    const logged = tokens.map(({ token_id }) => entry({ entry_type: 'issuance', token_id }));

    const taken = assert.rejects(store.insertRoot(first, entry()));
    await Promise.all(
      tokens.map((token, place) => store.insertRoot(token, logged[place] as EntryRecord)),
    );
    await taken;

    for (const token of tokens) same((await store.describeToken(token.token_id, 0))?.token, token);
    const kept = await entriesSince(store, size);
    const ids = (entries: readonly { entry_id: string }[]) => entries.map((one) => one.entry_id);
    assert.deepEqual(ids(kept).sort(), ids(logged).sort());
  },

  'admit() of concurrent calls refuses each for its own reason': async (store) => {
    const fine = await insert(store, rootToken({ budget: cents(100) }));
    const poor = await insert(store, rootToken({ budget: cents(1) }));
    const dead = await insert(store, rootToken());
    await store.revokeToken(dead.token_id, at(0), () => entry());
    const busy = await insert(store, rootToken(EXCLUSIVE));
    await store.admit(admission(busy, { leaseUntil: at(HOUR) }));
    const frozen = freezeOf({ what: 'capability', target: 'sell_flight' });
    await store.freeze(frozen, entry());
    const stranger = rootToken();

    const results = await admitAll(store, [
      admission(poor, { charge: usd(2n) }),
      admission(fine, { charge: usd(30n) }),
      admission(stranger),
      admission(busy),
      admission(fine, { intent: { capability: 'sell_flight' } }),
      admission(fine, { charge: { currency: 'EUR', amount: 1n } }),
      admission(dead),
      admission(fine, { now: at(24 * HOUR) }),
      admission(fine, { charge: usd(20n) }),
    ]);

    const state = { currency: 'USD', consumed: 0n };
    const left = { ...state, token_id: fine.token_id, max: 100n };
    const none = { ...state, token_id: poor.token_id, max: 1n, reserved: 0n };
    const refused = results.map((result) => (result.admitted ? result : withoutBudget(result)));
    same(refused, [
      { admitted: false, reason: 'budget', budget: none },
      { admitted: true, budgets: [{ ...left, reserved: 30n }] },
      { admitted: false, reason: 'unknown_token', token_id: stranger.token_id },
      { admitted: false, reason: 'busy', token_id: busy.token_id, until: at(HOUR) },
      { admitted: false, reason: 'frozen', freeze: frozen },
      { admitted: false, reason: 'currency' },
      { admitted: false, reason: 'revoked', token_id: dead.token_id },
      { admitted: false, reason: 'expired', token_id: fine.token_id },
      { admitted: true, budgets: [{ ...left, reserved: 50n }] },
    ]);
    assert.deepEqual(await money(store, [fine, poor]), [
      [50n, 0n],
      [0n, 0n],
    ]);
  },

  'admit() of concurrent calls admits as many as fit, and counts each': async (store) => {
    const line = await chain(store, [{ budget: cents(100) }, {}, { budget: cents(5) }]);
    const leaf = line[2];

    const calls = Array.from({ length: 9 }, () => admission(leaf, { charge: usd(1n) }));
    const results = await admitAll(store, calls);

    const reserved = results.map((result) => result.admitted && result.budgets[1]?.reserved);
    assert.deepEqual(reserved.filter(Boolean).sort(), [1n, 2n, 3n, 4n, 5n]);
    assert.deepEqual(await money(store, line), [
      [5n, 0n],
      [5n, 0n],
    ]);
    assert.equal((await store.abandonedIntents(at(HOUR), 100)).length, 5);
  },

  'admit() of concurrent calls gives one of them an exclusive turn': async (store) => {
    const root = await insert(store, rootToken({ budget: cents(100) }));
    const alone = await insert(store, childToken(root, EXCLUSIVE));
    const below = await insert(store, childToken(alone, { budget: cents(10) }));
    const beside = await insert(store, childToken(root));

    const calls = [below, alone, beside, below, alone].map((token) =>
      admission(token, { charge: usd(1n) }),
    );
    const results = await admitAll(store, calls);

    const reasons = results.map((result) => (result.admitted ? 'admitted' : result.reason));
    assert.deepEqual([...reasons].sort(), ['admitted', 'admitted', 'busy', 'busy', 'busy']);
    assert.equal(reasons[2], 'admitted');
    assert.deepEqual((await money(store, [root]))[0], [2n, 0n]);
  },

  'settle() of calls that end together settles each at its own cost': async (store) => {
    const root = await insert(store, rootToken({ budget: cents(100) }));
    const child = await insert(store, childToken(root, { budget: cents(50) }));
    const keyed = { idempotency: keyOf(child, 'key-1') };
    const calls = [
      admission(child, { charge: usd(10n), ...keyed }),
      admission(root, { charge: usd(10n) }),
      admission(child, { charge: usd(10n) }),
      admission(child),
    ];
    assert.equal(admittedOf(await admitAll(store, calls)), 4);
    const { size } = await store.sequence();
    const [first, second, third, fourth] = calls as [Admission, Admission, Admission, Admission];
    const bound = binding(root, { price: usd(9_007_199_254_740_993n) });

    const done = [
      settlement(first, { actual: 4n }),
      settlement(second, { outcome: 'no_effect', bindings: [bound] }),
      settlement(third, { outcome: 'indeterminate' }),
      settlement(fourth, { outcome: 'failed' }),
    ];
    const results = await settleAll(store, done);

    assert.deepEqual(results, ['settled', 'settled', 'settled', 'settled']);
    assert.deepEqual(await money(store, [root, child]), [
      [0n, 14n],
      [0n, 14n],
    ]);
    await assertLogged(store, size, done);
    const record = await recordOf(store, child.token_id, {
      capability: 'book_flight',
      key: 'key-1',
    });
    assert.deepEqual(record?.answer, done[0]?.answer);
    const { bindings } = await store.load({
      tokenId: root.token_id,
      bindingIds: [bound.binding_id],
    });
    same(bindings, [bound]);
  },

  'settle() of calls that end together supersedes or repeats each on its own': async (store) => {
    const token = await insert(store, rootToken({ budget: cents(100) }));
    const turns = await insert(store, rootToken(EXCLUSIVE));
    const lost = admission(turns, { leaseUntil: at(HOUR) });
    const winner = admission(turns, { now: at(HOUR), leaseUntil: at(2 * HOUR) });
    await store.admit(lost);
    await store.admit(winner);
    const calls = Array.from({ length: 4 }, () => admission(token, { charge: usd(10n) }));
    await admitAll(store, calls);
    const [closed, repeated, fresh, twice] = calls as [Admission, Admission, Admission, Admission];
    await store.settle(settlement(closed, { actual: 1n }));
    const again = settlement(repeated, { actual: 2n });
    await store.settle(again);
    const { size } = await store.sequence();

    const once = settlement(twice, { actual: 4n });
    const done = settlement(fresh, { actual: 3n });
    const won = settlement(winner);
    const results = await settleAll(store, [
      settlement(closed),
      again,
      settlement(lost),
      done,
      once,
      once,
      won,
    ]);

    const [superseded, settled] = ['superseded', 'settled'];
    const expected = [superseded, settled, superseded, settled, settled, settled, settled];
    assert.deepEqual(results, expected);
    assert.deepEqual(await money(store, [token]), [[0n, 10n]]);
    await assertLogged(store, size, [done, once, won]);
  },

  'settle() of a call that was never admitted fails alone': async (store) => {
    const token = await insert(store, rootToken({ budget: cents(100) }));
    const calls = Array.from({ length: 3 }, () => admission(token, { charge: usd(10n) }));
    await admitAll(store, calls);
    const { size } = await store.sequence();
    const done = calls.map((call) => settlement(call));

    const defect = assert.rejects(store.settle(settlement(admission(token))), /Cannot settle/);
    const results = await settleAll(store, done);
    await defect;

    assert.deepEqual(results, ['settled', 'settled', 'settled']);
    assert.deepEqual(await money(store, [token]), [[0n, 30n]]);
    await assertLogged(store, size, done);
  },

  'admit() of a call whose id is taken fails alone': async (store) => {
    const token = await insert(store, rootToken({ budget: cents(100) }));
    const first = await admitCall(store, token, { charge: usd(10n) });

    const defect = assert.rejects(store.admit(first));
    const calls = Array.from({ length: 3 }, () => admission(token, { charge: usd(10n) }));
    const results = await admitAll(store, calls);
    await defect;

    assert.equal(admittedOf(results), 3);
    assert.deepEqual(await money(store, [token]), [[40n, 0n]]);
  },
};

function admitAll(store: Store, calls: readonly Admission[]) {
  return Promise.all(calls.map((call) => store.admit(call)));
}

function settleAll(store: Store, settlements: readonly Settlement[]) {
  return Promise.all(settlements.map((settled) => store.settle(settled)));
}

/** The store decides which call of a batch reserves first. */
function withoutBudget(refused: Refused): unknown {
  if (refused.reason !== 'currency') return refused;
  return { admitted: false, reason: refused.reason };
}

/** Fails unless the log has grown by exactly these entries. */
async function assertLogged(
  store: Store,
  size: number,
  done: readonly Settlement[],
): Promise<void> {
  const kept = await entriesSince(store, size);
  assert.deepEqual(
    kept.map(({ entry_id }) => entry_id).sort(),
    done.map((settled) => settled.entry.entry_id).sort(),
  );
}
