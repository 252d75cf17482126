import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { exportSPKI, type JWK, SignJWT } from 'jose';
import { test } from 'vitest';
import { atEnd, closedAtEnd } from '../support/ends.ts';
import { ALICE, type TestService } from '../support/world.ts';
import { desk, exchanged, issuerOf, principalAt } from './desk.ts';
import { falseProvider } from './false-provider.ts';
import { AUDIENCE, privateJwk, testProvider } from './provider.ts';

const provider = await testProvider();
const service = closedAtEnd(await desk([issuerOf(provider.issuer)]));
atEnd(() => provider.stop());

/** The refusal a credential meets, which has to be a 401 with guidance and not a defect of ours. */
async function refusal(bearer: string, at: TestService = service): Promise<string> {
  const { answer } = await exchanged(at, bearer);
  assert.equal(answer.status, 401, JSON.stringify(answer.body));
  const { type, detail, resolution } = answer.body.failure;
  const action = type === 'invalid_token' ? 'request_new_delegation' : 'provide_credentials';
  assert.equal(resolution.action, action);
  return detail;
}

const now = () => Math.floor(Date.now() / 1_000);
const MINUTE = 60;

const claims: [what: string, claims: () => object, detail: RegExp][] = [
  ['another audience', () => ({ aud: 'urn:example:other' }), /"aud" does not fit$/],
  ['no audience', () => ({ aud: undefined }), /"aud" does not fit$/],
  ['a longer audience', () => ({ aud: `${AUDIENCE}/x` }), /"aud" does not fit$/],
  ['an audience in an object', () => ({ aud: { [AUDIENCE]: true } }), /"aud" does not fit$/],
  ['an end two minutes ago', () => ({ exp: now() - 2 * MINUTE }), /it has expired$/],
  ['no end', () => ({ exp: undefined }), /"exp" does not fit$/],
  ['an end in words', () => ({ exp: '2099-01-01' }), /"exp" does not fit$/],
  ['a beginning in two minutes', () => ({ nbf: now() + 2 * MINUTE }), /"nbf" does not fit$/],
  ['an issue in two minutes', () => ({ iat: now() + 2 * MINUTE }), /issued in the future$/],
  ['no time of issue', () => ({ iat: undefined }), /"iat" does not fit$/],
  ['an issue in words', () => ({ iat: 'now' }), /"iat" does not fit$/],
  ['no subject', () => ({ sub: undefined }), /"sub" does not fit$/],
  ['an empty subject', () => ({ sub: '' }), /name no principal$/],
  ['a subject that is a list', () => ({ sub: ['ann-1'] }), /name no principal$/],
  ['a second audience', () => ({ aud: [AUDIENCE, 'x'] }), /for another party$/],
  ['a second audience that asked', () => ({ aud: [AUDIENCE, 'x'], azp: 'x' }), /another party$/],
  ['the events of a logout', () => ({ events: {} }), /of another kind$/],
];
for (const [what, altered, detail] of claims) {
  test(`a token with ${what} is refused`, async () => {
    assert.match(await refusal(await provider.forge(altered())), detail);
  });
}

const within: [what: string, claims: () => object][] = [
  ['an end half a minute ago', () => ({ exp: now() - MINUTE / 2 })],
  ['a beginning in half a minute', () => ({ nbf: now() + MINUTE / 2 })],
  ['an issue in half a minute', () => ({ iat: now() + MINUTE / 2 })],
  ['one audience in a list', () => ({ aud: [AUDIENCE] })],
  ['two audiences, issued to us', () => ({ aud: [AUDIENCE, 'x'], azp: AUDIENCE })],
  ['one audience, issued to a client of the same company', () => ({ azp: 'mobile-app' })],
];
for (const [what, altered] of within) {
  test(`a token with ${what} is accepted`, async () => {
    assert.equal(await principalAt(service, await provider.forge(altered())), 'oidc:ann-1');
  });
}

test('a token is refused once the clock of the service has passed its end', async () => {
  const own = await desk([issuerOf(provider.issuer)]);
  const bearer = await provider.forge({ exp: now() + 600 });
  assert.equal(await principalAt(own, bearer), 'oidc:ann-1');

  own.advance(11 * MINUTE * 1_000);

  assert.match(await refusal(bearer, own), /it has expired$/);
});

for (const typ of [
  'svc-delegation+jwt',
  'svc-grant+jws',
  'logout+jwt',
  'secevent+jwt',
  'dpop+jwt',
]) {
  test(`a token of the provider with typ "${typ}" is refused`, async () => {
    assert.match(await refusal(await provider.forge({}, { typ })), /of another kind$/);
  });
}
for (const typ of ['JWT', 'jwt', 'at+jwt', 'application/at+jwt']) {
  test(`a token of the provider with typ "${typ}" is accepted`, async () => {
    assert.equal(await principalAt(service, await provider.forge({}, { typ })), 'oidc:ann-1');
  });
}

