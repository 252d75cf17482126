import assert from 'node:assert/strict';
import { test } from 'vitest';
import { atEnd } from '../support/ends.ts';
import { ALICE, STORES } from '../support/world.ts';
import { desk, exchanged, issuerOf, principalAt } from './desk.ts';
import { AUDIENCE, type PROGRAMS, testProvider } from './provider.ts';

const provider = await testProvider();
atEnd(() => provider.stop());

for (const store of STORES) {
  test(`users and programs that sign in get working tokens (${store.name})`, async () => {
    const { url } = await store.open();
    const service = await desk([issuerOf(provider.issuer)], { store: url });

    const ann = await exchanged(service, await provider.signIn('ann-1'));
    const billing = await exchanged(service, await provider.machine('svc-billing'));
    const flight = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };

    for (const { answer } of [ann, billing]) {
      const { status, body } = await service.invoke(answer.body.token, 'search_flights', flight);
      assert.equal(status, 200);
      assert.equal(body.success, true);
    }
    assert.equal(ann.token?.root_principal, 'human:ann@example.com');
    assert.equal(ann.token?.subject, 'human:ann@example.com');
    assert.equal(billing.token?.root_principal, 'service:billing');
  });
}

// Specification, Bootstrap authentication 3, and decision 7: who each account becomes.
const mapping: [account: string, rules: object, principal: string][] = [
  ['ann-1', {}, 'human:ann@example.com'],
  ['ann-1', { require_email_verified: true }, 'human:ann@example.com'],
  ['ann-1', { email_domains: ['EXAMPLE.com'] }, 'human:ann@example.com'],
  ['ann-1', { email_domains: ['example.org'] }, 'oidc:ann-1'],
  ['ann-1', { email_domains: [] }, 'oidc:ann-1'],
  ['una-2', {}, 'oidc:una-2'],
  ['una-2', { require_email_verified: true }, 'oidc:una-2'],
  ['nora-3', {}, 'oidc:nora-3'],
  ['nora-3', { name: 'corp' }, 'oidc:corp/nora-3'],
  ['max-4', {}, 'human:max@example.com'],
  ['max-4', { require_email_verified: true }, 'oidc:max-4'],
  ['human:bob@example.com', {}, 'authentication_required'],
  ['agent:trip-planner', {}, 'authentication_required'],
];
const programs: [client: (typeof PROGRAMS)[number], rules: object, principal: string][] = [
  ['svc-billing', {}, 'service:billing'],
  ['svc-billing', { name: 'corp' }, 'service:corp/billing'],
  ['agent-planner', {}, 'agent:planner'],
  ['crawler', {}, 'oidc:crawler'],
  ['svc-billing', { service_accounts: [] }, 'oidc:svc-billing'],
  [
    'crawler',
    { service_accounts: [{ claim: 'sub', prefix: 'crawler', class: 'agent' }] },
    'authentication_required',
  ],
];
const signIns = [
  ...mapping.map(([account, ...rest]) => ({ account, rest, get: () => provider.signIn(account) })),
  ...programs.map(([account, ...rest]) => ({
    account,
    rest,
    get: () => provider.machine(account),
  })),
];
for (const { account, rest, get } of signIns) {
  const [rules, principal] = rest;
  test(`${account} maps to ${principal} under ${JSON.stringify(rules)}`, async () => {
    const service = await desk([issuerOf(provider.issuer, rules)]);

    assert.equal(await principalAt(service, await get()), principal);
  });
}

const start = (settings: object = {}) => desk([issuerOf(provider.issuer)], { settings });

test('the environment form configures one issuer with the default rules', async () => {
  const service = await start({
    oidc: [],
    oidc_issuer_url: provider.issuer,
    oidc_audience: AUDIENCE,
  });
  assert.equal(await principalAt(service, await provider.signIn('ann-1')), 'human:ann@example.com');
  assert.equal(
    await principalAt(service, await provider.machine('svc-billing')),
    'oidc:svc-billing',
  );
});

test('a credential of a provider that is not configured is refused', async () => {
  const service = await start({ oidc: [] });
  const { answer } = await exchanged(service, await provider.signIn('ann-1'));

  assert.equal(answer.status, 401);
  assert.equal(answer.body.failure.type, 'authentication_required');
  assert.equal(answer.body.failure.resolution.action, 'provide_credentials');
});

test('only the first matching rule applies', async () => {
  const service = await start();
  const ann = await provider.signIn('ann-1');
  const max = await provider.signIn('max-4');

  assert.equal((await exchanged(service, ann, { scope: ['travel.book'] })).answer.status, 200);
  const refused = await exchanged(service, max, { scope: ['travel.book'] });
  assert.equal(refused.answer.status, 403);
  assert.equal(refused.answer.body.failure.type, 'not_entitled');
  assert.equal((await exchanged(service, max)).answer.status, 200);
});

test('a rule without scopes hides a later rule that grants scopes', async () => {
  const service = await start({
    entitlements: [
      { principals: ['human:ann@*'] },
      { principals: ['human:*'], scopes: ['travel.search'] },
    ],
  });
  const { answer } = await exchanged(service, await provider.signIn('ann-1'));

  assert.equal(answer.body.failure.type, 'not_entitled');
});

test('no identity is entitled to anything by default', async () => {
  const service = await start({ entitlements: [] });
  for (const credential of [await provider.signIn('ann-1'), await provider.machine('crawler')]) {
    const { answer } = await exchanged(service, credential);
    assert.equal(answer.status, 403);
    assert.equal(answer.body.failure.type, 'not_entitled');
  }
});

test('an identity may name only itself as subject', async () => {
  const service = await start();
  const ann = await provider.signIn('ann-1');

  const own = await exchanged(service, ann, { subject: 'human:ann@example.com' });
  assert.equal(own.answer.status, 200);
  for (const subject of ['human:alice@example.com', 'agent:planner', 'oidc:ann-1']) {
    const { answer } = await exchanged(service, ann, { subject });
    assert.equal(answer.body.failure.type, 'not_entitled', subject);
  }
});

test("an entitlement of a person's API key does not apply to the external identity", async () => {
  const other = await testProvider({ alice: { email: 'alice@example.com', email_verified: true } });
  const service = await desk([issuerOf(other.issuer)]);
  const request = { scope: ['travel.book'] };

  const byProvider = await exchanged(service, await other.signIn('alice'), request);
  const byKey = await exchanged(service, ALICE, request);

  assert.equal(byProvider.answer.body.failure.type, 'not_entitled');
  assert.equal(byKey.answer.status, 200);
  await service.close();
  await other.stop();
});

test('a refused exchange leaves an entry under the mapped principal', async () => {
  const service = await start();
  const bearer = await provider.signIn('nora-3');
  await exchanged(service, bearer, { scope: ['travel.admin'] });

  const { body } = await service.ask('POST', '/svc/audit?entry_type=issuance', { bearer });

  assert.deepEqual(
    body.entries.map((entry: Record<string, unknown>) => [
      entry.root_principal,
      entry.failure_type,
    ]),
    [['oidc:nora-3', 'not_entitled']],
  );
});

test('a session in the identity token itself is ignored', async () => {
  const service = await start();
  const bearer = await provider.forge({ session_id: 's-1', sid: 's-1' });

  const { token } = await exchanged(service, bearer);

  assert.equal(token?.root_principal, 'oidc:ann-1');
  assert.equal(token?.session_id, undefined);
});
