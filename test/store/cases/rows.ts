/**
 * The contract of MACs: stored with their rows, and locked rows are compared with the judged ones.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { LineageLink } from '../../../src/storage/port/records.ts';
import type { Store } from '../../../src/storage/port/store.ts';
import {
  admission,
  at,
  binding,
  cents,
  childToken,
  EXCLUSIVE,
  entry,
  freezeOf,
  HOUR,
  insert,
  rootToken,
  usd,
} from '../../support/fixtures.ts';
import type { Cases } from '../cases.ts';
import { same, unchanged } from '../observe.ts';

const BOUNDS = { now: at(0), childrenMax: 10 };

/** A root with a budget and a child, both with a MAC. */
async function family(store: Store) {
  const root = await insert(store, rootToken({ budget: cents(500), mac: 'kid.root' }));
  const child = childToken(root, { budget: cents(300), mac: 'kid.child' });
  await store.insertChild(child, entry(), BOUNDS);
  const { lineage } = await store.load({ tokenId: child.token_id });
  return { root, child, lineage };
}

type Change = (link: LineageLink) => LineageLink;

const withToken =
  (changed: Partial<LineageLink['token']>): Change =>
  (link) => ({ ...link, token: { ...link.token, ...changed } });

/** What admission and delegation compare, each with another value at the time of judgment. */
const CHANGES: Readonly<Record<string, Change>> = {
  mac: withToken({ mac: 'kid.other' }),
  'no mac': withToken({ mac: undefined }),
  expiry: withToken({ expires_at: at(HOUR) }),
  branches: withToken(EXCLUSIVE),
};

const CEILINGS: Readonly<Record<string, Change>> = {
  ceiling: (link) => ({ ...link, budget: link.budget && { ...link.budget, max: 10_000n } }),
  currency: (link) => ({
    ...link,
    budget: link.budget && { ...link.budget, currency: 'EUR' },
    token: { ...link.token, budget: { currency: 'EUR', max_amount: 5 } },
  }),
};

/** Every way to change one link of a lineage of two. */
function judgments(lineage: readonly LineageLink[], changes: Readonly<Record<string, Change>>) {
  return Object.entries(changes).flatMap(([name, change]) =>
    lineage.map((_, place) => ({
      name: `${name} of ${place}`,
      judged: lineage.map((link, at) => (at === place ? change(link) : link)),
    })),
  );
}

export const ROW_CASES: Cases = {
  'load() gives the MAC of every row it gives': async (store) => {
    const { child, lineage } = await family(store);
    const kept = binding(child, { mac: 'kid.binding' });
    await store.append([entry()], [kept]);
    const freeze = freezeOf({ mac: 'kid.freeze' });
    await store.freeze(freeze, entry());

    const loaded = await store.load({ tokenId: child.token_id, bindingIds: [kept.binding_id] });

    same(loaded.bindings, [kept]);
    same(loaded.freezes, [freeze]);
    same((await store.listFreezes(2)).freezes, [freeze]);
    same(
      lineage.map(({ token }) => token.mac),
      ['kid.root', 'kid.child'],
    );
    same(loaded.token?.mac, 'kid.child');
  },

  'revokeToken() keeps the MAC of the first revocation': async (store) => {
    const { root, child } = await family(store);

    await store.revokeToken(root.token_id, at(1), () => entry(), { mac: 'kid.first' });
    await store.revokeToken(root.token_id, at(2), () => entry(), { mac: 'kid.second' });

    const { lineage } = await store.load({ tokenId: child.token_id });
    same(
      lineage.map(({ revoked_at, revoked_mac }) => [revoked_at, revoked_mac]),
      [
        [at(1), 'kid.first'],
        [undefined, undefined],
      ],
    );
  },

  'admit() admits under the lineage on which the call was judged': async (store) => {
    const { child, lineage } = await family(store);

    const answer = await store.admit(admission(child, { judged: lineage, charge: usd(100n) }));

    assert.equal(answer.admitted, true);
  },

  'admit() takes nothing where a row differs from the one that was judged': async (store) => {
    const { root, child, lineage } = await family(store);
    const watched = { tokens: [root.token_id, child.token_id] };
    const cases = judgments(lineage, { ...CHANGES, ...CEILINGS });
    const short = { name: 'a link', judged: lineage.slice(1) };

    for (const { name, judged } of [...cases, short]) {
      const answer = await unchanged(store, watched, () =>
        store.admit(admission(child, { judged, charge: usd(100n) })),
      );

      same(
        { name, ...answer },
        { name, admitted: false, reason: 'altered', token_id: child.token_id },
      );
    }
  },

  'insertChild() inserts no child where a row differs from the judged one': async (store) => {
    const { root, child, lineage } = await family(store);
    const watched = { tokens: [root.token_id, child.token_id] };
    const cases = judgments(lineage, CHANGES);
    const short = { name: 'a link', judged: lineage.slice(1) };

    for (const { name, judged } of [...cases, short]) {
      const answer = await unchanged(store, watched, () =>
        store.insertChild(childToken(child), entry(), { ...BOUNDS, judged }),
      );

      same([name, answer], [name, 'parent_altered']);
    }
    const fits = await store.insertChild(childToken(child), entry(), {
      ...BOUNDS,
      judged: lineage,
    });
    assert.equal(fits, 'inserted');
  },
};
