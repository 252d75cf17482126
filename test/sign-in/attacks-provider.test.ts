/**
 * People of an identity provider: proofs that are too old or too weak, and secrets that must not be written
 * down.
 */

import assert from 'node:assert/strict';
import { importJWK, SignJWT } from 'jose';
import { describe, test } from 'vitest';
import { issuerOf } from '../oidc/desk.ts';
import { falseProvider } from '../oidc/false-provider.ts';
import { privateJwk } from '../oidc/provider.ts';
import { atEnd } from '../support/ends.ts';
import { onEachStore, type Reply, testService } from '../support/world.ts';
import { get, READS, redeem, refresh } from './attacker.ts';
import { asking, consent, locationOf, type Person, personAt } from './browser.ts';

/** What the provider says of the person in its next identity token. */
let next: Record<string, unknown> = {};
const key = privateJwk();
const { d: _, ...published } = key;
const UPSTREAM = 'canary-upstream-token';

const provider = await falseProvider({
  jwks: { keys: [published] },
  discovery: {
    authorization_endpoint: 'http://127.0.0.1:9/auth',
    get token_endpoint() {
      return `${provider.issuer}/token`;
    },
  },
  instead(path, response) {
    if (path !== '/token') return false;
    void identityToken().then((id_token) => {
      const tokens = { id_token, access_token: 'canary-access', refresh_token: UPSTREAM };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(tokens));
    });
    return true;
  },
});
atEnd(() => provider.close());

async function identityToken(): Promise<string> {
  const now = Math.floor(Date.now() / 1_000);
  return new SignJWT({
    iss: provider.issuer,
    aud: 'desk',
    sub: 'ann-1',
    iat: now,
    exp: now + 600,
    email: 'ann@example.com',
    email_verified: true,
    auth_time: now,
    ...next,
  })
    .setProtectedHeader({ alg: 'ES256', kid: key.kid as string })
    .sign(await importJWK(key, 'ES256'));
}

const SETTINGS = {
  rate_limits: 'off',
  oidc: [
    { ...issuerOf(provider.issuer), name: 'idp', sign_in: { client_id: 'desk', check: 'refresh' } },
  ],
  entitlements: [{ principals: ['human:*'], scopes: ['travel.*'] }],
  sign_in: {
    step_up: [
      { scopes: ['travel.*'], acr: 'mfa' },
      { scopes: ['travel.extras'], acr: 'hardware' },
      { scopes: ['travel.read'], max_age_minutes: 10 },
    ],
  },
};

