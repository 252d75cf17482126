/**
 * The contract of connected accounts: one row for each person and account, and of concurrent changes one succeeds.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { at, HOUR } from '../../../support/fixtures.ts';
import { connected, connectedEntry } from '../../../support/sign-in.ts';
import type { Cases } from '../../cases.ts';
import { entriesSince, same } from '../../observe.ts';

const ENDED = 'account_disconnected';

export const CONNECTED_CASES: Cases = {
  'connect() stores the account of a person with its entry': async (store) => {
    const { size } = await store.sequence();
    const made = connected({ mac: 'kid.connected' });
    const logged = connectedEntry(made);

    assert.equal(await store.connect(made, undefined, logged), true);

    same(await store.findConnected(made), made);
    same(
      (await entriesSince(store, size)).map(({ entry_id }) => entry_id),
      [logged.entry_id],
    );
  },

  'connect() replaces exactly the connection that was seen, and keeps one row': async (store) => {
    const [first, second, third] = [connected(), connected(), connected()];
    await store.connect(first, undefined, connectedEntry(first));
    const { size } = await store.sequence();

    assert.equal(await store.connect(third, undefined, connectedEntry(third)), false);
    assert.equal(await store.connect(third, third.connection_id, connectedEntry(third)), false);
    same(await entriesSince(store, size), []);
    assert.equal(await store.connect(second, first.connection_id, connectedEntry(second)), true);

    same(await store.listConnected(10), [second]);
  },

  'connect() lets one of several concurrent logins that saw the same succeed': async (store) => {
    const race = (seen?: string) => {
      const made = Array.from({ length: 5 }, () => connected());
      return Promise.all(made.map((each) => store.connect(each, seen, connectedEntry(each))));
    };

    const first = await race();
    const [kept] = await store.listConnected(10);
    const again = await race(kept?.connection_id);

    for (const outcomes of [first, again]) assert.equal(outcomes.filter(Boolean).length, 1);
    assert.equal((await store.listConnected(10)).length, 1);
  },

  'replaceConnected() lets one of several processes change a version': async (store) => {
    const made = connected();
    await store.connect(made, undefined, connectedEntry(made));
    const next = Array.from({ length: 5 }, (_, place) => ({
      ...made,
      version: 2,
      sealed: `kid.${place}`,
      expires_at: at(2 * HOUR),
      renewing_until: undefined,
    }));

    const outcomes = await Promise.all(next.map((each) => store.replaceConnected(each, made)));

    assert.equal(outcomes.filter(Boolean).length, 1);
    same(await store.findConnected(made), next[outcomes.indexOf(true)]);
  },

  'replaceConnected() changes neither another connection nor one that ended': async (store) => {
    const [old, made] = [connected(), connected()];
    await store.connect(old, undefined, connectedEntry(old));
    await store.connect(made, old.connection_id, connectedEntry(made));

    assert.equal(await store.replaceConnected({ ...old, version: 2 }, old), false);
    same(await store.findConnected(made), made);
    await store.endConnected(made, made, connectedEntry(made, ENDED));
    assert.equal(await store.replaceConnected({ ...made, version: 2 }, made), false);
    assert.equal(await store.findConnected(made), undefined);
  },

  'endConnected() deletes the row with an entry, and resolves with it once': async (store) => {
    const made = connected();
    await store.connect(made, undefined, connectedEntry(made));
    const { size } = await store.sequence();
    const { connection_id } = made;
    const stale = { connection_id, version: 9 };

    assert.equal(await store.endConnected(made, stale, connectedEntry(made, ENDED)), undefined);
    assert.equal(
      await store.endConnected(made, connected(), connectedEntry(made, ENDED)),
      undefined,
    );
    const ended = await Promise.all(
      [1, 2, 3].map(() => store.endConnected(made, { connection_id }, connectedEntry(made, ENDED))),
    );

    same(
      ended.filter((each) => each !== undefined),
      [made],
    );
    assert.equal((await entriesSince(store, size)).length, 1);
    assert.equal(await store.findConnected(made), undefined);
  },

  'listConnected() has every row by person and account, page by page': async (store) => {
    const made = ['human:Zoe', 'human:ann', 'oidc:ann'].flatMap((principal) =>
      ['calendar', 'github'].map((account) => connected({ principal, account })),
    );
    for (const each of made.toReversed()) {
      await store.connect(each, undefined, connectedEntry(each));
    }

    const first = await store.listConnected(4);
    const rest = await store.listConnected(4, first.at(-1));

    same([...first, ...rest], made);
    same(await store.listConnected(4, made.at(-1)), []);
  },
};
