/**
 * Sessions, accounts and consents whose rows were edited outside the service, on both stores.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'vitest';
import { same } from '../../../test/store/observe.ts';
import { closedAtEnd } from '../../../test/support/ends.ts';
import { at, entry, HOUR, SECOND } from '../../../test/support/fixtures.ts';
import {
  accessToken,
  accountOf,
  begin,
  consented,
  rotated,
  session,
  sessionEntry,
} from '../../../test/support/sign-in.ts';
import { SQL_PLACES, type SqlPlace } from '../../../test/support/sql-places.ts';
import { listedRowKeys } from '../../keyring/row-keys.ts';
import { createLog } from '../../log.ts';
import { checkMacs } from '../../storage/fsck/macs.ts';
import { openStore } from '../../storage/open.ts';
import type { TokenRecord } from '../../storage/port/records.ts';
import type { ConsentRecord, SessionRecord } from '../../storage/port/sign-in-store.ts';
import type { Store } from '../../storage/port/store.ts';
import { createAlarms } from '../operations/alarms.ts';
import { openRowLogs, type RowLogs } from './row-check.ts';
import { serviceStore } from './service-store.ts';

const rows = listedRowKeys(Buffer.alloc(32, 1).toString('base64'), () => new Date());

/** What someone who can write to the database might gain by: the edit, and which row it is. */
const EDITS: readonly [kind: 'session' | 'account' | 'consent', what: string, sql: string][] = [
  ['session', 'another principal', "UPDATE sessions SET principal = 'human:boss'"],
  ['session', 'another secret', "UPDATE sessions SET secret_hash = 'known'"],
  [
    'session',
    'a later end',
    'UPDATE sessions SET expires_at = (SELECT max(expires_at) FROM tokens)',
  ],
  ['session', 'another acr', "UPDATE sessions SET acr = 'strong'"],
  ['session', 'no MAC', 'UPDATE sessions SET mac = NULL'],
  ['account', 'no end', 'UPDATE accounts SET ended_at = NULL'],
  ['account', 'another check', 'UPDATE accounts SET checked_at = ended_at'],
  ['account', 'another upstream', "UPDATE accounts SET upstream = 'v1.other'"],
  ['consent', 'an older generation', 'UPDATE consents SET generation = 1'],
  ['consent', 'an unused code', 'UPDATE consents SET code_used_at = NULL'],
  ['consent', 'another principal', "UPDATE consents SET principal = 'human:boss'"],
  ['consent', 'another redirect', "UPDATE consents SET redirect_uri = 'https://evil.example'"],
];

