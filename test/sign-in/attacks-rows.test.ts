/**
 * Rows of sign-in, changed or put back behind the service's back.
 *
 * An edited row counts as absent and raises an alarm. A row that is put back as it once was, with its MAC, is
 * authentic: its MAC cannot tell its age. The last tests show what the service does then.
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { checkStore } from '../../src/storage/fsck/fsck.ts';
import { type Inspected, onInspectedStores } from '../authority/support.ts';
import { update } from '../authority/tampering.ts';
import { ALICE } from '../support/world.ts';
import { claimsOf, codeFor, isAlive, READS, redeem, refresh, signedIn } from './attacker.ts';
import { askToken, delegation } from './browser.ts';

/** Alarms about rows of a kind. */
function alarmsOf({ log }: Inspected, kind: string): number {
  return log.filter((line) => line.includes(`"alarm":"row_altered","kind":"${kind}"`)).length;
}

const consentIn = (token: string) => /con_[0-9a-f]{32}/.exec(token)?.[0] as string;

onInspectedStores((rig) => {
  const later = (column: string) => ({
    file: `${column} = ${column} + 3600000`,
    database: `${column} = ${column} + interval '1 hour'`,
  });

  describe('an edited session', () => {
    for (const [name, set] of [
      ['principal', "principal = 'human:bob@example.com'"],
      ['account', "account_id = 'key:00'"],
      ['secret', `secret_hash = '${'0'.repeat(64)}'`],
      ['authentication', "acr = 'phr'"],
      ['time of authentication', later('auth_time')],
      ['end', later('expires_at')],
      ['MAC', 'mac = NULL'],
    ] as const) {
      test(`with another ${name} opens nothing`, async () => {
        const person = await signedIn(rig());
        const { record } = await newestSession(rig());
        const before = alarmsOf(rig(), 'session');

        await update(rig(), 'sessions', set, `session_id = '${record}'`);

        assert.equal((await person.open('/agents')).status, 303);
        // A row that is no longer found by its secret has nothing to be compared with.
        if (name !== 'secret') assert.ok(alarmsOf(rig(), 'session') > before);
      });
    }

    test('an ended session that is set alive again by a MAC-less column stays within its end', async () => {
      const person = await signedIn(rig());
      const { record } = await newestSession(rig());
      await update(rig(), 'sessions', later('seen_at'), `session_id = '${record}'`);
      rig().advance(13 * 3_600_000);
      assert.equal((await person.open('/agents')).status, 303);
    });
  });

  describe('an edited consent', () => {
    for (const [name, set] of [
      ['generation, set back', 'generation = 1'],
      ['generation, set ahead', 'generation = 9'],
      ['time of rotation', later('rotated_at')],
      ['use of its code, removed', 'code_used_at = NULL'],
      ['end', later('expires_at')],
      ['person', "principal = 'human:bob@example.com'"],
      ['client', "client_id = 'other'"],
      ['account', "account_id = 'key:00'"],
      [
        'root token',
        'token_id = (SELECT token_id FROM tokens WHERE depth = 1 ORDER BY issued_at DESC LIMIT 1)',
      ],
      ['challenge', "challenge = 'x'"],
      ['MAC', 'mac = NULL'],
    ] as const) {
      test(`in its ${name} gives no token, for code or refresh token`, async () => {
        const given = await delegation(rig(), READS);
        const { body } = await refresh(rig(), given.refresh);
        const id = consentIn(given.refresh);
        const before = alarmsOf(rig(), 'consent');

        await update(rig(), 'consents', set, `consent_id = '${id}'`);

        const redirect_uri = 'http://127.0.0.1:53187/callback';
        const replies = [
          await refresh(rig(), body.refresh_token),
          await refresh(rig(), given.refresh),
          await refresh(rig(), given.refresh, { client_id: 'other' }),
          await redeem(rig(), { ...given, redirect_uri }),
        ];
        for (const reply of replies) {
          assert.deepEqual([reply.status, reply.body.error], [400, 'invalid_grant']);
        }
        assert.ok(alarmsOf(rig(), 'consent') > before);
      });
    }
  });

  test('an account that was edited to another person ends what was given, with an alarm', async () => {
    const given = await delegation(rig(), READS);
    const person = await signedIn(rig());
    const before = alarmsOf(rig(), 'account');
    await update(rig(), 'accounts', "principal = 'human:bob@example.com'", '1 = 1');

    assert.equal((await person.open('/agents')).status, 303);
    assert.equal((await refresh(rig(), given.refresh)).body.error, 'invalid_grant');
    assert.equal(await isAlive(rig(), given.access), false);
    assert.ok(alarmsOf(rig(), 'account') > before);
    await rig().place.alter('DELETE FROM accounts');
    await signedIn(rig());
  });

  test('a root token that was edited gives no access token', async () => {
    const given = await delegation(rig(), READS);
    const root = await rootOf(rig(), given.access);
    const scope = {
      file: `scope = '["operator:*"]'`,
      database: "scope = ARRAY['operator:*']",
    };
    await update(rig(), 'tokens', scope, `token_id = '${root}'`);

    assert.equal((await refresh(rig(), given.refresh)).body.error, 'invalid_grant');
    assert.equal(await isAlive(rig(), given.access), false);
  });

  test('a code whose row is copied for another person is none of theirs', async () => {
    const person = await signedIn(rig());
    const coded = await codeFor(person);
    const other = await codeFor(await signedIn(rig(), ALICE));
    await rig().place.alter(
      'UPDATE consents SET challenge = (SELECT challenge FROM consents ORDER BY created_at DESC LIMIT 1) WHERE code_used_at IS NULL',
    );

    assert.equal((await redeem(rig(), { ...coded, verifier: other.verifier })).status, 400);
  });

  describe('a consent that is put back as it was, with its MAC,', () => {
    async function putBack(): Promise<{ old: string; current: string; access: string }> {
      const { refresh: old, access } = await delegation(rig(), READS);
      const where = `consent_id = '${consentIn(old)}'`;
      await rig().place.alter(`CREATE TABLE kept AS SELECT * FROM consents WHERE ${where}`);
      const { body } = await refresh(rig(), old);
      rig().advance(31_000);
      await rig().place.alter(`DELETE FROM consents WHERE ${where}`);
      await rig().place.alter('INSERT INTO consents SELECT * FROM kept; DROP TABLE kept');
      return { old, current: body.refresh_token, access };
    }

    test('ends as soon as its client comes with the newer refresh token', async () => {
      const { old, current, access } = await putBack();

      assert.equal((await refresh(rig(), current)).body.error, 'invalid_grant');
      assert.equal(await isAlive(rig(), access), false);
      assert.equal((await refresh(rig(), old)).body.error, 'invalid_grant');
    });

    test('takes the older refresh token once more, until its client comes', async () => {
      const { old, current } = await putBack();

      // Only who holds both the database and an old refresh token gets here.
      const { status, body } = await refresh(rig(), old);
      assert.equal(status, 200);
      rig().advance(31_000);
      assert.equal((await refresh(rig(), body.refresh_token)).status, 200);
      rig().advance(31_000);
      assert.equal((await refresh(rig(), current)).body.error, 'invalid_grant');
      assert.equal(await isAlive(rig(), body.access_token), false);
    });

    test('together with its root token from before the revocation, lives again, and fsck finds it', async () => {
      const { refresh: token, access } = await delegation(rig(), READS);
      const root = await rootOf(rig(), access);
      await askToken(rig(), { token }, '/revoke');
      assert.equal((await refresh(rig(), token)).body.error, 'invalid_grant');

      await update(
        rig(),
        'tokens',
        'revoked_at = NULL, revoked_mac = NULL',
        `token_id = '${root}'`,
      );

      assert.equal((await refresh(rig(), token)).status, 200);
      await rig().store.sequence();
      const { findings } = await checkStore(rig().store);
      assert.ok(
        findings.some((each) => JSON.stringify(each).includes(root)),
        JSON.stringify(findings).slice(0, 500),
      );
    });

    test('stays ended when its root token was revoked', async () => {
      const { old, current } = await putBack();
      await refresh(rig(), current);

      assert.equal((await refresh(rig(), old)).body.error, 'invalid_grant');
    });
  });
});

async function newestSession({ store }: Inspected): Promise<{ record: string }> {
  const [newest] = await store.listSessions('human:alice@example.com', store.now(), 1);
  assert.ok(newest);
  return { record: newest.session.session_id };
}

async function rootOf({ store }: Inspected, access: string): Promise<string> {
  const { token } = await store.load({ tokenId: claimsOf(access).jti });
  return token?.parent_token_id as string;
}
