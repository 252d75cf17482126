/**
 * The contract of `LogStore.erase`: what is erased, what stays, and the limit of one call.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { EntryRecord, StoredEntry } from '../../../src/domain/log/entry.ts';
import type { TokenRecord } from '../../../src/storage/port/records.ts';
import type { Erasure, Store } from '../../../src/storage/port/store.ts';
import {
  admission,
  admitCall,
  at,
  entry,
  insert,
  keyOf,
  newId,
  rootToken,
  settlement,
} from '../../support/fixtures.ts';
import type { Cases } from '../cases.ts';
import { same } from '../observe.ts';

function minute(after: number): Date {
  return at(after * 60_000);
}

/** Appends, and waits until every entry has its place. */
async function fill(store: Store, entries: readonly EntryRecord[]): Promise<void> {
  await store.append(entries);
  await store.sequence();
}

/** An entry with every erasable field, `after` minutes after the start. */
function full(after: number, changed: Parameters<typeof entry>[0] = {}): EntryRecord {
  return entry({
    capability: 'book_flight',
    invocation_id: newId('inv-'),
    task_id: 'task',
    client_reference_id: 'ref',
    parent_invocation_id: newId('inv-'),
    timestamp: minute(after).toISOString(),
    ...changed,
  });
}

function withoutPersonal(stored: StoredEntry): StoredEntry {
  const gone = { personal: undefined, client_reference_id: undefined, task_id: undefined };
  return { ...stored, ...gone, actor_key: '', root_principal: '' };
}

function withoutContents(stored: StoredEntry): StoredEntry {
  const gone = { leaf: undefined, capability: undefined, invocation_id: undefined };
  return { ...withoutPersonal(stored), ...gone, parent_invocation_id: undefined };
}

const LOW: Pick<Extract<Erasure, { what: 'contents' }>, 'what' | 'eventClass'> = {
  what: 'contents',
  eventClass: 'low_risk_success',
};

async function kept(store: Store): Promise<readonly StoredEntry[]> {
  await store.sequence();
  return store.scanEntries(0, 100);
}

/** The keys that a call finds taken. */
async function claimed(store: Store, token: TokenRecord): Promise<boolean[]> {
  const results: boolean[] = [];
  for (const place of [0, 1, 2]) {
    const idempotency = keyOf(token, `key ${place}`);
    const { admitted } = await store.admit(admission(token, { idempotency }));
    results.push(!admitted);
  }
  return results;
}

