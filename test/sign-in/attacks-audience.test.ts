/**
 * Audience confusion: what is made for one service, endpoint or use is presented at another.
 */

import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { SignJWT } from 'jose';
import { test } from 'vitest';
import { travelDesk } from '../../examples/travel/service.ts';
import { issuerOf } from '../oidc/desk.ts';
import { testProvider } from '../oidc/provider.ts';
import { atEnd } from '../support/ends.ts';
import { ALICE, onEachStore, testService } from '../support/world.ts';
import {
  claimsOf,
  codeFor,
  cookieLine,
  errorOf,
  get,
  READS,
  redeem,
  refresh,
  SEARCH,
  signedIn,
} from './attacker.ts';
import { asking, askToken, BASE, delegation } from './browser.ts';

const provider = await testProvider();
atEnd(() => provider.stop());

/** Another service, with keys and a store of its own, for the same people. */
const elsewhere = await testService();

const TYPE = 'urn:ietf:params:oauth:token-type:access_token';
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const MCP_HEADERS = { host: '127.0.0.1', accept: 'application/json, text/event-stream' };

onEachStore(
  ({ url }) => testService({ store: url, settings: { oidc: [issuerOf(provider.issuer)] } }),
  (service) => {
    const foreign = [
      'https://evil.example/mcp',
      `${BASE}/mcp#x`,
      `${BASE}/other`,
      'http://127.0.0.1.evil',
      `${BASE}@evil`,
    ];

    test('a request for the resource of another service gets no code', async () => {
      const alice = await signedIn(service());
      for (const resource of foreign) {
        assert.equal(errorOf(await alice.open(asking({ resource }).path)), 'invalid_target');
      }
    });

    test('a code is not redeemed for another resource than it was asked for', async () => {
      const coded = await codeFor(await signedIn(service()), READS, { resource: `${BASE}/mcp` });
      for (const resource of [...foreign, BASE, `${BASE}/svc`]) {
        const { body } = await redeem(service(), coded, { resource });
        assert.equal(body.error, 'invalid_target', resource);
      }
      assert.equal((await redeem(service(), coded, { resource: `${BASE}/mcp` })).status, 200);
    });

    test('an exchange for another resource or audience is refused', async () => {
      const { access } = await delegation(service(), { ...READS, pass: '1' });
      const fields = {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token: access,
        subject_token_type: TYPE,
        actor_token: 'demo-partner-key',
        actor_token_type: TYPE,
      };
      for (const resource of foreign) {
        const { body } = await askToken(service(), { ...fields, resource });
        assert.equal(body.error, 'invalid_target', resource);
      }
      const other = await askToken(service(), { ...fields, audience: 'hotel-desk' });
      assert.equal(other.body.error, 'invalid_target');
      assert.equal((await askToken(service(), { ...fields, audience: travelDesk.id })).status, 200);
    });

    test('codes, tokens and refresh tokens of another service are worth nothing here', async () => {
      const theirs = await delegation(elsewhere, READS);
      const code = await codeFor(await signedIn(elsewhere));

      assert.equal((await redeem(service(), code)).body.error, 'invalid_grant');
      assert.equal((await refresh(service(), theirs.refresh)).body.error, 'invalid_grant');
      const called = await service().invoke(theirs.access, 'search_flights', SEARCH);
      assert.equal(called.status, 401);
      const mcp = await service().ask('POST', '/mcp', {
        bearer: theirs.access,
        body: LIST,
        headers: MCP_HEADERS,
      });
      assert.equal(mcp.status, 401);
      const revoked = await askToken(service(), { token: theirs.refresh }, '/revoke');
      assert.equal(revoked.status, 200);
      assert.equal((await refresh(elsewhere, theirs.refresh)).status, 200);
    });

    test('a session of another service opens no page here', async () => {
      const theirs = await signedIn(elsewhere);

      const { status, headers } = await get(service(), '/agents', { cookie: cookieLine(theirs) });

      assert.equal(status, 303);
      assert.match(String(headers.location), /^\/sign-in\?/);
    });

    test('a delegation token that the attacker signed himself is none', async () => {
      const { access } = await delegation(service(), READS);
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const header = JSON.parse(Buffer.from(access.split('.')[0] ?? '', 'base64url').toString());
      const own = createPublicKey(privateKey).export({ format: 'jwk' });
      const forged = await new SignJWT(claimsOf(access))
        .setProtectedHeader({ ...header, jwk: own })
        .sign(privateKey);

      assert.equal((await service().invoke(forged, 'search_flights', SEARCH)).status, 401);
    });

    test('an access token is no refresh token, no code and no login', async () => {
      const { access } = await delegation(service(), READS);
      for (const fields of [
        { grant_type: 'refresh_token', refresh_token: access },
        { grant_type: 'authorization_code', code: access },
        { grant_type: 'access_token', access_token: access },
      ]) {
        assert.equal((await askToken(service(), fields)).status, 400);
      }
      const login = await askToken(service(), { logout_token: access }, '/sign-in/logout');
      assert.equal(login.status, 400);
    });

    test('an identity token and an API key invoke nothing, at /mcp as at /svc', async () => {
      const identity = await provider.signIn('ann-1');
      for (const bearer of [identity, ALICE]) {
        const called = await service().invoke(bearer, 'search_flights', SEARCH);
        assert.equal(called.status, 401);
        const call = {
          ...LIST,
          method: 'tools/call',
          params: { name: 'search_flights', arguments: SEARCH },
        };
        const mcp = await service().ask('POST', '/mcp', {
          bearer,
          body: call,
          headers: MCP_HEADERS,
        });
        assert.match(mcp.text ?? '', /"type":"invalid_token"/);
      }
    });

    test('/svc and /mcp take no notice of the cookie of a session', async () => {
      const alice = await signedIn(service());
      const cookie = cookieLine(alice);
      const headers = { host: 'localhost', cookie };
      const paths = ['/svc/permissions', '/svc/tokens', '/svc/invoke/search_flights', '/svc/audit'];
      for (const path of paths) {
        const body = path === '/svc/tokens' ? { scope: ['travel.search'] } : { parameters: SEARCH };
        const reply = await service().ask('POST', path, { body, headers });
        assert.equal(reply.status, 401, path);
      }
      const mcp = await service().ask('POST', '/mcp', {
        body: LIST,
        headers: { ...MCP_HEADERS, cookie },
      });
      assert.equal(mcp.status, 401);
      const [secret = ''] = alice.cookies.values();
      assert.equal((await service().invoke(secret, 'search_flights', SEARCH)).status, 401);
    });

    test('a bearer opens no page, and a page is no credential', async () => {
      const { access } = await delegation(service(), READS);
      for (const bearer of [access, ALICE]) {
        const reply = await service().ask('GET', '/agents', {
          bearer,
          headers: { host: '127.0.0.1' },
        });
        assert.equal(reply.status, 303);
      }
    });
  },
);
