/**
 * Attacks with refresh tokens: theft, races, forged texts, texts of another kind.
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { AGENT, ALICE, onEachStore, testService } from '../support/world.ts';
import { isAlive, READS, refresh, SPENDS } from './attacker.ts';
import { askToken, BASE, delegation } from './browser.ts';

const GRACE_MS = 30_000;

/** `wrf.<consent>.<generation>.<mac>` in its parts. */
function partsOf(token: string) {
  const [, consent = '', generation = '', ...mac] = token.split('.');
  return { consent, generation, mac: mac.join('.') };
}

onEachStore(
  ({ url }) => testService({ store: url, settings: { rate_limits: 'off' } }),
  (service) => {
    const dead = async (token: string) => {
      assert.equal((await refresh(service(), token)).body.error, 'invalid_grant');
    };

    test('a stolen refresh token ends both holders, in whichever order they use it', async () => {
      const { refresh: stolen } = await delegation(service(), READS);
      const first = await refresh(service(), stolen);
      service().advance(GRACE_MS + 1_000);
      const second = await refresh(service(), stolen);

      assert.equal(first.status, 200);
      assert.equal(second.body.error, 'invalid_grant');
      await dead(first.body.refresh_token);
      assert.equal(await isAlive(service(), first.body.access_token), false);
    });

    test('the grace is exactly as long as it says, and not renewed by being used', async () => {
      service().holdClock(true);
      try {
        const { refresh: token } = await delegation(service(), READS);
        await refresh(service(), token);
        service().advance(GRACE_MS - 1_000);
        assert.equal((await refresh(service(), token)).status, 200);
        service().advance(1_000);
        assert.equal((await refresh(service(), token)).status, 200);
        service().advance(1);
        await dead(token);
      } finally {
        service().holdClock(false);
      }
    });

    test('a thief in the grace gets the same token as the client, and the next use of it ends both', async () => {
      const { refresh: token } = await delegation(service(), READS);
      const client = await refresh(service(), token);
      const thief = await refresh(service(), token);
      assert.equal(thief.body.refresh_token, client.body.refresh_token);
      service().advance(GRACE_MS + 1_000);

      const next = await refresh(service(), client.body.refresh_token);
      service().advance(GRACE_MS + 1_000);
      await dead(thief.body.refresh_token);
      await dead(next.body.refresh_token);
      for (const { body } of [client, thief, next]) {
        assert.equal(await isAlive(service(), body.access_token), false);
      }
    });

    test('the refresh token before the previous one has no grace', async () => {
      const { refresh: token } = await delegation(service(), READS);
      const next = await refresh(service(), token);
      const last = await refresh(service(), next.body.refresh_token);

      await dead(token);
      await dead(last.body.refresh_token);
    });

    test('twenty racing rotations make one generation, and the next use goes on', async () => {
      const { refresh: token } = await delegation(service(), READS);
      const all = await Promise.all(Array.from({ length: 20 }, () => refresh(service(), token)));

      for (const { status, body } of all) {
        assert.ok(status === 200 || body.error === 'temporarily_unavailable', JSON.stringify(body));
      }
      const given = all.filter(({ status }) => status === 200);
      assert.ok(given.length > 0);
      const tokens = [...new Set(given.map(({ body }) => body.refresh_token as string))];
      assert.equal(tokens.length, 1);
      assert.equal(partsOf(tokens[0] as string).generation, '2');
      assert.equal((await refresh(service(), tokens[0] as string)).status, 200);
    });

    test('racing rotations with a stolen older token end everything in any order', async () => {
      const { refresh: old } = await delegation(service(), READS);
      const { body } = await refresh(service(), old);
      service().advance(GRACE_MS + 1_000);
      const all = await Promise.all(
        Array.from({ length: 10 }, (_, place) =>
          refresh(service(), place % 2 ? old : body.refresh_token),
        ),
      );

      for (const { status, body: made } of all.filter(({ status }) => status === 200)) {
        assert.equal(status, 200);
        assert.equal(await isAlive(service(), made.access_token), false);
        await dead(made.refresh_token);
      }
    });

    test('refreshes that race the end of a delegation leave nothing alive', async () => {
      const { refresh: token, access } = await delegation(service(), READS);
      const renewing = Array.from({ length: 10 }, () => refresh(service(), token));
      const ending = askToken(service(), { token }, '/revoke');
      const all = await Promise.all(renewing);
      assert.equal((await ending).status, 200);

      const given = all.filter(({ status }) => status === 200).map(({ body }) => body);
      for (const each of [access, ...given.map(({ access_token }) => access_token)]) {
        assert.equal(await isAlive(service(), each), false);
      }
      for (const { refresh_token } of given) await dead(refresh_token);
      await dead(token);
    });

    test('the budget is one, however many refreshes race', async () => {
      const { refresh: token } = await delegation(service(), SPENDS);
      const all = await Promise.all(Array.from({ length: 6 }, () => refresh(service(), token)));
      const paid = await Promise.all(
        all
          .filter(({ status }) => status === 200)
          .map(({ body }) => service().invoke(body.access_token, 'buy_lounge_pass')),
      );

      // Each costs 25 of 60.
      assert.equal(paid.filter(({ status }) => status === 200).length, 2);
    });

    describe('a forged text', () => {
      const forgeries: [name: string, forge: (own: string, other: string) => string][] = [
        ['the next generation', (own) => own.replace(/\.1\./, '.2.')],
        ['generation 0', (own) => own.replace(/\.1\./, '.0.')],
        ['a generation with a zero before', (own) => own.replace(/\.1\./, '.01.')],
        ['a generation with an exponent', (own) => own.replace(/\.1\./, '.1e0.')],
        ['a generation with a sign', (own) => own.replace(/\.1\./, '.+1.')],
        ['a negative generation', (own) => own.replace(/\.1\./, '.-1.')],
        ['a generation with a fraction', (own) => own.replace(/\.1\./, '.1.0.')],
        ['a huge generation', (own) => own.replace(/\.1\./, `.${'9'.repeat(40)}.`)],
        ['a generation in other digits', (own) => own.replace(/\.1\./, '.１.')],
        ['no generation', (own) => own.replace(/\.1\./, '..')],
        [
          'the MAC of another consent',
          (own, other) => `wrf.${partsOf(own).consent}.1.${partsOf(other).mac}`,
        ],
        [
          'the consent of another MAC',
          (own, other) => own.replace(/con_\w+/, partsOf(other).consent),
        ],
        ['no MAC', (own) => own.replace(partsOf(own).mac, '')],
        ['half a MAC', (own) => own.slice(0, -8)],
        [
          'a MAC under another key id',
          (own) => own.replace(partsOf(own).mac, `other.${'A'.repeat(43)}`),
        ],
        ['another spelling of the MAC', (own) => `${own}=`],
        ['upper case', (own) => own.toUpperCase()],
        ['a space after it', (own) => `${own} `],
        ['a line break after it', (own) => `${own}\n`],
        ['nothing', () => ''],
      ];
      for (const [name, forge] of forgeries) {
        test(`with ${name} is unknown, and ends nothing`, async () => {
          const own = await delegation(service(), READS);
          const other = await delegation(service(), READS);

          await dead(forge(own.refresh, other.refresh));
          for (const each of [own, other]) {
            assert.equal((await refresh(service(), each.refresh)).status, 200);
          }
        });
      }
    });

    test('another client neither uses nor ends a refresh token that it found', async () => {
      const { refresh: token, access } = await delegation(service(), READS);
      for (const client_id of ['other', undefined, '', 'WRIT-CLI']) {
        assert.equal((await refresh(service(), token, { client_id })).status, 400);
        const fields = { token, client_id };
        assert.equal((await askToken(service(), fields, '/revoke')).status, 400);
      }
      assert.equal(await isAlive(service(), access), true);
      assert.equal((await refresh(service(), token)).status, 200);
    });

    test('a refresh never widens: neither scope, nor capability, nor budget, nor lifetime', async () => {
      const { refresh: token } = await delegation(service(), READS);
      for (const scope of [
        'travel.book',
        'travel.*',
        '*',
        'operator:*',
        'travel.search travel.book',
      ]) {
        assert.equal((await refresh(service(), token, { scope })).body.error, 'invalid_scope');
      }
      const { body } = await refresh(service(), token, { scope: 'travel.search' });
      assert.equal(body.scope, 'travel.search');
      const again = await refresh(service(), body.refresh_token);
      const described = await service().ask('POST', '/svc/permissions', {
        bearer: again.body.access_token,
        body: {},
      });
      assert.equal(described.status, 200);
      const found = await service().invoke(again.body.access_token, 'find_traveler', {
        traveler: 'bo',
      });
      assert.equal(found.body.failure.type, 'purpose_mismatch');
    });

    test('a secret of one kind is none of another', async () => {
      const { access, refresh: token, code } = await delegation(service(), READS);
      for (const text of [access, code, ALICE, AGENT]) await dead(text);
      for (const bearer of [token, code]) {
        const called = await service().invoke(bearer, 'search_flights');
        assert.equal(called.status, 401);
        const asked = await service().ask('POST', '/svc/tokens', {
          bearer,
          body: { scope: ['travel.search'] },
        });
        assert.equal(asked.status, 401);
      }
      assert.equal((await refresh(service(), token)).status, 200);
    });

    test('the root token of a consent is never handed out', async () => {
      const { refresh: token, access } = await delegation(service(), READS);
      const more = await refresh(service(), token);
      const issued = await service().entriesBy({ entryType: 'issuance' });
      const handed = [access, more.body.access_token].map((text) => {
        const { jti } = JSON.parse(Buffer.from(text.split('.')[1] ?? '', 'base64url').toString());
        return jti as string;
      });
      for (const id of handed) {
        const { token: row } = await service().store.load({ tokenId: id });
        assert.equal(row?.depth, 1);
        assert.ok(row.parent_token_id);
        assert.ok(!handed.includes(row.parent_token_id));
        assert.ok(issued.some(({ token_id }) => token_id === row.parent_token_id));
      }
    });

    test('a refresh for the resource of another service is refused', async () => {
      const { refresh: token } = await delegation(service(), READS, {
        more: { resource: `${BASE}/mcp` },
      });
      for (const resource of [
        'https://evil.example/mcp',
        BASE,
        `${BASE}/svc`,
        `${BASE}/mcp#x`,
        'x',
      ]) {
        assert.equal((await refresh(service(), token, { resource })).body.error, 'invalid_target');
      }
      assert.equal((await refresh(service(), token, { resource: `${BASE}/mcp` })).status, 200);
    });
  },
);
