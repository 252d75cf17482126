/**
 * The contract of the lists that only the console asks for: root tokens, open calls, sessions of all people.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { TokenRecord } from '../../../../src/storage/port/records.ts';
import {
  admission,
  at,
  childToken,
  entry,
  HOUR,
  insert,
  rootToken,
  SECOND,
  settlement,
} from '../../../support/fixtures.ts';
import { begin, session, sessionEntry } from '../../../support/sign-in.ts';
import type { Cases } from '../../cases.ts';
import { same } from '../../observe.ts';

export const CONSOLE_CASES: Cases = {
  'rootsOf() has the root tokens of one principal, newest first, page by page': async (store) => {
    const root_principal = 'human:carla@example.com';
    const given: TokenRecord[] = [];
    for (const issued of [3, 1, 2, 2, 2, 4]) {
      given.push(await insert(store, rootToken({ root_principal, issued_at: at(issued) })));
    }
    const [parent, ended] = given as [TokenRecord, TokenRecord];
    const stranger = await insert(store, rootToken({ issued_at: at(9) }));
    await insert(store, childToken(parent));
    await store.revokeToken(ended.token_id, at(5), () => entry());

    const found: string[] = [];
    for (let page = await store.rootsOf(root_principal, 2); page.length > 0; ) {
      assert.equal(page.length, 2);
      found.push(...page.map(({ token_id }) => token_id));
      page = await store.rootsOf(root_principal, 2, page.at(-1)?.token_id);
    }

    const ordered = given.toSorted(
      (one, other) =>
        other.issued_at.getTime() - one.issued_at.getTime() ||
        (other.token_id < one.token_id ? -1 : 1),
    );
    assert.deepEqual(
      found,
      ordered.map(({ token_id }) => token_id),
    );
    const last = (await store.rootsOf(root_principal, 99)).at(-1);
    const { token_id, expires_at } = ended;
    same(last, { token_id, expires_at, revoked_at: at(5) });
    assert.deepEqual(await store.rootsOf('human:stranger', 9), []);
    assert.deepEqual(await store.rootsOf(root_principal, 9, stranger.token_id), []);
    assert.deepEqual(await store.rootsOf(root_principal, 9, 'tok_unknown'), []);
  },

  'openIntents() has the open calls of one principal, oldest first, no more than asked': async (
    store,
  ) => {
    const root_principal = 'human:carla@example.com';
    const token = await insert(store, rootToken({ root_principal }));
    const child = await insert(store, childToken(token));
    const calls = [3, 1, 2].map((second) => admission(child, { now: at(second * SECOND) }));
    for (const call of calls) await store.admit(call);
    await store.admit(admission(await insert(store, rootToken())));
    const [last, closed, open] = calls as [(typeof calls)[0], (typeof calls)[0], (typeof calls)[0]];
    await store.settle(settlement(closed));

    const found = await store.openIntents(root_principal, 9);

    same(found, [open.intent, last.intent]);
    same(await store.openIntents(root_principal, 1), [open.intent]);
    same(await store.openIntents('human:stranger', 9), []);
  },

  'livingSessions() has the sessions of all people, page by page': async (store) => {
    const people = ['human:ann@example.com', 'human:bob@example.com'];
    const begun = [];
    for (const [place, hours] of [2, 4, 3, 3, 3].entries()) {
      const principal = people[place % 2] as string;
      begun.push(await begin(store, session({ principal, expires_at: at(hours * HOUR) })));
    }
    await begin(store, session({ expires_at: at(HOUR) }));
    const [ended, ...living] = begun.reverse();
    const { session_id = '' } = ended ?? {};
    await store.endSessions({ session_id }, at(SECOND), sessionEntry);

    const found: string[] = [];
    let after: string | undefined;
    do {
      const page = await store.livingSessions(at(HOUR), 2, after);
      found.push(...page.sessions.map((each) => each.session.session_id));
      after = page.next;
    } while (after !== undefined);

    const ordered = living.toSorted(
      (one, other) =>
        other.expires_at.getTime() - one.expires_at.getTime() ||
        (other.session_id < one.session_id ? -1 : 1),
    );
    assert.deepEqual(
      found,
      ordered.map((each) => each.session_id),
    );
    const [first] = (await store.livingSessions(at(HOUR), 1)).sessions;
    same(first, { session: ordered[0], seen_at: at(0) });
    assert.deepEqual(await store.livingSessions(at(HOUR), 9, 'ses_unknown'), {
      sessions: [],
      next: undefined,
    });
  },
};
