/**
 * Races of sign-in: one renewal for each generation, none that outlives its revocation, sessions within
 * their bound, sessions that end once and stay ended, and no passkey on the word of a removed one.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { TokenRecord } from '../../src/storage/port/records.ts';
import type { ConsentRecord, SessionRecord } from '../../src/storage/port/sign-in-store.ts';
import type { Store } from '../../src/storage/port/store.ts';
import { issuanceEntry, revocationEntry } from '../support/entries.ts';
import { admission, at, FAR, HOUR, SECOND } from '../support/fixtures.ts';
import {
  accessToken,
  accountOf,
  added,
  begin,
  consented,
  passkey,
  passkeyEntry,
  rotated,
  session,
  sessionEntry,
} from '../support/sign-in.ts';
import { entriesSince } from './observe.ts';
import { patiently, type Races, raceOf, storeOf } from './race.ts';

const PERSON = 'human:ann@example.com';
const BOUNDS = { now: at(SECOND), childrenMax: 10_000 };

export const SIGN_IN_RACES: Races = {
  'renewConsent() of one generation succeeds for one of many': async (stores, { callers }) => {
    const { token, consent } = await consented(stores[0]);
    let current: ConsentRecord = consent;
    for (let round = 1; round <= 3; round++) {
      const seen = current;
      const children = Array.from({ length: callers }, () => accessToken(token));
      const nexts = children.map((_, caller) => ({ ...rotated(seen), user_agent: `${caller}` }));

      const answers = await raceOf(stores, callers, (store, caller) => {
        const child = children[caller] as (typeof children)[number];
        const next = nexts[caller] as ConsentRecord;
        return store.renewConsent(next, seen, child, issuanceEntry(child), BOUNDS);
      });

      const winner = answers.indexOf('inserted');
      assert.equal(answers.filter((answer) => answer === 'stale').length, callers - 1);
      const kept = await stores[0].findConsent({ consent_id: consent.consent_id });
      assert.equal(kept?.user_agent, `${winner}`);
      assert.equal((await stores[0].describeToken(token.token_id, 0))?.childrenCount, round);
      current = kept as ConsentRecord;
    }
  },

  'renewConsent() racing the revocation of its root leaves no living child': async (
    stores,
    { rounds },
  ) => {
    for (let round = 0; round < Math.min(rounds, 100); round++) {
      const { token, consent } = await consented(stores[0]);
      const [child, later] = [accessToken(token), accessToken(token)];
      const renew = (store: Store, seen: ConsentRecord, inserted: TokenRecord) =>
        store.renewConsent(rotated(seen), seen, inserted, issuanceEntry(inserted), BOUNDS);

      const [answer] = await Promise.all([
        patiently(() => renew(storeOf(stores, round), consent, child)),
        patiently(() =>
          storeOf(stores, round + 1).revokeToken(token.token_id, at(0), () =>
            revocationEntry(token.token_id),
          ),
        ),
      ]);

      const kept = await stores[0].findConsent({ consent_id: consent.consent_id });
      assert.ok(answer === 'inserted' || answer === 'parent_revoked', answer);
      assert.equal(kept?.generation, answer === 'inserted' ? 1 : 0);
      const admitted = await patiently(() => storeOf(stores, round).admit(admission(child)));
      assert.equal(admitted.admitted, false, 'a live access token of a revoked consent');
      const again = await renew(storeOf(stores, round), kept as ConsentRecord, later);
      assert.equal(again, 'parent_revoked');
    }
  },

  'beginSession() by many at once leaves no more than the bound': async (stores, { callers }) => {
    const sessionsMax = 3;
    for (let place = 0; place < sessionsMax; place++) await begin(stores[0], session());

    const begun = await raceOf(stores, callers, (store, caller) =>
      begin(store, session({ created_at: at(caller) }), sessionsMax),
    );

    const living = await stores[0].listSessions(PERSON, at(HOUR), callers);
    assert.equal(living.length, sessionsMax);
    const found = await raceOf(stores, callers, (store, caller) =>
      store.findSession(begun[caller]?.secret_hash ?? ''),
    );
    assert.ok(found.every((each) => each !== undefined));
  },

  'endSessions() by person and by account ends each session once': async (stores, { rounds }) => {
    for (let round = 0; round < Math.min(rounds, 30); round++) {
      const principal = `human:${round}@example.com`;
      const sub = `sub-${round}`;
      const begun: SessionRecord[] = [];
      for (let place = 0; place < 4; place++) {
        begun.push(await begin(stores[0], session({ principal, sub })));
      }
      const issuer = begun[0]?.issuer ?? '';
      const selectors = [{ principal }, { issuer, sub }];

      const ended = await raceOf(stores, 6, (store, caller) => {
        const selector = selectors[caller % 2] as (typeof selectors)[number];
        return store.endSessions(selector, at(SECOND), (each) => sessionEntry(each, 'sign_out'));
      });

      const ids = ended.flat().map(({ session_id }) => session_id);
      assert.deepEqual(ids.sort(), begun.map(({ session_id }) => session_id).sort());
    }
  },

  'endSessions() racing touchSession() and beginSession() ends for good': async (
    stores,
    { rounds },
  ) => {
    for (let round = 0; round < Math.min(rounds, 50); round++) {
      const principal = `human:${round}@example.com`;
      const [one, other] = [session({ principal }), session({ principal, created_at: at(1) })];
      await begin(stores[0], one);
      await begin(stores[0], other);
      const touch = (store: Store) => store.touchSession(one.session_id, at(round));

      await raceOf(stores, 4, async (store, caller) => {
        if (caller === 0) await store.endSessions({ principal }, at(SECOND), sessionEntry);
        else if (caller === 1) await begin(store, session({ principal, created_at: at(2) }), 1);
        else await touch(store);
      });
      await touch(stores[0]);
      await stores[0].touchSession(one.session_id, FAR);

      const kept = await stores[0].findSession(one.secret_hash);
      assert.notEqual(kept?.ended_at, undefined);
      assert.notDeepEqual(kept?.seen_at, FAR);
      const living = await stores[0].listSessions(principal, at(SECOND), 9);
      assert.ok(living.length <= 1);
    }
  },

  'insertPasskey() comes before the removal of the passkey that confirms it, or not at all': async (
    stores,
    { rounds },
  ) => {
    for (let round = 0; round < Math.min(rounds, 10); round++) {
      const principal = `human:${round}@example.com`;
      const first = await added(stores[0], passkey({ principal }));
      const second = passkey({ principal });
      const seen = [first.credential_id];
      const [addition, removal] = [passkeyEntry(second), passkeyEntry(first, 'passkey_removed')];
      const { size } = await stores[0].sequence();

      const results = await raceOf(stores, 2, async (store, caller) =>
        caller === round % 2
          ? store.removePasskey(first, at(SECOND), removal)
          : store.insertPasskey(second, addition, seen, first.credential_id),
      );

      const isInserted = results.includes('inserted');
      assert.ok(results.includes(true) && (isInserted || results.includes('stale')));
      const logged = (await entriesSince(stores[0], size)).map(({ entry_id }) => entry_id);
      const expected = isInserted ? [addition, removal] : [removal];
      assert.deepEqual(
        logged,
        expected.map(({ entry_id }) => entry_id),
      );
    }
  },

  'replaceAccount() of one check succeeds for one of many': async (stores, { callers }) => {
    const begun = await begin(stores[0], session());
    const account = accountOf(begun);

    const answers = await raceOf(stores, callers, (store, caller) => {
      const next = { ...account, checked_at: at(HOUR), upstream: `${caller}` };
      return store.replaceAccount(next, account.checked_at);
    });

    assert.equal(answers.filter((isReplaced) => isReplaced).length, 1);
    const kept = await stores[0].findAccount(account.account_id);
    assert.equal(kept?.upstream, `${answers.indexOf(true)}`);
  },
};
