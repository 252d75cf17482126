import assert from 'node:assert/strict';
import type { JWK } from 'jose';
import { test } from 'vitest';
import { atEnd, closedAtEnd } from '../support/ends.ts';
import { refusalOf, webIssuer, webProviders } from './browser.ts';
import { falseProvider } from './false-provider.ts';
import { AUDIENCE, privateJwk, testProvider, WEB_CLIENT } from './provider.ts';

const honest = await testProvider();
atEnd(() => honest.stop());
const jwks = (await (await fetch(`${honest.issuer}/jwks`)).json()) as { keys: JWK[] };
const [publicKey = {}] = jwks.keys;
const hmacKey = {
  kty: 'oct',
  k: Buffer.from(JSON.stringify(publicKey)).toString('base64url'),
  kid: publicKey.kid as string,
};
const now = () => Math.floor(Date.now() / 1_000);

test('logout() reads the token that the provider sends when a person signs out', async () => {
  const { provider, advance } = webProviders([webIssuer(honest.issuer)]);
  const token = await honest.logoutToken('ann-1', 'sid-1');

  assert.deepEqual(await provider.logout(token), { sub: 'ann-1', sid: 'sid-1' });
  assert.deepEqual(await provider.logout(token), { sub: 'ann-1', sid: 'sid-1' });
  advance(301_000);
  assert.equal(await provider.logout(token), undefined);
});

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const LOGOUT = { events: { [EVENT]: {} }, jti: 'j-1', sid: 's-1' };

/** A logout token of the honest provider, but for the given claims and header. */
const logoutToken = (claims: object = {}, header: object = {}, key?: JWK) =>
  honest.forge({ aud: WEB_CLIENT, ...LOGOUT, ...claims }, { typ: 'logout+jwt', ...header }, key);

const logouts: [what: string, token: () => Promise<string>, named: object | undefined][] = [
  ['a token with both names', () => logoutToken(), { sub: 'ann-1', sid: 's-1' }],
  [
    'a token with a subject',
    () => logoutToken({ sid: undefined }),
    { sub: 'ann-1', sid: undefined },
  ],
  ['a token with a session', () => logoutToken({ sub: undefined }), { sub: undefined, sid: 's-1' }],
  [
    'a full typ',
    () => logoutToken({}, { typ: 'application/logout+jwt' }),
    { sub: 'ann-1', sid: 's-1' },
  ],
  ['neither name', () => logoutToken({ sub: undefined, sid: undefined }), undefined],
  ['a name that is no text', () => logoutToken({ sid: { $ne: '' } }), undefined],
  ['an empty name', () => logoutToken({ sid: '' }), undefined],
  ['another audience', () => logoutToken({ aud: AUDIENCE }), undefined],
  ['another issuer', () => logoutToken({ iss: 'https://evil.example' }), undefined],
  ['a nonce', () => logoutToken({ nonce: 'n' }), undefined],
  ['a nonce of null', () => logoutToken({ nonce: null }), undefined],
  ['an old iat', () => logoutToken({ iat: now() - 400 }), undefined],
  ['an iat of the future', () => logoutToken({ iat: now() + 300 }), undefined],
  ['no iat', () => logoutToken({ iat: undefined }), undefined],
  ['an expiry in the past', () => logoutToken({ exp: now() - 120 }), undefined],
  ['the typ of an identity token', () => logoutToken({}, { typ: 'JWT' }), undefined],
  ['no typ', () => logoutToken({}, { typ: undefined }), undefined],
  ['no events', () => logoutToken({ events: undefined }), undefined],
  ['events of null', () => logoutToken({ events: null }), undefined],
  ['another event', () => logoutToken({ events: { other: {} } }), undefined],
  ['an event that is no object', () => logoutToken({ events: { [EVENT]: true } }), undefined],
  ['no jti', () => logoutToken({ jti: undefined }), undefined],
  ['another key', () => logoutToken({}, {}, privateJwk()), undefined],
  ['alg HS256 and the public key', () => logoutToken({}, { alg: 'HS256' }, hmacKey), undefined],
  ['no token at all', async () => 'x', undefined],
];
for (const [what, token, named] of logouts) {
  test(`logout() ${named ? 'takes' : 'refuses'} ${what}`, async () => {
    const { provider } = webProviders([webIssuer(honest.issuer)]);

    assert.deepEqual(await provider.logout(await token()), named);
  });
}

test('logout() says so while the keys of the provider cannot be fetched', async () => {
  const discovery = { jwks_uri: 'https://10.0.0.7/jwks' };
  const { issuer } = closedAtEnd(await falseProvider({ discovery }));
  const { provider } = webProviders([webIssuer(issuer)]);

  await refusalOf(provider.logout(await logoutToken({ iss: issuer })), 'service_unavailable');
});
