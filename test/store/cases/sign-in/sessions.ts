/**
 * The contract of sessions and accounts.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { RowState } from '../../../../src/storage/port/row-store.ts';
import {
  SESSION_KEPT_MS,
  SESSIONS_DELETED_MAX,
  type SessionRecord,
  type SessionSelector,
} from '../../../../src/storage/port/sign-in-store.ts';
import type { Store } from '../../../../src/storage/port/store.ts';
import { at, entry, HOUR, SECOND } from '../../../support/fixtures.ts';
import {
  accountOf,
  added,
  begin,
  consented,
  passkey,
  session,
  sessionEntry,
} from '../../../support/sign-in.ts';
import type { Cases } from '../../cases.ts';
import { entriesSince, same } from '../../observe.ts';

const PERSON = 'human:ann@example.com';
const OTHER = 'human:bob@example.com';

/** The ids of the sessions that live at this time, newest first. */
async function living(store: Store, principal = PERSON, now = at(HOUR)): Promise<string[]> {
  const listed = await store.listSessions(principal, now, 1_000);
  return listed.map((each) => each.session.session_id);
}

/** Sessions of one person, each a second after the one before. */
async function several(
  store: Store,
  count: number,
  changed: Partial<SessionRecord> = {},
): Promise<SessionRecord[]> {
  const begun: SessionRecord[] = [];
  for (let place = 0; place < count; place++) {
    begun.push(await begin(store, session({ created_at: at(place * SECOND), ...changed })));
  }
  return begun;
}

const idsOf = (sessions: readonly SessionRecord[]) => sessions.map(({ session_id }) => session_id);

