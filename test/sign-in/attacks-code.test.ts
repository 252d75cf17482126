/**
 * Attacks on the way of a code: replay, injection, mix-up, redirects, weaker proofs.
 */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { rotateKey } from '../../src/keyring/key-folder.ts';
import { temporaryFolder } from '../support/ends.ts';
import { ALICE, onEachStore, testService } from '../support/world.ts';
import {
  assertShown,
  codeFor,
  errorOf,
  isAlive,
  READS,
  redeem,
  refresh,
  signedIn,
} from './attacker.ts';
import { asking, askToken, BASE, CLIENT, consent, locationOf, REDIRECT } from './browser.ts';

/** A second client that the operator entered, with a redirect on the web. */
const OTHER = {
  client_id: 'other-client',
  name: 'Other',
  redirect_uris: ['https://app.example/cb', 'https://app.example/cb?tenant=1'],
};
const SETTINGS = { sign_in: { clients: [OTHER] } };

onEachStore(
  ({ url }) => testService({ store: url, settings: SETTINGS }),
  (service) => {
    test('of twenty racing uses of one code at most one answers, and what it gave is over', async () => {
      for (let round = 0; round < 3; round++) {
        const coded = await codeFor(await signedIn(service()));
        const tokensBefore = await service().entriesBy({ entryType: 'issuance' });

        const all = await Promise.all(Array.from({ length: 20 }, () => redeem(service(), coded)));

        const given = all.filter(({ status }) => status === 200);
        assert.ok(given.length <= 1, `${given.length} token families`);
        const tokens = await service().entriesBy({ entryType: 'issuance' });
        assert.ok(tokens.length - tokensBefore.length <= 1);
        for (const { body } of all.filter(({ status }) => status !== 200)) {
          assert.equal(body.error, 'invalid_grant');
        }
        for (const { body } of given) {
          assert.equal(await isAlive(service(), body.access_token), false);
          assert.equal((await refresh(service(), body.refresh_token)).body.error, 'invalid_grant');
        }
      }
    });

    test('a used code ends its family for a thief without the verifier, too', async () => {
      const coded = await codeFor(await signedIn(service()));
      const { body } = await redeem(service(), coded);

      await redeem(service(), { ...coded, verifier: 'v'.repeat(43) });

      assert.equal(await isAlive(service(), body.access_token), false);
    });

    test('a used code still ends its family when it is replayed days later', async () => {
      const coded = await codeFor(await signedIn(service()));
      const { body } = await redeem(service(), coded);
      service().advance(120_000);

      assert.equal((await redeem(service(), coded)).body.error, 'invalid_grant');
      assert.equal(await isAlive(service(), body.access_token), false);
    });

    test('a code that is injected into the flow of another client or person gives nothing', async () => {
      const alice = await signedIn(service());
      const victims = await codeFor(alice);
      const attackers = await codeFor(alice, READS, {
        client_id: OTHER.client_id,
        redirect_uri: 'https://app.example/cb',
      });

      // The attacker's own verifier, client and redirect, each with the code of the victim.
      for (const wrong of [
        { code_verifier: attackers.verifier },
        { client_id: OTHER.client_id },
        { client_id: OTHER.client_id, redirect_uri: attackers.redirect_uri },
        {
          client_id: OTHER.client_id,
          redirect_uri: attackers.redirect_uri,
          code_verifier: attackers.verifier,
        },
        { redirect_uri: undefined },
        { redirect_uri: `${REDIRECT}/` },
        { client_id: undefined },
      ]) {
        const { status, body } = await redeem(service(), victims, wrong);
        assert.equal(status, 400, JSON.stringify(wrong));
        assert.match(body.error, /^invalid_(?:grant|request)$/);
      }
      assert.equal((await redeem(service(), victims)).status, 200);
    });

    test('a code takes nothing but itself: no part, no other spelling, no other kind of secret', async () => {
      const alice = await signedIn(service());
      const coded = await codeFor(alice);
      const [, session = ''] = [...alice.cookies][0] ?? [];
      for (const code of [
        '',
        coded.code.slice(1),
        `${coded.code}=`,
        `${coded.code} `,
        coded.code.toUpperCase(),
        session,
      ]) {
        assert.equal((await redeem(service(), { ...coded, code })).body.error, 'invalid_grant');
      }
      assert.equal((await redeem(service(), coded)).status, 200);
    });

    test('every answer names its issuer, errors and refusals included', async () => {
      const alice = await signedIn(service());
      const given = locationOf(await consent(alice, asking().path, READS));
      assert.equal(given.searchParams.get('iss'), BASE);
      const page = await alice.open(asking().path);
      assert.equal(
        errorOf(await alice.send(page, '/authorize', { answer: 'refuse' })),
        'access_denied',
      );
      assert.equal(
        errorOf(await alice.open(asking({ response_type: 'token' }).path)),
        'unsupported_response_type',
      );
    });

    test('a client cannot bring its own answer along in its redirect', async () => {
      const alice = await signedIn(service());
      for (const field of ['code', 'iss', 'state', 'error']) {
        const redirect_uri = `${REDIRECT}?${field}=evil`;
        assertShown(await alice.open(asking({ redirect_uri }).path), redirect_uri);
      }
    });

    for (const redirect_uri of [
      'http://127.0.0.1:53187@evil.example/callback',
      'http://evil.example@127.0.0.1:53187/callback',
      'http://127.0.0.1.evil.example:53187/callback',
      'http://localhost.evil.example/callback',
      'http://127.0.0.1:53187/callback#frag',
      'http://127.0.0.1:53187/callback#@evil.example',
      'http://127.0.0.1:53187/callback/../other',
      'http://127.0.0.1:53187/callback/%2e%2e/other',
      'http://127.0.0.1:53187/Callback',
      'http://127.0.0.1:53187/callback/',
      'http://127.0.0.1:53187/callback?x=1',
      'http://127.0.0.1:53187/callback%0d%0aSet-Cookie:x',
      'http://127.0.0.1:53187/callback\r\nSet-Cookie: x',
      'http://127.0.0.1:53187\\@evil.example/callback',
      'http://127.0.0.1:/callback',
      'http://127.0.0.1:99999/callback',
      'http://127.0.0.1:053187/callback',
      'HTTP://127.0.0.1:53187/callback',
      'http://2130706433:53187/callback',
      'http://0x7f.1:53187/callback',
      'http://127.1:53187/callback',
      'http://[::1]:53187/callback',
      'http://127.0.0.2:53187/callback',
      'https://127.0.0.1:53187/callback',
      '//127.0.0.1:53187/callback',
      '/callback',
      'javascript:alert(1)//127.0.0.1/callback',
      'data:text/html,x',
      '',
    ]) {
      test(`no code goes to ${JSON.stringify(redirect_uri)}`, async () => {
        const alice = await signedIn(service());
        assertShown(await alice.open(asking({ redirect_uri }).path));
      });
    }

    for (const redirect_uri of [
      'https://app.example:8443/cb',
      'https://app.example:443/cb',
      'https://APP.example/cb',
      'https://app.example./cb',
      'https://app.example/cb/',
      'https://app.example/cb?tenant=2',
      'https://app.example/cb?tenant=1&tenant=2',
      'https://app.example.evil.example/cb',
      'https://xn--app-example/cb',
      'https://аpp.example/cb',
      'http://app.example/cb',
    ]) {
      test(`a redirect on the web is taken as registered, not as ${redirect_uri}`, async () => {
        const alice = await signedIn(service());
        const { path } = asking({ client_id: OTHER.client_id, redirect_uri });
        assertShown(await alice.open(path));
      });
    }

    test('a form that was changed to another redirect is shown, not answered', async () => {
      const alice = await signedIn(service());
      const page = await alice.open(asking().path);
      const request = asking({ redirect_uri: 'https://evil.example/' }).path.split('?')[1] ?? '';
      for (const answer of ['allow', 'refuse']) {
        assertShown(await alice.send(page, '/authorize', { request, answer }));
      }
    });

    for (const [name, more] of [
      ['no challenge', { code_challenge: undefined, code_challenge_method: undefined }],
      ['an empty challenge', { code_challenge: '' }],
      ['a challenge without a method', { code_challenge_method: undefined }],
      ['the method plain', { code_challenge_method: 'plain' }],
      ['a method in another case', { code_challenge_method: 's256' }],
      ['a short challenge', { code_challenge: 'short' }],
      ['a method without a challenge', { code_challenge: undefined }],
    ] as const) {
      test(`a request with ${name} gets no code`, async () => {
        const alice = await signedIn(service());
        assert.equal(errorOf(await alice.open(asking(more).path)), 'invalid_request');
      });
    }

    test('the challenge itself is no verifier', async () => {
      const coded = await codeFor(await signedIn(service()));
      const code_verifier = createHash('sha256').update(coded.verifier).digest('base64url');
      assert.equal((await redeem(service(), coded, { code_verifier })).body.error, 'invalid_grant');
    });

    test('repeated parameters of a request are refused, whichever value is good', async () => {
      const alice = await signedIn(service());
      const { path } = asking();
      for (const twice of [
        `client_id=${CLIENT}`,
        'redirect_uri=https%3A%2F%2Fevil.example',
        `redirect_uri=${encodeURIComponent(REDIRECT)}`,
      ]) {
        assertShown(await alice.open(`${path}&${twice}`), twice);
      }
      for (const twice of ['state=x', 'code_challenge_method=plain', 'scope=a', 'resource=x']) {
        const { path: once } = asking({ scope: 'travel.read', resource: BASE });
        assert.equal(errorOf(await alice.open(`${once}&${twice}`)), 'invalid_request', twice);
      }
    });

    test('repeated fields at the token endpoint are refused', async () => {
      const coded = await codeFor(await signedIn(service()));
      const body = new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: CLIENT,
        code: coded.code,
        code_verifier: coded.verifier,
        redirect_uri: REDIRECT,
      });
      const headers = { 'content-type': 'application/x-www-form-urlencoded', host: '127.0.0.1' };
      for (const name of ['grant_type', 'client_id', 'code', 'code_verifier', 'redirect_uri']) {
        const twice = `${body}&${name}=${encodeURIComponent(body.get(name) ?? '')}`;
        const reply = await service().ask('POST', '/token', { body: twice, headers });
        assert.deepEqual([reply.status, reply.body.error], [400, 'invalid_request'], name);
      }
      assert.equal((await redeem(service(), coded)).status, 200);
    });

    test('the password and client credentials grants do not exist', async () => {
      for (const grant_type of ['password', 'client_credentials', 'implicit', '__proto__', '']) {
        const reply = await askToken(service(), { grant_type, username: 'alice', password: ALICE });
        assert.equal(reply.status, 400, grant_type);
        assert.equal(reply.body.access_token, undefined);
      }
    });
  },
);

test('a code is not lost when the key that signs tokens is withdrawn while it is redeemed', async () => {
  const keys = temporaryFolder();
  let onRenewal: (() => void) | undefined;
  const service = await testService({
    keys,
    wrap: (store) => ({
      ...store,
      renewConsent: (...renewal) => {
        onRenewal?.();
        return store.renewConsent(...renewal);
      },
    }),
  });
  const coded = await codeFor(await signedIn(service));
  onRenewal = () => {
    onRenewal = undefined;
    rotateKey(keys, 'token', { now: service.store.now(), leadMs: 0 });
    const path = join(keys, 'token-0001.json');
    const content = JSON.parse(readFileSync(path, 'utf8'));
    writeFileSync(path, JSON.stringify({ ...content, compromised: true }));
    service.refreshKeys();
  };

  const { status, body } = await redeem(service, coded);

  assert.equal(status, 200);
  assert.equal(await isAlive(service, body.access_token), false);
  const refreshed = await refresh(service, body.refresh_token);
  assert.equal(await isAlive(service, refreshed.body.access_token), true);
});
