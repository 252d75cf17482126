/**
 * The contract of `TokenStore`: issuance, delegation, revocation, description.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { TokenRecord } from '../../../src/storage/port/records.ts';
import type { Store } from '../../../src/storage/port/store.ts';
import {
  at,
  cents,
  chain,
  childToken,
  entry,
  HOUR,
  happened,
  insert,
  newId,
  rootToken,
  unstorableEntry,
} from '../../support/fixtures.ts';
import type { Cases } from '../cases.ts';
import { entriesSince, livingCount, observe, same, unchanged } from '../observe.ts';

const MANY = { now: at(0), childrenMax: 10_000 };

/** A token with a value in every field. */
function fullToken(): TokenRecord {
  return rootToken({
    capability: 'book_flight',
    purpose: { task_id: 'trip "7"', nested: { ü: [1, 2.5, null, false, '🛫'] }, empty: {} },
    budget: { currency: 'BHD', max_amount: 12.345 },
    caller_class: 'partner',
    concurrent_branches: 'exclusive',
    max_delegation_depth: 3,
    session_id: 'session-1',
    issued_at: at(123),
    expires_at: at(HOUR),
  });
}

export const ISSUANCE_CASES: Cases = {
  'insertRoot() keeps every field of the token, and its entry': async (store) => {
    const token = fullToken();
    const logged = entry({ entry_type: 'issuance', token_id: token.token_id });

    await store.insertRoot(token, logged);

    const described = await store.describeToken(token.token_id, 10);
    same(described?.token, token);
    same(await entriesSince(store, 0), [{ ...logged, sequence: 0 }]);
  },

  'insertRoot() keeps the budget in minor units, with nothing spent': async (store) => {
    const token = fullToken();

    await store.insertRoot(token, entry());

    const described = await store.describeToken(token.token_id, 10);
    const { token_id } = token;
    const budget = { token_id, currency: 'BHD', max: 12_345n, reserved: 0n, consumed: 0n };
    same(described?.lineage.at(-1)?.budget, budget);
  },

  'insertRoot() keeps the largest budget exactly': async (store) => {
    const budget = { currency: 'JPY', max_amount: Number.MAX_SAFE_INTEGER };
    const token = await insert(store, rootToken({ budget }));

    const described = await store.describeToken(token.token_id, 0);

    assert.equal(described?.lineage[0]?.budget?.max, BigInt(Number.MAX_SAFE_INTEGER));
    assert.equal(described.token.budget?.max_amount, Number.MAX_SAFE_INTEGER);
  },

  'insertRoot() rejects an id that is taken, and keeps nothing of it': async (store) => {
    const token = await insert(store, rootToken({ budget: cents(100) }));
    const other = { ...rootToken({ budget: cents(999) }), token_id: token.token_id };

    await unchanged(store, { tokens: [token.token_id] }, () =>
      assert.rejects(store.insertRoot({ ...other, lineage: [token.token_id] }, entry())),
    );
  },

  'insertRoot() inserts no token whose entry cannot be stored': async (store) => {
    const token = rootToken();

    await assert.rejects(store.insertRoot(token, unstorableEntry()));

    assert.equal(await store.describeToken(token.token_id, 0), undefined);
  },

  'insertChild() keeps the child below its parent, and its entry': async (store) => {
    const root = await insert(store, fullToken());
    const child = childToken(root, { budget: { currency: 'BHD', max_amount: 0.001 } });
    const logged = entry({ entry_type: 'issuance', token_id: child.token_id });

    const result = await store.insertChild(child, logged, MANY);

    assert.equal(result, 'inserted');
    const described = await store.describeToken(child.token_id, 10);
    same(described?.token, child);
    assert.deepEqual((await store.describeToken(root.token_id, 10))?.children, [child.token_id]);
    same(await entriesSince(store, 1), [{ ...logged, sequence: 1 }]);
  },

  'insertChild() refuses an unknown parent': async (store) => {
    const child = childToken(rootToken());

    const result = await unchanged(store, { tokens: [child.token_id] }, () =>
      store.insertChild(child, entry(), MANY),
    );

    assert.equal(result, 'parent_unknown');
  },

  'insertChild() refuses below any revoked token of the lineage': async (store) => {
    for (const revoked of [0, 1, 2]) {
      const line = await chain(store, [{}, {}, {}]);
      const parent = line[2];
      await store.revokeToken((line[revoked] as TokenRecord).token_id, at(1), () => entry());
      const child = childToken(parent);

      const result = await unchanged(store, { tokens: [parent.token_id, child.token_id] }, () =>
        store.insertChild(child, entry(), { ...MANY, now: at(2) }),
      );

      assert.equal(result, 'parent_revoked', `with token ${revoked} of the lineage revoked`);
    }
  },

  'insertChild() names a revoked token before an expired one above it': async (store) => {
    const line = await chain(store, [{ expires_at: at(HOUR) }, { expires_at: at(2 * HOUR) }]);
    const parent = line[1];
    await store.revokeToken(parent.token_id, at(1), () => entry());

    const bounds = { ...MANY, now: at(HOUR) };
    const result = await store.insertChild(childToken(parent), entry(), bounds);

    assert.equal(result, 'parent_revoked');
  },

  'insertChild() refuses below any token that expires at this instant': async (store) => {
    for (const expired of [0, 1, 2]) {
      const changes = [0, 1, 2].map((index) => ({
        expires_at: index === expired ? at(HOUR) : at(2 * HOUR),
      }));
      const parent = (await chain(store, changes))[2] as TokenRecord;
      const child = childToken(parent);
      const watched = { tokens: [parent.token_id, child.token_id] };

      const result = await unchanged(store, watched, () =>
        store.insertChild(child, entry(), { ...MANY, now: at(HOUR) }),
      );
      const justBefore = { ...MANY, now: at(HOUR - 1) };

      assert.equal(result, 'parent_expired', `with token ${expired} of the lineage expired`);
      assert.equal(await store.insertChild(child, entry(), justBefore), 'inserted');
    }
  },

  'insertChild() counts all children of the parent, and only its own': async (store) => {
    const root = await insert(store, rootToken());
    const bounds = { now: at(0), childrenMax: 2 };
    const first = childToken(root);
    await store.insertChild(first, entry(), bounds);
    await store.insertChild(childToken(first), entry(), bounds);
    await store.revokeToken(first.token_id, at(0), () => entry());
    const second = await store.insertChild(childToken(root), entry(), bounds);

    const third = await unchanged(store, { tokens: [root.token_id] }, () =>
      store.insertChild(childToken(root), entry(), bounds),
    );

    assert.equal(second, 'inserted');
    assert.equal(third, 'too_many');
    const wider = { ...bounds, childrenMax: 3 };
    assert.equal(await store.insertChild(childToken(root), entry(), wider), 'inserted');
  },

  'describeToken() returns undefined for an unknown token': async (store) => {
    await insert(store, rootToken());

    assert.equal(await store.describeToken(newId('tok_'), 10), undefined);
  },

  'describeToken() gives the lineage from the root, each with its own state': async (store) => {
    const [root, middle, leaf] = await chain(store, [
      { budget: cents(500), concurrent_branches: 'exclusive' },
      { expires_at: at(3 * HOUR) },
      { budget: cents(300), expires_at: at(2 * HOUR) },
    ]);
    await store.revokeToken(middle.token_id, at(7), () => entry());

    const described = await store.describeToken(leaf.token_id, 10);

    const none = { currency: 'USD', reserved: 0n, consumed: 0n };
    const { subject } = root;
    same(described?.lineage, [
      {
        token_id: root.token_id,
        subject,
        expires_at: root.expires_at,
        exclusive: true,
        budget: { ...none, token_id: root.token_id, max: 500n },
        token: root,
      },
      {
        token_id: middle.token_id,
        subject: middle.subject,
        expires_at: at(3 * HOUR),
        exclusive: false,
        revoked_at: at(7),
        token: middle,
      },
      {
        token_id: leaf.token_id,
        subject: leaf.subject,
        expires_at: at(2 * HOUR),
        exclusive: false,
        budget: { ...none, token_id: leaf.token_id, max: 300n },
        token: leaf,
      },
    ]);
  },

  'describeToken() lists the first children by id, and counts all': async (store) => {
    const root = await insert(store, rootToken());
    const children: TokenRecord[] = [];
    for (let i = 0; i < 5; i++) children.push(await insert(store, childToken(root)));
    await insert(store, childToken(children[0] as TokenRecord));
    const ids = children.map(({ token_id }) => token_id).sort();

    const described = await store.describeToken(root.token_id, 3);

    assert.deepEqual(described?.children, ids.slice(0, 3));
    assert.equal(described?.childrenCount, 5);
  },
};

