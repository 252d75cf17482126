import assert from 'node:assert/strict';
import { test } from 'vitest';
import { ConfigError, configOf, loadConfig } from '../../src/config/config.ts';
import { atEnd } from '../support/ends.ts';
import { desk, issuerOf, principalAt } from './desk.ts';
import { AUDIENCE, testProvider } from './provider.ts';

const accountsOf = (domain: string) => ({
  same: {},
  ann: { email: `ann@${domain}`, email_verified: true },
  eve: { email: 'ann@corp.example', email_verified: true },
});
const [corp, partner] = await Promise.all([
  testProvider(accountsOf('corp.example')),
  testProvider(accountsOf('partner.example')),
]);
const service = await desk([
  issuerOf(corp.issuer, { name: 'corp', email_domains: ['corp.example'] }),
  issuerOf(partner.issuer, { name: 'partner', email_domains: ['partner.example'] }),
]);
atEnd(() => Promise.all([corp.stop(), partner.stop()]));

test('the same subject of two issuers is two principals', async () => {
  assert.equal(await principalAt(service, await corp.signIn('same')), 'oidc:corp/same');
  assert.equal(await principalAt(service, await partner.signIn('same')), 'oidc:partner/same');
});

test('the same service account of two issuers is two principals', async () => {
  assert.equal(
    await principalAt(service, await corp.machine('svc-billing')),
    'service:corp/billing',
  );
  assert.equal(
    await principalAt(service, await partner.machine('svc-billing')),
    'service:partner/billing',
  );
});

test('a subject that contains the name of another issuer stays under its own', async () => {
  const bearer = await partner.forge({ sub: 'corp/same' });

  assert.equal(await principalAt(service, bearer), 'oidc:partner/corp/same');
});

for (const sub of ['human:ann@corp.example', 'agent:planner', 'zoe\u0308']) {
  test(`the subject ${JSON.stringify(sub)} is refused, also under the name of its issuer`, async () => {
    const bearer = await partner.forge({ sub });

    assert.equal(await principalAt(service, bearer), 'authentication_required');
  });
}

test('an issuer vouches only for its own domains', async () => {
  assert.equal(await principalAt(service, await corp.signIn('ann')), 'human:ann@corp.example');
  assert.equal(
    await principalAt(service, await partner.signIn('ann')),
    'human:ann@partner.example',
  );
  assert.equal(await principalAt(service, await partner.signIn('eve')), 'oidc:partner/eve');
});

test('a token of one issuer never passes for one of another', async () => {
  const bearer = await partner.forge({ iss: corp.issuer, sub: 'same' });

  assert.equal(await principalAt(service, bearer), 'authentication_required');
});

test('a key of one issuer under the kid of another does not verify', async () => {
  const { keys } = (await (await fetch(`${corp.issuer}/jwks`)).json()) as {
    keys: { kid: string }[];
  };
  const bearer = await partner.forge({ iss: corp.issuer }, { kid: keys[0]?.kid });

  assert.equal(await principalAt(service, bearer), 'authentication_required');
});

test('one issuer that is down does not stop another', async () => {
  const bearer = await corp.signIn('ann');
  const own = await desk([
    issuerOf(corp.issuer, { name: 'corp', email_domains: [] }),
    issuerOf('http://127.0.0.1:1', { name: 'down', email_domains: [] }),
  ]);

  const lost = await corp.forge({ iss: 'http://127.0.0.1:1' });
  assert.equal(await principalAt(own, lost), 'service_unavailable');
  assert.equal(await principalAt(own, bearer), 'oidc:corp/ann');
});

const A = { issuer: 'https://a.example', audience: 'x', name: 'a', email_domains: ['a.example'] };
const B = { issuer: 'https://b.example', audience: 'x', name: 'b', email_domains: [] };
const accounts = (...prefixes: string[]) =>
  prefixes.map((prefix) => ({ claim: 'client_id', prefix, class: 'service' }));
const { name: _name, ...UNNAMED } = B;
const { email_domains: _domains, ...UNBOUND } = B;