const parties: [claims: object, accepted: boolean][] = [
  [{ azp: 'web' }, true],
  [{ client_id: 'web' }, true],
  [{ azp: 'web', client_id: 'cli' }, true],
  [{ azp: 'web', aud: [AUDIENCE, 'x'] }, true],
  [{}, false],
  [{ azp: 'other' }, false],
  [{ client_id: 'other' }, false],
  [{ azp: 'web', client_id: 'other' }, false],
  [{ azp: ['web'] }, false],
  [{ azp: AUDIENCE }, false],
];
test('with authorized_parties, only tokens issued to one of them are accepted', async () => {
  const own = await desk([
    issuerOf(provider.issuer, { authorized_parties: ['web', 'cli'], service_accounts: [] }),
  ]);
  for (const [altered, accepted] of parties) {
    const principal = await principalAt(own, await provider.forge(altered));
    const expected = accepted ? 'oidc:ann-1' : 'authentication_required';
    assert.equal(principal, expected, JSON.stringify(altered));
  }
});

/** Base64url of JSON. */
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

async function publicKey(): Promise<JWK> {
  const { keys } = (await (await fetch(`${provider.issuer}/jwks`)).json()) as { keys: JWK[] };
  return keys[0] as JWK;
}

test('a token with algorithm "none" is refused, with and without a signature', async () => {
  const [, payload] = (await provider.forge()).split('.');
  for (const alg of ['none', 'None', 'noNE', 'NONE']) {
    const { kid } = await publicKey();
    const header = part({ alg, kid });
    assert.match(
      await refusal(`${header}.${payload}.`),
      /no issuer that this service accepts signed/,
    );
    assert.match(await refusal(`${header}.${payload}.AAAA`), /algorithm is not admitted$/);
  }
});

test('a token signed with HS256 and the public key as secret is refused', async () => {
  const jwk = await publicKey();
  const spki = await exportSPKI(createPublicKey({ key: jwk, format: 'jwk' }));
  for (const secret of [spki, spki.trim(), JSON.stringify(jwk), String(jwk.x)]) {
    const bearer = await new SignJWT({ iss: provider.issuer, aud: AUDIENCE, sub: 'ann-1' })
      .setProtectedHeader({ alg: 'HS256', kid: jwk.kid as string })
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(new TextEncoder().encode(secret));
    assert.match(await refusal(bearer), /algorithm is not admitted$/);
  }
});

test('a token signed with an algorithm that is not allowed is refused', async () => {
  const { kid } = await publicKey();
  const key = { ...privateJwk('P-384', 'ES384'), kid };
  assert.match(
    await refusal(await provider.forge({}, {}, key as JWK)),
    /algorithm is not admitted$/,
  );
});

test('an algorithm that the issuer is not configured for is refused', async () => {
  const own = await desk([issuerOf(provider.issuer, { algorithms: ['RS256'] })]);

  assert.match(await refusal(await provider.forge(), own), /algorithm is not admitted$/);
});

test('a token signed with another key under the known kid is refused', async () => {
  const { kid } = await publicKey();
  const bearer = await provider.forge({}, {}, { ...privateJwk(), kid } as JWK);

  assert.match(await refusal(bearer), /signature does not verify$/);
});

test('keys inside a token are ignored', async () => {
  const own = privateJwk();
  const { d: _, ...jwk } = own;
  for (const header of [{ jwk }, { jku: `${provider.issuer}/jwks` }, { x5c: ['AAAA'] }]) {
    const bearer = await provider.forge({}, header, own);
    assert.match(await refusal(bearer), /signature does not verify$/);
  }
});

test('a token with a critical header is refused', async () => {
  const header = { crit: ['urn:example:rule'], 'urn:example:rule': 1 };

  assert.match(await refusal(await provider.forge({}, header)), /signature does not verify$/);
});

test('an altered, cut or padded token is refused', async () => {
  const good = await provider.forge();
  const [header = '', , signature = ''] = good.split('.');
  const other = part({
    iss: provider.issuer,
    aud: AUDIENCE,
    sub: 'root',
    iat: now(),
    exp: now() + 60,
  });
  const altered = [
    `${header}.${other}.${signature}`,
    good.slice(0, -4),
    `${good}=`,
    `${good}AAAA`,
    `${good}.${signature}`,
    `${good}.`,
  ];

  for (const bearer of altered) await refusal(bearer);
});

test('tokens under an issuer key that is too short or malformed are refused, and others work', async () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1_024 });
  const { n, e } = privateKey.export({ format: 'jwk' });
  const keys = [
    { kty: 'RSA', n, e, kid: 'short' },
    { kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'AAAA', kid: 'broken' },
    { kty: 'oct', k: 'AAAA', kid: 'secret' },
  ];
  const weak = closedAtEnd(await falseProvider({ jwks: { keys } }));
  const own = await desk([issuerOf(weak.issuer)]);
  const [, payload] = (await provider.forge({ iss: weak.issuer })).split('.');

  for (const [alg, kid] of [
    ['RS256', 'short'],
    ['ES256', 'broken'],
    ['ES256', 'secret'],
  ]) {
    const bearer = `${part({ alg, kid } as object)}.${payload}.${'A'.repeat(86)}`;
    assert.match(await refusal(bearer, own), /signature does not verify$/);
  }
});