onEachStore(
  ({ url }) => testService({ store: url, settings: SETTINGS }),
  (service) => {
    /** Follows the way to the provider and back, which says `claims` of the person. */
    async function comeBack(person: Person, sent: Reply, claims: object = {}): Promise<Reply> {
      const url = locationOf(sent);
      next = { nonce: url.searchParams.get('nonce'), ...claims };
      const { pathname } = new URL(url.searchParams.get('redirect_uri') ?? '');
      return person.open(`${pathname}?code=canary-code&state=${url.searchParams.get('state')}`);
    }
    async function login(claims: object = {}): Promise<Person> {
      const person = personAt(service());
      const back = await comeBack(person, await person.open('/sign-in/start?provider=idp'), claims);
      assert.equal(back.status, 303, back.text?.slice(-400));
      return person;
    }
    const codeIn = (reply: Reply) => locationOf(reply).searchParams.get('code');
    const search = { chosen: ['search_flights'] };
    const spend = { chosen: ['buy_lounge_pass'], limit: '50' };

    test('a request that is too long for the way to the provider is refused in words', async () => {
      const return_to = `/authorize?scope=${'x'.repeat(4_000)}`;
      const query = new URLSearchParams({ provider: 'idp', return_to });
      const reply = await personAt(service()).open(`/sign-in/start?${query}`);

      assert.equal(reply.status, 400);
      assert.match(reply.text ?? '', /its request is too long/);
    });

    describe('step-up', () => {
      test('without the proof that a rule asks for, nothing is given', async () => {
        const person = await login();
        const sent = await consent(person, asking().path, search);
        const url = locationOf(sent);
        assert.equal(url.searchParams.get('acr_values'), 'mfa');
        assert.equal(codeIn(sent), null);

        const weak = await comeBack(person, sent, { acr: 'password' });
        assert.equal(weak.status, 401);
        const strong = await comeBack(person, await consent(person, asking().path, search), {
          acr: 'mfa',
        });
        assert.match(String(strong.headers.location), /^\/authorize\?/);
        assert.ok(codeIn(await consent(person, asking().path, search)));
      });

      test('of two rules about one scope both count', async () => {
        const person = await login({ acr: 'mfa' });
        assert.ok(codeIn(await consent(person, asking().path, search)));

        const sent = await consent(person, asking().path, spend);
        assert.equal(codeIn(sent), null);
        assert.equal(locationOf(sent).searchParams.get('acr_values'), 'hardware');
      });

      test('a proof grows old, and one that the provider does not date is old', async () => {
        const person = await login({ acr: 'mfa' });
        assert.ok(codeIn(await consent(person, asking().path, READS)));
        service().advance(13 * 60_000);
        const sent = await consent(person, asking().path, READS);
        assert.equal(codeIn(sent), null);
        assert.equal(locationOf(sent).searchParams.get('max_age'), '600');
        service().advance(-13 * 60_000);

        const undated = await login({ acr: 'mfa', auth_time: undefined });
        assert.equal(codeIn(await consent(undated, asking().path, READS)), null);
      });

      test('the person who comes back may be another one, and then decides for themselves', async () => {
        const person = await login();
        const sent = await consent(person, asking().path, search);
        const other = { acr: 'mfa', sub: 'eve-1', email: 'eve@example.com' };
        await comeBack(person, sent, other);
        const page = await person.open(asking().path);
        assert.match(page.text ?? '', /eve@example\.com/);
        assert.doesNotMatch(page.text ?? '', /ann@example\.com/);
      });
    });

    test('a person whose name changes at the provider keeps no agent under the old one', async () => {
      const person = await login({ acr: 'mfa', sub: 'bo-1', email: 'bo@example.com' });
      const { path, verifier } = asking();
      const code = codeIn(await consent(person, path, search)) as string;
      const redirect_uri = 'http://127.0.0.1:53187/callback';
      const { body } = await redeem(service(), { code, verifier, redirect_uri });
      await login({ acr: 'mfa', sub: 'bo-1', email: 'chief@example.com' });

      assert.equal((await person.open('/agents')).status, 303);
      assert.equal((await refresh(service(), body.refresh_token)).body.error, 'invalid_grant');
    });

    test('no secret reaches the log of the process or the entries', async () => {
      const person = await login({ acr: 'mfa' });
      const session = [...person.cookies.values()].join();
      const { path, verifier } = asking();
      const code = codeIn(await consent(person, path, search)) as string;
      const redirect_uri = 'http://127.0.0.1:53187/callback';
      const { body } = await redeem(service(), { code, verifier, redirect_uri });
      const renewed = await refresh(service(), body.refresh_token);
      await refresh(service(), `${body.refresh_token}x`);
      await get(service(), '/sign-in/callback?code=canary-code&state=x');
      await redeem(service(), { code, verifier, redirect_uri });
      const entries = JSON.stringify(
        (
          await Promise.all(
            (['session', 'issuance', 'revocation'] as const).map((entryType) =>
              service().entriesBy({ entryType }),
            ),
          )
        ).flat(),
      );

      const written = `${service().log.join('\n')}\n${entries}`;
      for (const secret of [
        session,
        code,
        verifier,
        UPSTREAM,
        'canary-code',
        'canary-access',
        body.refresh_token,
        renewed.body.refresh_token,
        body.access_token,
      ]) {
        assert.ok(!written.includes(secret), secret);
      }
    });
  },
);