for (const { name, open } of SQL_PLACES) {
  describe(name, () => {
    let place: SqlPlace;
    let raw: Store;
    let store: Store;
    let logs: RowLogs;
    let raised: string[];
    let begun: SessionRecord;
    let token: TokenRecord;
    let consent: ConsentRecord;

    /** A session, an account that ended, and a consent of the second generation. */
    beforeEach(async () => {
      place = await open();
      raw = closedAtEnd(await openStore(place.url));
      raised = [];
      const alarms = createAlarms(createLog('silent'));
      alarms.watch((alarm) => raised.push(alarm));
      logs = await openRowLogs(raw);
      store = serviceStore(raw, { rows, alarms, logs });
      begun = await begin(store, session());
      const account = accountOf(begun, { checked_at: at(1), ended_at: at(2) });
      assert.equal(await store.replaceAccount(account, begun.created_at), true);
      ({ token, consent } = await consented(store));
      for (let generation = 0; generation < 2; generation++) consent = await renewed(consent);
    });

    const judged = async () => (await store.load({ tokenId: token.token_id })).lineage;

    async function renew(seen: ConsentRecord) {
      const bounds = { now: at(SECOND), childrenMax: 9, judged: await judged() };
      return store.renewConsent(rotated(seen), seen, accessToken(token), entry(), bounds);
    }

    async function renewed(seen: ConsentRecord): Promise<ConsentRecord> {
      assert.equal(await renew(seen), 'inserted');
      return rotated(seen);
    }

    const reads = {
      session: async (secret = begun.secret_hash) => (await store.findSession(secret))?.session,
      account: () => store.findAccount(begun.account_id),
      consent: () => store.findConsent({ consent_id: consent.consent_id }),
    };

    /** The rows that fsck finds altered. */
    const found = async () => (await checkMacs(raw, rows.isMacOf)).altered;

    test('serviceStore() returns the rows of sign-in that it wrote and raises no alarm', async () => {
      const { mac: _, ...kept } = (await reads.session()) ?? {};
      same(kept, begun);
      assert.deepEqual((await reads.account())?.ended_at, at(2));
      assert.equal((await reads.consent())?.generation, 2);
      assert.equal((await store.findConsent({ code_hash: consent.code_hash }))?.generation, 2);
      assert.equal((await store.listSessions(begun.principal, at(0), 9)).length, 1);
      assert.equal((await store.listConsents(consent.principal, 9)).length, 1);
      assert.deepEqual([raised, await found()], [[], []]);
    });

    for (const [kind, what, sql] of EDITS) {
      test(`serviceStore() hides a ${kind} that was edited to have ${what}`, async () => {
        await place.alter(sql);

        assert.equal(await reads[kind](what === 'another secret' ? 'known' : undefined), undefined);

        assert.deepEqual(raised, ['row_altered']);
        const id = { session: begun.session_id, account: begun.account_id, consent: '' }[kind];
        assert.deepEqual(await found(), [`${kind} "${id || consent.consent_id}"`]);
      });
    }

    test('serviceStore() hides a session whose last use is unreadable', async () => {
      const never = name === 'SQLite' ? '9000000000000000000' : "'infinity'";
      await place.alter(`UPDATE sessions SET seen_at = ${never}`);

      assert.equal(await reads.session(), undefined);
      assert.deepEqual(await store.listSessions(begun.principal, at(0), 9), []);

      assert.deepEqual(raised, ['row_altered', 'row_altered']);
    });

    test('serviceStore() ends a session that was edited, with an alarm', async () => {
      await place.alter("UPDATE sessions SET acr = 'strong'");

      const ended = await store.endSessions({ principal: begun.principal }, at(0), sessionEntry);

      assert.equal(ended.length, 1);
      assert.deepEqual(raised, ['row_altered']);
      assert.deepEqual((await raw.findSession(begun.secret_hash))?.ended_at, at(0));
    });

    test('serviceStore() lists the consents that match, in full pages', async () => {
      const given = [consent];
      for (const second of [1, 2, 3, 4]) {
        const created_at = at(second * SECOND);
        const root_principal = consent.principal;
        given.push((await consented(store, { created_at, token: { root_principal } })).consent);
      }
      const edited = given.slice(2, 5).map(({ consent_id }) => `'${consent_id}'`);
      await place.alter(
        `UPDATE consents SET client_name = 'x' WHERE consent_id IN (${edited.join()})`,
      );

      const page = await store.listConsents(consent.principal, 2);
      const next = await store.listConsents(consent.principal, 2, page.at(-1));

      assert.deepEqual(
        page.map(({ consent_id }) => consent_id),
        [given[1], given[0]].map((each) => each?.consent_id),
      );
      assert.deepEqual(next, []);
    });

    test('serviceStore() ends the list at a consent whose time is unreadable', async () => {
      const never = name === 'SQLite' ? '-9000000000000000000' : "'-infinity'";
      await place.alter(`UPDATE consents SET created_at = ${never}`);

      assert.deepEqual(await store.listConsents(consent.principal, 1), []);

      assert.deepEqual(raised, ['row_altered']);
    });

    test('serviceStore() renews no consent whose root token was edited', async () => {
      const lineage = await judged();
      await place.alter(`UPDATE tokens SET mac = 'kid.x' WHERE token_id = '${token.token_id}'`);
      const bounds = { now: at(SECOND), childrenMax: 9, judged: lineage };
      const child = accessToken(token);

      const answer = await store.renewConsent(rotated(consent), consent, child, entry(), bounds);

      assert.equal(answer, 'parent_altered');
      assert.deepEqual(raised, ['row_altered']);
      assert.equal((await reads.consent())?.generation, 2);
    });

    test('serviceStore() throws when a renewal passes no judged lineage', async () => {
      const bounds = { now: at(SECOND), childrenMax: 9 };
      const child = accessToken(token);

      await assert.rejects(
        async () => store.renewConsent(rotated(consent), consent, child, entry(), bounds),
        /its lineage was not checked/,
      );
    });

    test('serviceStore() accepts no session, account or consent of an ended log', async () => {
      await raw.beginOrigin(await raw.sequence(), 'log-2', entry());
      await logs.look();

      for (const read of Object.values(reads)) assert.equal(await read(), undefined);
      assert.deepEqual(await store.listSessions(begun.principal, at(0), 9), []);
      assert.deepEqual(await store.listConsents(consent.principal, 9), []);

      assert.deepEqual(raised, []);
      const { voided, altered } = await checkMacs(raw, rows.isMacOf);
      assert.deepEqual([voided, altered], [[`session "${begun.session_id}"`], []]);
      const again = await begin(store, session({ created_at: at(HOUR) }));
      assert.equal(
        (await store.findSession(again.secret_hash))?.session.session_id,
        again.session_id,
      );
    });
  });
}

test('replaceAccount() on PostgreSQL ignores an edit below a millisecond, as reading does', async () => {
  const [, postgres] = SQL_PLACES;
  const place = await (postgres as (typeof SQL_PLACES)[number]).open();
  const store = closedAtEnd(await openStore(place.url));
  const begun = await begin(store, session());
  await place.alter("UPDATE accounts SET checked_at = checked_at + interval '999 microseconds'");
  const account = await store.findAccount(begun.account_id);

  const next = accountOf(begun, { checked_at: at(HOUR) });

  assert.deepEqual(account?.checked_at, begun.created_at);
  assert.equal(await store.replaceAccount(next, begun.created_at), true);
});