export const SESSION_CASES: Cases = {
  'beginSession() stores the session, its account and its entry': async (store) => {
    const { size } = await store.sequence();
    const begun = session({ mac: 'kid.session' });
    const account = accountOf(begun, { mac: 'kid.account' });
    const logged = sessionEntry(begun);

    await store.beginSession(begun, account, logged, 10);

    same(await store.findSession(begun.secret_hash), { session: begun, seen_at: begun.created_at });
    same(await store.findAccount(begun.account_id), account);
    const entries = await entriesSince(store, size);
    same(
      entries.map(({ entry_id, entry_type }) => [entry_id, entry_type]),
      [[logged.entry_id, 'session']],
    );
    assert.equal(await store.findSession('00'.repeat(32)), undefined);
    assert.equal(await store.findAccount('another'), undefined);
  },

  'beginSession() stores a session and an account without what a provider states': async (
    store,
  ) => {
    const none = { issuer: undefined, sub: undefined, sid: undefined, acr: undefined };
    const begun = session(none);
    const account = accountOf(begun, { upstream: undefined });

    await store.beginSession(begun, account, sessionEntry(begun), 10);

    same(await store.findSession(begun.secret_hash), { session: begun, seen_at: begun.created_at });
    same(await store.findAccount(begun.account_id), account);
  },

  'beginSession() puts the account in place of the one with the same id': async (store) => {
    const first = await begin(store, session());
    const again = session({ account_id: first.account_id, created_at: at(HOUR) });
    const account = accountOf(again, { principal: OTHER, upstream: undefined });

    await store.beginSession(again, account, sessionEntry(again), 10);

    same(await store.findAccount(first.account_id), account);
  },

  'beginSession() with the secret of another session changes nothing': async (store) => {
    const first = await begin(store, session());
    const account = await store.findAccount(first.account_id);
    const { size } = await store.sequence();
    const { secret_hash, account_id } = first;
    const forged = session({ secret_hash, account_id, created_at: at(SECOND) });

    await assert.rejects(begin(store, forged, 1));

    same(await store.findSession(secret_hash), { session: first, seen_at: first.created_at });
    same(await store.findAccount(account_id), account);
    assert.equal((await store.sequence()).size, size);
  },

  'beginSession() with the id of another session changes nothing': async (store) => {
    const first = await begin(store, session());
    const { size } = await store.sequence();
    const again = session({ session_id: first.session_id, created_at: at(SECOND) });

    assert.equal(await store.beginSession(again, accountOf(again), sessionEntry(again), 1), false);

    assert.equal(await store.findSession(again.secret_hash), undefined);
    assert.deepEqual(await living(store), idsOf([first]));
    assert.equal((await store.sequence()).size, size);
  },

  'beginSession() with a passkey uses it, and changes nothing once it is removed': async (
    store,
  ) => {
    const { principal, credential_id } = await added(store, passkey());
    const by = { principal, created_at: at(SECOND) };
    const [begun, late] = [session(by), session(by)];
    const beginBy = (each: SessionRecord, id: string) =>
      store.beginSession(each, accountOf(each), sessionEntry(each), 9, id);

    assert.equal(await beginBy(begun, credential_id), true);
    assert.equal(await beginBy(late, 'another'), false);
    await store.removePasskey({ principal, credential_id }, at(HOUR), entry());

    assert.equal(await beginBy(late, credential_id), false);
    assert.deepEqual((await store.findPasskey(credential_id))?.last_used_at, at(SECOND));
    assert.deepEqual(await living(store), idsOf([begun]));
  },

  'beginSession() ends the oldest living sessions of the person above the bound': async (store) => {
    const [oldest, ...kept] = await several(store, 3);
    const other = await begin(store, session({ principal: OTHER }));
    const now = at(HOUR);

    const latest = await begin(store, session({ created_at: now }), 3);

    assert.deepEqual(await living(store), idsOf([latest, ...kept.reverse()]));
    const ended = await store.findSession(oldest?.secret_hash ?? '');
    same(ended, { session: oldest, seen_at: oldest?.created_at, ended_at: now });
    assert.deepEqual(await living(store, OTHER), idsOf([other]));
  },

  'beginSession() keeps itself under a bound of one, though others began later': async (store) => {
    await several(store, 3, { created_at: at(HOUR) });

    const latest = await begin(store, session({ created_at: at(0) }), 1);

    assert.deepEqual(await living(store), idsOf([latest]));
  },

  'beginSession() counts no ended and no expired session': async (store) => {
    const [first, second] = await several(store, 2);
    await several(store, 2, { created_at: at(SECOND), expires_at: at(HOUR) });
    await store.endSessions({ session_id: first?.session_id ?? '' }, at(SECOND), sessionEntry);

    const latest = await begin(store, session({ created_at: at(HOUR) }), 2);

    assert.deepEqual(await living(store), idsOf([latest, second as SessionRecord]));
  },

  'beginSession() deletes a bounded number of sessions that expired long ago': async (store) => {
    const now = new Date(at(HOUR).getTime() + SESSION_KEPT_MS);
    const due = await several(store, SESSIONS_DELETED_MAX + 1, {
      principal: OTHER,
      expires_at: at(HOUR),
    });
    const recent = await begin(store, session({ expires_at: at(HOUR + 1) }));
    const remaining = async () => {
      const found = await Promise.all(due.map((each) => store.findSession(each.secret_hash)));
      return found.filter((each) => each !== undefined).length;
    };

    await begin(store, session({ created_at: new Date(now.getTime() - 1) }));
    assert.equal(await remaining(), due.length);
    await begin(store, session({ created_at: now }));
    assert.equal(await remaining(), 1);
    await begin(store, session({ created_at: now }));

    assert.equal(await remaining(), 0);
    assert.notEqual(await store.findSession(recent.secret_hash), undefined);
  },

  'touchSession() moves the last use forward, and no session but its own': async (store) => {
    const [one, other] = await several(store, 2);
    const seen = async (each: SessionRecord | undefined) =>
      (await store.findSession(each?.secret_hash ?? ''))?.seen_at;

    await store.touchSession(one?.session_id ?? '', at(HOUR));
    await store.touchSession(one?.session_id ?? '', at(HOUR - 1));
    await store.touchSession('ses_unknown', at(HOUR));

    assert.deepEqual(await seen(one), at(HOUR));
    assert.deepEqual(await seen(other), other?.created_at);
  },

  'touchSession() does nothing to a session that has ended': async (store) => {
    const begun = await begin(store, session());
    await store.endSessions({ session_id: begun.session_id }, at(SECOND), sessionEntry);
    const before = await store.findSession(begun.secret_hash);

    await store.touchSession(begun.session_id, at(HOUR));

    same(await store.findSession(begun.secret_hash), before);
  },

  'endSessions() ends what each selector names, with one entry for each': async (store) => {
    const shared = { issuer: 'https://one.example.com', sub: 'ann', sid: 'sid-1' };
    const first = await begin(store, session(shared));
    const second = await begin(store, session({ ...shared, sid: 'sid-2' }));
    const third = await begin(store, session({ ...shared, issuer: 'https://two.example.com' }));
    const fourth = await begin(store, session({ principal: OTHER }));
    const { issuer, sub } = shared;
    const steps: [SessionSelector, SessionRecord[]][] = [
      [{ session_id: first.secret_hash }, []],
      [{ session_id: third.session_id }, [third]],
      [{ issuer, sid: 'sid-2' }, [second]],
      [{ issuer, sub }, [first]],
      [{ issuer: 'https://two.example.com', sub }, []],
      [{ principal: OTHER }, [fourth]],
    ];
    for (const [selector, expected] of steps) {
      const { size } = await store.sequence();

      const ended = await store.endSessions(selector, at(SECOND), sessionEntry);

      same(ended, expected);
      const entries = await entriesSince(store, size);
      assert.deepEqual(
        entries.map(({ entry_type }) => entry_type),
        expected.map(() => 'session'),
      );
      for (const { secret_hash } of expected) {
        same((await store.findSession(secret_hash))?.ended_at, at(SECOND));
      }
    }
  },

  'endSessions() with both sub and sid ends the session of the sid': async (store) => {
    const [one, other] = await several(store, 2, { sub: 'ann', sid: 'sid-1' });
    const third = await begin(store, session({ sub: 'ann', sid: 'sid-3' }));
    const issuer = third.issuer ?? '';

    const ended = await store.endSessions(
      { issuer, sub: 'ann', sid: 'sid-3' },
      at(0),
      sessionEntry,
    );

    same(ended, [third]);
    assert.deepEqual((await living(store)).sort(), idsOf([one, other] as SessionRecord[]).sort());
  },

  'endSessions() of a person ends all their living sessions and no others': async (store) => {
    const begun = await several(store, 3);
    await begin(store, session({ expires_at: at(HOUR) }));
    const other = await begin(store, session({ principal: OTHER }));
    const { size } = await store.sequence();

    const ended = await store.endSessions({ principal: PERSON }, at(HOUR), sessionEntry);
    const again = await store.endSessions({ principal: PERSON }, at(HOUR), sessionEntry);

    assert.deepEqual(idsOf(ended).sort(), idsOf(begun).sort());
    assert.deepEqual(again, []);
    assert.equal((await entriesSince(store, size)).length, 3);
    assert.deepEqual(await living(store), []);
    assert.deepEqual(await living(store, OTHER), idsOf([other]));
  },

  'endSessions() ends none when an entry cannot be made': async (store) => {
    const begun = await several(store, 2);
    const { size } = await store.sequence();
    const failing = ({ session_id }: SessionRecord) => {
      if (session_id === begun[1]?.session_id) throw new Error('Cannot make the entry');
      return entry();
    };

    const ending = store.endSessions({ principal: PERSON }, at(SECOND), failing);

    await assert.rejects(ending, /Cannot make the entry/);
    assert.deepEqual(await living(store), idsOf(begun.reverse()));
    assert.equal((await store.sequence()).size, size);
  },

  'listSessions() has living sessions, newest first, no more than asked': async (store) => {
    const begun = await several(store, 3);
    const [first, second, third] = idsOf(begun);
    const short = await begin(store, session({ expires_at: at(HOUR) }));
    await store.touchSession(third ?? '', at(HOUR));

    const [newest] = await store.listSessions(PERSON, at(HOUR), 1);

    same(newest, { session: begun[2], seen_at: at(HOUR) });
    assert.deepEqual(await living(store), [third, second, first]);
    const before = await living(store, PERSON, at(HOUR - 1));
    assert.deepEqual(before.sort(), [...idsOf(begun), short.session_id].sort());
  },

  'voidPromises() deletes sessions, and neither accounts nor consents': async (store) => {
    const begun = await begin(store, session());
    const { consent } = await consented(store);

    await store.voidPromises();

    assert.equal(await store.findSession(begun.secret_hash), undefined);
    same(await store.findAccount(begun.account_id), accountOf(begun));
    same(await store.findConsent({ consent_id: consent.consent_id }), consent);
  },

  'scanRows() has sessions, accounts and consents, and sealRows() keeps the seal': async (
    store,
  ) => {
    const begun = await begin(store, session());
    const { consent } = await consented(store);
    const rowsOf = async () => [
      ...(await store.scanRows('sessions', undefined, 9)).rows,
      ...(await store.scanRows('accounts', undefined, 9)).rows,
      ...(await store.scanRows('consents', undefined, 9)).rows,
    ];
    const states: RowState[] = [];
    const answers = ['kid.seal', undefined, 'next.seal', undefined];

    for (const answer of answers) {
      await store.sealRows((state) => {
        states.push(state);
        return answer;
      });
    }

    same(await rowsOf(), [
      { kind: 'session', id: begun.session_id, row: begun },
      { kind: 'account', id: begun.account_id, row: accountOf(begun) },
      { kind: 'consent', id: consent.consent_id, row: consent },
    ]);
    same(states, [
      { isEmpty: false },
      { seal: 'kid.seal', isEmpty: false },
      { seal: 'kid.seal', isEmpty: false },
      { seal: 'next.seal', isEmpty: false },
    ]);
  },
};

export const ACCOUNT_CASES: Cases = {
  'replaceAccount() replaces the whole row while it has the time that was seen': async (store) => {
    const begun = await begin(store, session());
    const account = accountOf(begun);
    const next = {
      ...account,
      principal: OTHER,
      issuer: undefined,
      upstream: 'v1.next',
      mac: 'kid.next',
      checked_at: at(HOUR),
      ended_at: at(HOUR),
    };
    const late = { ...account, checked_at: at(2 * HOUR) };

    assert.equal(await store.replaceAccount(late, at(-1)), false);
    same(await store.findAccount(account.account_id), account);
    assert.equal(await store.replaceAccount(next, account.checked_at), true);
    assert.equal(await store.replaceAccount(late, account.checked_at), false);

    same(await store.findAccount(account.account_id), next);
    const unknown = { ...account, account_id: 'unknown' };
    assert.equal(await store.replaceAccount(unknown, account.checked_at), false);
    assert.equal(await store.findAccount('unknown'), undefined);
  },
};