export const REVOCATION_CASES: Cases = {
  'revokeToken() returns undefined for an unknown token, and appends no entry': async (store) => {
    const result = await unchanged(store, { tokens: [] }, () =>
      store.revokeToken(newId('tok_'), at(0), () => entry()),
    );

    assert.equal(result, undefined);
  },

  'revokeToken() marks one token, with its entry': async (store) => {
    const { root, left } = await smallForest(store);
    const { size } = await store.sequence();

    const logged: ReturnType<typeof entry>[] = [];
    const result = await store.revokeToken(left.token_id, at(5), (was_alive) => {
      const made = entry({ entry_type: 'revocation', detail: { was_alive } });
      logged.push(made);
      return made;
    });

    same(result, { wasAlive: true, revoked_at: at(5) });
    same(await entriesSince(store, size), [{ ...logged.at(-1), sequence: size }]);
    const personal = new TextDecoder().decode(logged.at(-1)?.personal);
    assert.deepEqual(JSON.parse(personal).detail, { was_alive: true });
    assert.equal((await marksOf(store, root)).length, 0);
    assert.deepEqual(await marksOf(store, left), [left.token_id]);
  },

  'childrenOf() shows what a revocation ended, and what had ended before': async (store) => {
    const { root, left, right } = await smallForest(store);
    await store.revokeToken(left.token_id, at(5), () => entry());
    const expiring = await insert(store, childToken(right, { expires_at: at(HOUR) }));
    await insert(store, childToken(expiring));

    const before = await livingCount(store, root.token_id, at(5));
    await store.revokeToken(root.token_id, at(HOUR), () => entry());

    // `left` and all below it were revoked at 5, `expiring` and its child expired at the hour.
    assert.equal(before, 3);
    assert.equal(await livingCount(store, root.token_id, at(HOUR)), 1);
    same(await store.childrenOf([right.token_id], 9), [
      {
        token_id: expiring.token_id,
        parent_token_id: right.token_id,
        hasChildren: true,
        subject: expiring.subject,
        expires_at: at(HOUR),
        revoked_at: undefined,
      },
    ]);
    const [marked] = await store.childrenOf([root.token_id], 9).then((all) => {
      return all.filter(({ token_id }) => token_id === left.token_id);
    });
    same(marked?.revoked_at, at(5));
  },

  'childrenOf() gives pages that miss and repeat none': async (store) => {
    const parents = [await insert(store, rootToken()), await insert(store, rootToken())];
    const lone = await insert(store, rootToken());
    const children: TokenRecord[] = [];
    for (const parent of [...parents, ...parents, ...parents]) {
      children.push(await insert(store, childToken(parent)));
    }
    const [first = '', second = ''] = parents.map(({ token_id }) => token_id);
    const idsOf = (parent: string) => {
      const own = children.filter(({ parent_token_id }) => parent_token_id === parent);
      return own.map(({ token_id }) => token_id).sort();
    };
    const listed = async (...query: Parameters<Store['childrenOf']>) => {
      return (await store.childrenOf(...query)).map(({ token_id }) => token_id);
    };
    const [one = [], other = []] = [idsOf(first), idsOf(second)];
    const asked = [first, lone.token_id, second];

    assert.deepEqual(await listed(asked, 9), [...one, ...other]);
    assert.deepEqual(await listed(asked, 2), one.slice(0, 2));
    assert.deepEqual(await listed(asked, 2, one[1]), [one[2], other[0]]);
    assert.deepEqual(await listed([second], 2, other[0]), other.slice(1));
    assert.deepEqual(await listed([], 2), []);
  },

  'revokeToken() ends nothing the second time, and keeps the first time': async (store) => {
    const { root } = await smallForest(store);
    const first = happened(await store.revokeToken(root.token_id, at(5), () => entry()));

    const second = await store.revokeToken(root.token_id, at(9), () => entry());

    assert.equal(first?.wasAlive, true);
    same(second, { wasAlive: false, revoked_at: at(5) });
    assert.deepEqual((await store.describeToken(root.token_id, 0))?.lineage[0]?.revoked_at, at(5));
  },

  'revokeToken() ends nothing below a token that was revoked': async (store) => {
    const { left, leftChild } = await smallForest(store);
    await store.revokeToken(left.token_id, at(5), () => entry());

    const result = await store.revokeToken(leftChild.token_id, at(6), () => entry());

    same(result, { wasAlive: false, revoked_at: at(6) });
  },

  'revokeToken() ends no token that has expired': async (store) => {
    const token = await insert(store, rootToken({ expires_at: at(HOUR) }));

    const result = await store.revokeToken(token.token_id, at(HOUR), () => entry());

    same(result, { wasAlive: false, revoked_at: at(HOUR) });
  },

  'revokeToken() changes nothing when its entry cannot be stored': async (store) => {
    const { root, left } = await smallForest(store);
    const watched = { tokens: [root.token_id, left.token_id] };

    await unchanged(store, watched, () =>
      assert.rejects(
        store.revokeToken(left.token_id, at(5), () => {
          throw new Error('Cannot tell of it');
        }),
      ),
    );
  },

  'revokeToken() leaves other trees alone': async (store) => {
    const { root } = await smallForest(store);
    const other = await smallForest(store);
    const watched = { tokens: [other.root.token_id, other.leftChild.token_id] };
    const seen = async () => ({ ...((await observe(store, watched)) as object), size: 0 });
    const before = await seen();

    await store.revokeToken(root.token_id, at(5), () => entry());

    assert.deepEqual(await seen(), before);
  },
};

/** A root with two children; the left one has a child and that one another. */
async function smallForest(store: Store) {
  const root = await insert(store, rootToken());
  const left = await insert(store, childToken(root));
  const right = await insert(store, childToken(root));
  const leftChild = await insert(store, childToken(left));
  const leaf = await insert(store, childToken(leftChild));
  return { root, left, right, leftChild, leaf };
}

/** Which tokens of a lineage are marked as revoked. */
async function marksOf(store: Store, { token_id }: TokenRecord): Promise<string[]> {
  const described = await store.describeToken(token_id, 0);
  const marked = described?.lineage.filter((link) => link.revoked_at !== undefined) ?? [];
  return marked.map((link) => link.token_id);
}
