import assert from 'node:assert/strict';
import { beforeEach, test } from 'vitest';
import { money } from '../../../../test/store/observe.ts';
import { closedAtEnd } from '../../../../test/support/ends.ts';
import {
  admission,
  admitCall,
  at,
  cents,
  chain,
  childToken,
  entry,
  freezeOf,
  insert,
  rootToken,
  settlement,
  usd,
} from '../../../../test/support/fixtures.ts';
import { capabilityTarget } from '../../../domain/authority/freeze.ts';
import type { Admitted, Refused } from '../../port/invocation-store.ts';
import type { Store } from '../../port/store.ts';
import { type Connection, IN_MEMORY, openConnection } from '../connection.ts';
import { createSqliteStore } from '../store.ts';

let connection: Connection;
let store: Store;

beforeEach(() => {
  connection = openConnection(IN_MEMORY);
  store = closedAtEnd(createSqliteStore(connection));
});

/** What each admission was answered: its last reserved amount, or the reason of its refusal. */
function said(result: Admitted | Refused): unknown {
  return result.admitted ? (result.budgets.at(-1)?.reserved ?? 'admitted') : result.reason;
}

test('a call after a revocation or a freeze of the same transaction sees it', async () => {
  const revoked = await insert(store, rootToken({ budget: cents(100) }));
  const frozen = await insert(store, rootToken({ budget: cents(100) }));
  const freeze = freezeOf({ what: 'root_principal', target: frozen.root_principal });

  const results = await Promise.all([
    store.admit(admission(revoked, { charge: usd(1n) })),
    store.admit(admission(frozen, { charge: usd(1n) })),
    store.revokeToken(revoked.token_id, at(0), () => entry()),
    store.admit(admission(revoked, { charge: usd(1n) })),
    store.freeze(freeze, entry()),
    store.admit(admission(frozen, { charge: usd(1n) })),
    store.unfreeze(freeze, entry()),
    store.admit(admission(frozen, { charge: usd(1n) })),
  ]);

  const admissions = [0, 1, 3, 5, 7].map((place) => said(results[place] as Admitted | Refused));
  assert.deepEqual(admissions, [1n, 1n, 'revoked', 'frozen', 2n]);
  assert.deepEqual(await money(store, [revoked, frozen]), [
    [1n, 0n],
    [2n, 0n],
  ]);
});

test('a call after an overrun that freezes its capability is refused', async () => {
  const root = await insert(store, rootToken({ budget: cents(100) }));
  const call = await admitCall(store, root, { charge: usd(10n) });
  const target = capabilityTarget('book_flight', root.root_principal);
  const freeze = {
    record: freezeOf({ what: 'capability', target, frozen_by: 'service:test' }),
    entry: entry({ entry_type: 'operator' }),
  };
  const overrun = { token_id: root.token_id, debt: usd(5n), freeze };

  const [before, , after] = await Promise.all([
    store.admit(admission(root, { charge: usd(1n) })),
    store.settle(settlement(call, { overrun })),
    store.admit(admission(root, { charge: usd(1n) })),
  ]);

  assert.deepEqual([said(before), said(after)], [11n, 'frozen']);
  assert.deepEqual(await money(store, [root]), [[1n, 10n]]);
});

test('a transition that fails takes nothing of the others with it', async () => {
  const line = await chain(store, [{ budget: cents(100) }, { budget: cents(50) }]);
  const [root, child] = line;
  const open = await admitCall(store, child, { charge: usd(10n) });

  const outcomes = await Promise.allSettled([
    store.admit(admission(child, { charge: usd(20n) })),
    store.settle(settlement(open, { actual: 3n })),
    // More than was reserved: a defect of the caller, whose transition is undone.
    store.settle(settlement(open, { actual: 99n, entry: entry() })),
    store.admit(admission(child, { charge: usd(28n) })),
    store.insertRoot(root, entry()),
    store.admit(admission(child, { charge: usd(27n) })),
    store.admit(admission(root, { charge: usd(50n) })),
  ]);

  const statuses = outcomes.map(({ status }) => status);
  assert.equal(statuses[4], 'rejected');
  const admissions = [0, 3, 5, 6].map((place) => {
    const outcome = outcomes[place] as PromiseFulfilledResult<Admitted | Refused>;
    return said(outcome.value);
  });
  assert.deepEqual(admissions, [30n, 'budget', 47n, 97n]);
  assert.deepEqual(await money(store, line), [
    [97n, 3n],
    [47n, 3n],
  ]);
});

test('a child of the same transaction reads the budget that calls before it left', async () => {
  const root = await insert(store, rootToken({ budget: cents(100) }));
  const child = childToken(root, { budget: cents(100) });

  const [admitted, inserted, next] = await Promise.all([
    store.admit(admission(root, { charge: usd(60n) })),
    store.insertChild(child, entry(), { now: at(0), childrenMax: 10, judged: undefined }),
    store.admit(admission(root, { charge: usd(50n) })),
  ]);

  assert.equal(said(admitted), 60n);
  assert.equal(inserted, 'inserted');
  assert.equal(said(next), 'budget');
});

test.each([false, true])(
  'an edited budget fails only the calls that it does not fit; after a failure: %s',
  async (isCareful) => {
    const [edited, other] = [
      await insert(store, rootToken({ budget: cents(100) })),
      await insert(store, rootToken({ budget: cents(100) })),
    ];
    const [broken, fine] = [
      await admitCall(store, edited, { charge: usd(10n) }),
      await admitCall(store, other, { charge: usd(10n) }),
    ];
    connection.run('UPDATE budgets SET reserved = 0 WHERE token_id = ?', edited.token_id);
    if (isCareful) await store.admit(admission(other, { charge: usd(1_000n) }));

    const outcomes = await Promise.allSettled([
      store.admit(admission(other, { charge: usd(1n) })),
      store.settle(settlement(broken, { actual: 3n })),
      store.settle(settlement(fine, { actual: 3n })),
      store.append([entry()]),
    ]);

    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
    );
    assert.deepEqual(await money(store, [edited, other]), [
      [0n, 0n],
      [1n, 3n],
    ]);
  },
);

test('no call of the transaction hides a change that an edited budget does not allow', async () => {
  const root = await insert(store, rootToken({ budget: cents(100) }));
  const call = await admitCall(store, root, { charge: usd(60n) });
  connection.run('UPDATE budgets SET reserved = 0 WHERE token_id = ?', root.token_id);

  const [settled, admitted] = await Promise.allSettled([
    store.settle(settlement(call, { outcome: 'no_effect' })),
    store.admit(admission(root, { charge: usd(100n) })),
  ]);

  assert.equal(settled.status, 'rejected');
  assert.equal(admitted.status === 'fulfilled' && said(admitted.value), 100n);
  assert.deepEqual(await money(store, [root]), [[100n, 0n]]);
});