export const RETENTION_CASES: Cases = {
  'erase() takes the contents of one class that are not later, and nothing else': async (store) => {
    const high = { event_class: 'high_risk_failure', success: false } as const;
    await fill(store, [full(0), full(1, high), full(2), full(3)]);
    const [first, second, third, fourth] = await kept(store);

    const reached = await store.erase({ ...LOW, until: minute(2), limit: 100 });

    assert.equal(reached, 3);
    const gone = [first, third].map((stored) => withoutContents(stored as StoredEntry));
    same(await kept(store), [gone[0], second, gone[1], fourth]);
  },

  'erase() takes personal fields and leaves the leaf': async (store) => {
    await fill(store, [full(0), full(1)]);
    const [first, second] = await kept(store);

    await store.erase({ what: 'personal', until: minute(0), limit: 100 });

    same(await kept(store), [withoutPersonal(first as StoredEntry), second]);
  },

  'erase() takes contents whose personal fields are gone': async (store) => {
    await fill(store, [full(0)]);
    const [first] = await kept(store);
    await store.erase({ what: 'personal', until: minute(0), limit: 100 });

    await store.erase({ ...LOW, until: minute(0), limit: 100 });

    same(await kept(store), [withoutContents(first as StoredEntry)]);
  },

  'erase() goes on where it stopped, a limit at a time': async (store) => {
    await fill(store, [full(0), full(1), full(2), full(3), full(4)]);
    const policy = { ...LOW, until: minute(3), limit: 2 };

    const reached = [];
    for (let i = 0; i < 4; i++) reached.push(await store.erase(policy));

    assert.deepEqual(reached, [2, 2, 0, 0]);
    const left = (await kept(store)).filter(({ leaf }) => leaf !== undefined);
    assert.deepEqual(
      left.map(({ sequence }) => sequence),
      [4],
    );
    assert.equal(await store.erase({ ...policy, until: minute(4) }), 1);
  },

  'erase() by class skips entries that state their own retention': async (store) => {
    await fill(store, [full(0, { retention: 'PT10M' }), full(1)]);

    await store.erase({ ...LOW, until: minute(5), limit: 100 });

    const leaves = (await kept(store)).map(({ leaf }) => leaf !== undefined);
    assert.deepEqual(leaves, [true, false]);
  },

  'erase() erases entries whose own stated retention has passed': async (store) => {
    const stated = ['PT3M', 'PT1M', 'PT2M'].map((retention) => full(0, { retention }));
    await fill(store, [...stated, full(0)]);
    const erased = (until: number, limit: number) =>
      store.erase({ what: 'stated', until: minute(until), limit });

    assert.equal(await erased(2, 1), 1);
    assert.equal(await erased(2, 10), 1);
    assert.equal(await erased(2, 10), 0);

    const leaves = (await kept(store)).map(({ leaf }) => leaf !== undefined);
    assert.deepEqual(leaves, [true, false, false, true]);
  },

  'erase() leaves the tree unchanged, and hides erased values from queries': async (store) => {
    await fill(store, [full(0), full(1), full(2)]);
    const before = await store.sequence();
    const [first] = await kept(store);
    const { invocation_id = '', leaf_hash } = first as StoredEntry;

    await store.erase({ ...LOW, until: minute(9), limit: 100 });

    assert.deepEqual(await store.sequence(), before);
    assert.deepEqual(await store.inspect(), []);
    assert.equal(await store.findLeaf({ invocation_id }), undefined);
    assert.equal((await store.findLeaf({ leaf_hash }))?.sequence, 0);
    const { entries: found } = await store.queryEntries({
      rootPrincipal: 'human:root@example.com',
      limit: 9,
    });
    assert.deepEqual(found, []);
  },

  'erasures() says below which place each policy has erased': async (store) => {
    await fill(store, [full(0), full(1), full(2)]);
    assert.deepEqual([...(await store.erasures())], []);

    await store.erase({ ...LOW, until: minute(1), limit: 100 });
    await store.erase({ what: 'personal', until: minute(2), limit: 1 });

    const places = Object.fromEntries(await store.erasures());
    assert.deepEqual(places, { low_risk_success: 2, personal: 1 });
  },

  'erase() keeps the intent of a call whose outcome is unknown': async (store) => {
    const token = await insert(store, rootToken());
    const call = await admitCall(store, token);
    await store.settle(settlement(call, { outcome: 'indeterminate' }));
    await store.sequence();

    await store.erase({ ...LOW, until: minute(9), limit: 100 });

    same(await store.indeterminate(10), [call.intent]);
    const word = await store.reconcile(call.intent.invocation_id, true, () => entry());
    same(word, call.intent);
    same(await store.indeterminate(10), []);
  },

  'settle() is the same again after erase()': async (store) => {
    const token = await insert(store, rootToken());
    const call = await admitCall(store, token);
    const done = settlement(call);
    await store.settle(done);
    await store.sequence();

    await store.erase({ ...LOW, until: minute(9), limit: 100 });

    assert.equal(await store.settle(done), 'settled');
    assert.equal(await store.settle(settlement(call)), 'superseded');
  },

  'forgetKeys() deletes expired keys, at most limit at a time': async (store) => {
    const token = await insert(store, rootToken());
    for (const [place, keepUntil] of [minute(1), minute(2), minute(3)].entries()) {
      const idempotency = { ...keyOf(token, `key ${place}`), keepUntil };
      const call = await admitCall(store, token, { idempotency });
      await store.settle(settlement(call));
    }

    assert.equal(await store.forgetKeys(minute(2), 1), 1);
    assert.equal(await store.forgetKeys(minute(2), 10), 1);
    assert.equal(await store.forgetKeys(minute(2), 10), 0);

    assert.deepEqual(await claimed(store, token), [false, false, true]);
  },

  'forgetKeys() keeps the key of a call that is still open': async (store) => {
    const token = await insert(store, rootToken());
    const idempotency = { ...keyOf(token, 'key 0'), keepUntil: minute(1) };
    const call = await admitCall(store, token, { idempotency });

    assert.equal(await store.forgetKeys(minute(2), 10), 0);
    await store.settle(settlement(call));
    assert.equal(await store.forgetKeys(minute(2), 10), 1);
  },

  'erase() of an empty log reaches nothing': async (store) => {
    assert.equal(await store.erase({ ...LOW, until: minute(9), limit: 100 }), 0);
    assert.equal(await store.erase({ what: 'personal', until: minute(9), limit: 100 }), 0);
    assert.equal(await store.erase({ what: 'stated', until: minute(9), limit: 100 }), 0);
  },
};
