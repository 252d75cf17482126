/**
 * The contract of identities that operators add and remove.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { IdentityRecord } from '../../../src/storage/port/identity-store.ts';
import type { Store } from '../../../src/storage/port/store.ts';
import { at, entry, insert, rootToken, SECOND } from '../../support/fixtures.ts';
import { identity, identityEntry, removedIdentity } from '../../support/sign-in.ts';
import type { Cases } from '../cases.ts';
import { entriesSince, same } from '../observe.ts';

const MANY = 1_000;

async function add<Made extends IdentityRecord>(store: Store, made: Made): Promise<Made> {
  assert.equal(await store.insertIdentity(made, identityEntry(made), MANY), 'inserted');
  return made;
}

function remove(store: Store, { identity_id }: IdentityRecord, actor?: string) {
  return store.removeIdentity(identity_id, removedIdentity, identityEntry, actor);
}

async function idsSince(store: Store, size: number): Promise<string[]> {
  return (await entriesSince(store, size)).map(({ entry_id }) => entry_id);
}

export const IDENTITY_CASES: Cases = {
  'insertIdentity() stores the identity with its entry': async (store) => {
    const { size } = await store.sequence();
    const made = identity({ mac: 'kid.identity' });
    const logged = identityEntry(made);

    assert.equal(await store.insertIdentity(made, logged, MANY), 'inserted');

    same(await store.findIdentity(made.key_sha256), made);
    same(await idsSince(store, size), [logged.entry_id]);
  },

  'insertIdentity() refuses a digest that any identity has, also a removed one': async (store) => {
    const living = await add(store, identity());
    const gone = await add(store, identity());
    await remove(store, gone);
    const { size } = await store.sequence();

    for (const { key_sha256 } of [living, gone]) {
      const again = identity({ key_sha256, principal: 'human:mallory' });
      assert.equal(await store.insertIdentity(again, identityEntry(again), MANY), 'taken');
    }

    same(await store.findIdentity(living.key_sha256), living);
    same(await idsSince(store, size), []);
  },

  'insertIdentity() adds one of several concurrent identities with one digest': async (store) => {
    const { key_sha256 } = identity();
    const made = Array.from({ length: 5 }, () => identity({ key_sha256 }));

    const outcomes = await Promise.all(
      made.map((each) => store.insertIdentity(each, identityEntry(each), MANY)),
    );

    same(outcomes.toSorted(), ['inserted', 'taken', 'taken', 'taken', 'taken']);
    assert.equal((await store.listIdentities(9)).identities.length, 1);
  },

  'insertIdentity() adds no more than the most that may live': async (store) => {
    const first = await add(store, identity());
    const made = Array.from({ length: 4 }, () => identity());

    const outcomes = await Promise.all(
      made.map((each) => store.insertIdentity(each, identityEntry(each), 3)),
    );
    await remove(store, first);
    const next = identity();

    same(outcomes.toSorted(), ['full', 'full', 'inserted', 'inserted']);
    assert.equal(await store.insertIdentity(next, identityEntry(next), 3), 'inserted');
  },

  'findIdentity() finds by the exact digest only': async (store) => {
    const made = await add(store, identity());

    assert.equal(await store.findIdentity(made.key_sha256.toUpperCase()), undefined);
    assert.equal(await store.findIdentity(''), undefined);
    assert.equal(await store.findIdentity(`${made.key_sha256}0`), undefined);
  },

  'identitiesOf() lists the living ones of exactly one principal': async (store) => {
    const made = [await add(store, identity()), await add(store, identity())];
    await add(store, identity({ principal: 'human:ann@example.com.evil' }));
    await add(store, identity({ principal: 'human:ANN@example.com' }));
    await remove(store, await add(store, identity()));

    const found = await store.identitiesOf('human:ann@example.com', 9);

    same(found, made.toSorted(byId));
    same((await store.identitiesOf('human:ann@example.com', 1)).length, 1);
    same(await store.identitiesOf('human:%', 9), []);
  },

  'listIdentities() pages through all of them, removed ones too': async (store) => {
    const made = [];
    for (let count = 0; count < 5; count++) made.push(await add(store, identity()));
    const [first] = made as [IdentityRecord];
    const removed = await remove(store, first);

    const listed: IdentityRecord[] = [];
    let after: string | undefined;
    do {
      const page = await store.listIdentities(2, after);
      listed.push(...page.identities);
      after = page.next;
    } while (after !== undefined);

    same(listed, [...made.slice(1), removed as IdentityRecord].toSorted(byId));
  },

  'removeIdentity() stores the removal with its entry, once': async (store) => {
    const made = await add(store, identity({ mac: 'kid.before' }));
    const { size } = await store.sequence();
    const logged = entry({ entry_type: 'operator' });
    const next = { ...removedIdentity(made), mac: 'kid.after' };

    const removed = await store.removeIdentity(
      made.identity_id,
      () => next,
      () => logged,
    );

    same(removed, next);
    same(await store.findIdentity(made.key_sha256), next);
    assert.equal(await remove(store, made), undefined);
    same(await idsSince(store, size), [logged.entry_id]);
  },

  'removeIdentity() happens once among concurrent removals': async (store) => {
    const made = await add(store, identity());
    const { size } = await store.sequence();

    const outcomes = await Promise.all(Array.from({ length: 5 }, () => remove(store, made)));

    assert.equal(outcomes.filter((outcome) => outcome !== undefined).length, 1);
    assert.equal((await idsSince(store, size)).length, 1);
  },

  'removeIdentity() knows no other id, and writes no entry for it': async (store) => {
    await add(store, identity());
    const { size } = await store.sequence();

    assert.equal(await remove(store, identity()), undefined);

    same(await idsSince(store, size), []);
  },

  'removeIdentity() does not happen when the token of its actor has ended': async (store) => {
    const made = await add(store, identity());
    const actor = await insert(store, rootToken());
    await store.revokeToken(actor.token_id, at(SECOND), () => entry());
    const { size } = await store.sequence();

    assert.equal(await remove(store, made, actor.token_id), 'actor_revoked');

    same(await store.findIdentity(made.key_sha256), made);
    same(await idsSince(store, size), []);
  },

  'voidPromises() deletes identities': async (store) => {
    const made = await add(store, identity());

    await store.voidPromises();

    assert.equal(await store.findIdentity(made.key_sha256), undefined);
    assert.equal(await store.insertIdentity(made, identityEntry(made), MANY), 'inserted');
  },
};

function byId(one: IdentityRecord, other: IdentityRecord): number {
  return one.identity_id < other.identity_id ? -1 : 1;
}