const faults: [what: string, settings: object, fault: RegExp][] = [
  ['two issuers of which one has no name', { oidc: [A, UNNAMED] }, /give each of 2 a "name"/],
  ['two issuers of one name', { oidc: [A, { ...B, name: 'a' }] }, /give each of 2 a "name"/],
  ['one issuer twice', { oidc: [A, { ...A, name: 'b' }] }, /"https:\/\/a\.example" appears twice/],
  [
    'an issuer that may vouch for all',
    { oidc: [A, UNBOUND] },
    /Cannot accept the addresses of .*: with several/,
  ],
  [
    'one domain of two issuers, in another case',
    { oidc: [A, { ...B, email_domains: ['b.example', 'A.Example'] }] },
    /domain "a\.example": both "https:\/\/a\.example" and "https:\/\/b\.example" have it/,
  ],
  [
    'two prefixes of one class of accounts',
    { oidc: [{ ...A, service_accounts: accounts('svc-', 'job-') }] },
    /accounts of "https:\/\/a\.example": "svc-x" and "job-x" would both be "service:x"/,
  ],
  [
    'the environment form beside the file form',
    { oidc: [A], oidc_issuer_url: B.issuer, oidc_audience: 'x' },
    /give each of 2 a "name"/,
  ],
  ['half of the environment form', { oidc_issuer_url: A.issuer }, /set together or not at all/],
  ['the other half', { oidc_audience: 'x' }, /set together or not at all/],
  ['http', { oidc: [{ ...A, issuer: 'http://a.example' }] }, /oidc\.0\.issuer": expected https/],
  ['http and an inside address', { oidc: [{ ...A, issuer: 'http://10.0.0.7' }] }, /expected https/],
  [
    'http and an allowed inside name',
    { oidc: [{ ...A, issuer: 'http://login', inside_hosts: ['login'] }] },
    /expected https/,
  ],
  [
    'http in the environment form',
    { oidc_issuer_url: 'http://a.example', oidc_audience: 'x' },
    /"oidc_issuer_url": expected https/,
  ],
  ['another scheme', { oidc_issuer_url: 'ftp://a.example', oidc_audience: 'x' }, /oidc_issuer_url/],
  ['no URL', { oidc_issuer_url: 'a.example', oidc_audience: 'x' }, /oidc_issuer_url/],
  ['a query', { oidc: [{ ...A, issuer: 'https://a.example/?x=1' }] }, /no query, fragment or user/],
  ['a fragment', { oidc: [{ ...A, issuer: 'https://a.example#x' }] }, /no query, fragment or user/],
  ['a user', { oidc: [{ ...A, issuer: 'https://a:b@a.example' }] }, /no query, fragment or user/],
  ['an algorithm of secrets', { oidc: [{ ...A, algorithms: ['HS256'] }] }, /oidc\.0\.algorithms/],
  ['no algorithm', { oidc: [{ ...A, algorithms: [] }] }, /oidc\.0\.algorithms/],
  ['a name with a slash', { oidc: [{ ...A, name: 'a/b' }] }, /oidc\.0\.name/],
  ['a misspelt rule', { oidc: [{ ...A, email_domain: ['x'] }] }, /email_domain/],
  [
    'a service account of another class',
    { oidc: [{ ...A, service_accounts: [{ claim: 'sub', prefix: 'x', class: 'human' }] }] },
    /service_accounts/,
  ],
  [
    'a service account with no prefix',
    { oidc: [{ ...A, service_accounts: [{ claim: 'sub', prefix: '', class: 'agent' }] }] },
    /prefix/,
  ],
  [
    'a pattern without class',
    { entitlements: [{ principals: ['*'] }] },
    /"\*" is neither a principal/,
  ],
  ['a pattern with two stars', { entitlements: [{ principals: ['human:*@*'] }] }, /one "\*"/],
  [
    'a scope that is none',
    { entitlements: [{ principals: ['human:*'], scopes: ['a b'] }] },
    /"a b" is neither a scope/,
  ],
];
for (const [what, settings, fault] of faults) {
  test(`configOf() refuses ${what}`, () => {
    assert.throws(
      () => configOf(settings, '.'),
      (error) => error instanceof ConfigError && fault.test(error.message),
    );
  });
}

for (const issuer of ['http://127.0.0.1:9000', 'http://localhost:9000/realms/x', 'http://[::1]']) {
  test(`configOf() accepts ${issuer}, which never leaves this machine`, () => {
    assert.equal(configOf({ oidc: [{ ...A, issuer }] }, '.').oidc[0]?.issuer, issuer);
  });
}

test('configOf() accepts several issuers that differ', () => {
  const { oidc } = configOf({ oidc: [A, B] }, '.');

  assert.deepEqual(
    oidc.map(({ name }) => name),
    ['a', 'b'],
  );
});

test('loadConfig() reads the environment form, with pinned algorithms', async () => {
  const environment = { OIDC_ISSUER_URL: 'https://a.example/', OIDC_AUDIENCE: AUDIENCE };

  const { oidc } = await loadConfig('.', {}, environment);

  assert.equal(oidc.length, 1);
  assert.equal(oidc[0]?.issuer, 'https://a.example/');
  assert.equal(oidc[0]?.audience, AUDIENCE);
  assert.deepEqual(oidc[0]?.algorithms, ['ES256', 'RS256', 'PS256']);
  assert.equal(oidc[0]?.require_email_verified, false);
});

test('one prefix in two claims, and one of each class, are accepted', () => {
  const service_accounts = [
    ...accounts('svc-'),
    { claim: 'azp', prefix: 'svc-', class: 'service' },
    { claim: 'client_id', prefix: 'agent-', class: 'agent' },
  ];

  assert.equal(configOf({ oidc: [{ ...A, service_accounts }, B] }, '/srv').oidc.length, 2);
});