test('an external token is never a delegation token', async () => {
  for (const external of [await provider.signIn('ann-1'), await provider.machine('svc-billing')]) {
    const asked = await service.ask('POST', '/svc/permissions', { bearer: external, body: {} });
    const invoked = await service.invoke(external, 'search_flights', {});

    for (const { status, body } of [asked, invoked]) {
      assert.equal(status, 401);
      assert.equal(body.failure.type, 'invalid_token');
    }
  }
});

test('an external token with every claim of a delegation token is not one', async () => {
  const { token } = await service.issue(ALICE, { scope: ['travel.search'] });
  const [header = '', payload = ''] = token.split('.');
  const claimed = JSON.parse(Buffer.from(payload, 'base64url').toString());
  const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString());
  for (const fields of [{ typ: 'svc-delegation+jwt' }, { typ: 'svc-delegation+jwt', kid }]) {
    const bearer = await provider.forge(claimed, fields);

    const { status, body } = await service.invoke(bearer, 'search_flights', {});

    assert.equal(status, 401);
    assert.equal(body.failure.type, 'invalid_token');
  }
});

test('a delegation token is never an external one, even where its keys are the issuer’s', async () => {
  const { body: jwks } = await service.ask('GET', '/.well-known/jwks.json');
  const echo = closedAtEnd(await falseProvider({ jwks }));
  const own = await desk([{ issuer: echo.issuer, audience: 'travel-desk' }]);
  const { token } = await service.issue(ALICE, { scope: ['travel.search'] });

  assert.equal(
    await refusal(token, own),
    'Cannot use the token: it is malformed, unknown or revoked',
  );
});

test('a delegation token is no bootstrap credential', async () => {
  const bearer = await provider.signIn('ann-1');
  const { answer } = await exchanged(service, bearer);

  const again = await exchanged(service, answer.body.token);

  assert.equal(again.answer.status, 400);
  assert.match(again.answer.body.failure.detail, /takes a bootstrap credential/);
});

test('a hostile name never becomes another class or person', async () => {
  const bob = 'human:bob@example.com';
  const hostile: object[] = [
    { sub: bob },
    { sub: 'HUMAN:bob@example.com' },
    { sub: 'agent:trip-planner' },
    { sub: 'service:operator' },
    { sub: 'oidc:ann-1' },
    { sub: 'ｈｕｍａｎ：bob@example.com' },
    { sub: ' human:bob@example.com' },
    { sub: '\u200bhuman:bob@example.com' },
    { sub: 'x', email: bob, email_verified: true },
    { sub: 'x', email: 'bob@example.com', email_verified: false },
    { sub: 'x', email: 'bob@example.com', email_verified: 'true' },
    { sub: 'x', email: 'bob@example.com', email_verified: 1 },
    { sub: 'x', email: 'bob@example.com', email_verified: null },
    { sub: 'x', email: ['bob@example.com'] },
    { sub: 'x', email: 'bob@example.com@evil.example' },
    { sub: 'x', email: 'bob@example.com\u200b' },
    { sub: 'x', email: 'bob@example.com ' },
    { sub: 'x', email: ' bob@example.com' },
    { sub: 'x', email: 'b\u043eb@example.com' },
    { sub: 'x', email: '\uff42ob@example.com' },
    { sub: 'x', client_id: 'svc-human:bob@example.com' },
    { sub: 'x', client_id: 'svc-' },
    { sub: 'x', client_id: 'agent-service:operator' },
    { sub: 'x', preferred_username: 'bob@example.com', name: bob, principal: bob },
  ];
  for (const altered of hostile) {
    const principal = await principalAt(service, await provider.forge(altered));
    const safe = ['oidc:x', 'authentication_required'];
    const isLookAlike = /^human:[^a-z]ob@|^human:b[^a-z]b@/.test(principal);
    assert.ok(isLookAlike || safe.includes(principal), `${JSON.stringify(altered)} ${principal}`);
    assert.notEqual(principal, bob);
  }
});

test('an e-mail address in upper case is the same person', async () => {
  const bearer = await provider.forge({ email: 'BOB@EXAMPLE.COM', email_verified: true });

  assert.equal(await principalAt(service, bearer), 'human:bob@example.com');
});

test('no refusal and no log line repeats a credential', async () => {
  const bearer = await provider.forge({ aud: 'urn:example:other' });
  const { answer } = await exchanged(service, bearer);

  const signature = bearer.split('.')[2] as string;
  assert.doesNotMatch(JSON.stringify(answer.body), new RegExp(signature));
  assert.doesNotMatch(service.log.join('\n'), new RegExp(signature));
});
