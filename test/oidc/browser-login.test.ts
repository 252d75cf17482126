import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createLog } from '../../src/log.ts';
import type {
  LoginState,
  ProvedPerson,
  Provider,
  StepUp,
} from '../../src/service/sign-in/provider.ts';
import { atEnd } from '../support/ends.ts';
import { CLIENT, LOGIN, refusalOf, webIssuer, webProviders } from './browser.ts';
import {
  type Accounts,
  REDIRECT_URI,
  type TestProvider,
  testProvider,
  WEB_SECRET,
} from './provider.ts';

const REFRESHED = { ...CLIENT, check: 'refresh' };
const HOUR = 3_600;

async function started(accounts?: Accounts): Promise<TestProvider> {
  const upstream = await testProvider(accounts);
  atEnd(() => upstream.stop().catch(() => {}));
  return upstream;
}

const upstream = await started();

/** Sends the browser to the provider and back. */
async function answered(
  provider: Provider,
  account = 'ann-1',
  { at = upstream, stepUp }: { at?: TestProvider; stepUp?: StepUp } = {},
): Promise<{ query: URLSearchParams; login: LoginState; redirectUri: string }> {
  const { location, login } = await provider.begin({ ...LOGIN, stepUp });
  const { searchParams } = await at.answer(location, account);
  return { query: searchParams, login, redirectUri: REDIRECT_URI };
}

const changed = (query: URLSearchParams, name: string, value?: string) => {
  const other = new URLSearchParams(query);
  if (value === undefined) other.delete(name);
  else other.set(name, value);
  return other;
};

test('a person signs in with a browser, and the mapping decides the principal', async () => {
  const { provider, providers, log } = webProviders([webIssuer(upstream.issuer)]);
  const answer = await answered(provider);

  const person: ProvedPerson = await provider.finish(answer);

  assert.equal(person.principal, 'human:ann@example.com');
  assert.equal(person.issuer, upstream.issuer);
  assert.equal(person.sub, 'ann-1');
  assert.equal(typeof person.sid, 'string');
  assert.deepEqual(person.authTime, new Date(0));
  assert.equal(person.upstream, undefined);
  assert.equal(answer.login.returnTo, '/agents');
  assert.equal(log(), '');
  assert.equal(provider.id, '127.0.0.1');
  assert.equal(provider.label, '127.0.0.1');
  assert.equal(providers.find('127.0.0.1'), provider);
  assert.equal(providers.ofIssuer(upstream.issuer), provider);
  assert.equal(providers.find('other'), undefined);
});

test('an issuer without sign_in is no provider', () => {
  const { providers } = webProviders([{ issuer: upstream.issuer, audience: 'desk' }]);

  assert.deepEqual(providers.all(), []);
});

test('begin() sends PKCE, state and nonce, each new, and never the secret or the verifier', async () => {
  const { provider } = webProviders([
    webIssuer(upstream.issuer, {}, { ...CLIENT, label: 'Staff' }),
  ]);
  const [one, two] = [await provider.begin(LOGIN), await provider.begin(LOGIN)];
  const { searchParams } = new URL(one.location);

  assert.deepEqual(
    [...searchParams.keys()].sort(),
    ['client_id', 'code_challenge', 'code_challenge_method', 'nonce', 'redirect_uri'].concat([
      'response_type',
      'scope',
      'state',
    ]),
  );
  assert.equal(searchParams.get('code_challenge_method'), 'S256');
  assert.equal(searchParams.get('scope'), 'openid email');
  for (const secret of [WEB_SECRET, one.login.verifier]) assert.ok(!one.location.includes(secret));
  for (const name of ['state', 'nonce', 'verifier'] as const) {
    assert.match(one.login[name], /^[\w-]{43}$/);
    assert.notEqual(one.login[name], two.login[name]);
  }
  assert.equal(new Set([one.login.state, one.login.nonce, one.login.verifier]).size, 3);
  assert.equal(provider.label, 'Staff');
});

test('finish() refuses an answer with another state, with none, and with two', async () => {
  const { provider } = webProviders([webIssuer(upstream.issuer)]);
  const answer = await answered(provider);
  const twice = new URLSearchParams(answer.query);
  twice.append('state', answer.login.state);

  for (const query of [
    changed(answer.query, 'state', 'x'),
    changed(answer.query, 'state', ''),
    changed(answer.query, 'state'),
  ]) {
    assert.match(
      await refusalOf(provider.finish({ ...answer, query })),
      /belongs to another login/,
    );
  }
  assert.match(
    await refusalOf(provider.finish({ ...answer, query: twice })),
    /the answer has "state" twice$/,
  );
});

test('finish() refuses the answer of another browser (login CSRF)', async () => {
  const { provider } = webProviders([webIssuer(upstream.issuer)]);
  const [victim, attacker] = [await answered(provider), await answered(provider, 'nora-3')];

  const injected = provider.finish({ ...victim, query: attacker.query });

  assert.match(await refusalOf(injected), /the answer belongs to another login$/);
});

test('finish() refuses a code that was injected into another login (PKCE)', async () => {
  const { provider } = webProviders([webIssuer(upstream.issuer)]);
  const [victim, attacker] = [await answered(provider), await answered(provider, 'nora-3')];
  const query = changed(attacker.query, 'code', victim.query.get('code') as string);

  const refused = await refusalOf(provider.finish({ ...attacker, query }));

  assert.match(refused, /the provider refused the code: "invalid_grant"$/);
});

test('finish() refuses a code that was used before', async () => {
  const { provider, log } = webProviders([webIssuer(upstream.issuer)]);
  const answer = await answered(provider);
  await provider.finish(answer);

  assert.match(await refusalOf(provider.finish(answer)), /refused the code: "invalid_grant"$/);
  assert.ok(!log().includes(answer.query.get('code') as string));
});

test('finish() refuses the redirect of another request', async () => {
  const { provider } = webProviders([webIssuer(upstream.issuer)]);
  const answer = await answered(provider);

  const refused = provider.finish({ ...answer, redirectUri: `${REDIRECT_URI}/x` });

  assert.match(await refusalOf(refused), /refused the code/);
});

test('finish() refuses a login that was begun too long ago', async () => {
  const { provider, advance } = webProviders([webIssuer(upstream.issuer)]);
  const answer = await answered(provider);
  advance(601_000);

  assert.match(await refusalOf(provider.finish(answer)), /the login took too long; begin again$/);
});

test('finish() refuses an answer without iss, since the provider announces it', async () => {
  const { provider } = webProviders([webIssuer(upstream.issuer)]);
  const answer = await answered(provider);

  const refused = provider.finish({ ...answer, query: changed(answer.query, 'iss') });

  assert.match(await refusalOf(refused), /the answer does not name its issuer$/);
});

test('finish() sends no code to one provider that another one issued (mix-up)', async () => {
  const other = await started();
  const named = (issuer: string, name: string) => webIssuer(issuer, { name, email_domains: [] });
  const { providers, sent } = webProviders([
    named(upstream.issuer, 'staff'),
    named(other.issuer, 'evil'),
  ]);
  const [staff, evil] = providers.all() as [Provider, Provider];
  const { location, login } = await evil.begin(LOGIN);
  // The evil provider sends the browser on to the honest one, with the state of its own login.
  const honest = `${upstream.issuer}/auth${new URL(location).search}`;
  const { searchParams: query } = await upstream.answer(honest, 'ann-1');
  const before = sent.length;

  const mixed = evil.finish({ query, login, redirectUri: REDIRECT_URI });

  assert.match(await refusalOf(mixed), /the answer comes from another issuer$/);
  const asOther = staff.finish({ query, login, redirectUri: REDIRECT_URI });
  assert.match(await refusalOf(asOther), /the login was begun with another provider$/);
  assert.equal(sent.length, before);
});

test('finish() names the error of the provider, and repeats no other text of it', async () => {
  const { provider } = webProviders([webIssuer(upstream.issuer)]);
  const { location, login } = await provider.begin(LOGIN);
  const { searchParams } = await upstream.answer(`${location}&prompt=none`, 'ann-1');
  const ask = { login, redirectUri: REDIRECT_URI };

  assert.match(
    await refusalOf(provider.finish({ ...ask, query: searchParams })),
    /the provider answered "login_required"$/,
  );
  const hostile = changed(searchParams, 'error', '<script>');
  assert.match(
    await refusalOf(provider.finish({ ...ask, query: hostile })),
    /the provider answered "unknown error"$/,
  );
});

test('finish() refuses a program, and a subject that maps to no principal', async () => {
  const rules = { service_accounts: [{ claim: 'sub', prefix: 'nora-', class: 'service' }] };
  const { provider } = webProviders([webIssuer(upstream.issuer, rules)]);

  for (const account of ['nora-3', 'human:bob@example.com']) {
    const answer = await answered(provider, account);
    assert.match(await refusalOf(provider.finish(answer)), /name no person$/, account);
  }
});

test('a client with a wrong secret is refused, and the secret is not logged', async () => {
  const client = { ...CLIENT, client_secret: 'hunter2-canary' };
  const { provider, log } = webProviders([webIssuer(upstream.issuer, {}, client)]);

  assert.match(await refusalOf(provider.finish(await answered(provider))), /"invalid_client"$/);
  assert.match(log(), /the provider refused a code/);
  assert.ok(!log().includes('hunter2'));
});

test('finish() says so when the provider is down', async () => {
  const other = await started();
  const { provider } = webProviders([webIssuer(other.issuer)]);
  const answer = await answered(provider, 'ann-1', { at: other });
  await other.stop();

  const refused = await refusalOf(provider.finish(answer), 'service_unavailable');

  assert.match(refused, /^Cannot sign in with "http:.*": it is not reachable$/);
});

test('a step-up asks for a recent and strong sign-in, and takes an answer that has both', async () => {
  const { provider } = webProviders([webIssuer(upstream.issuer)]);
  const stepUp = { maxAgeSeconds: 300, acr: 'mfa' };
  const at = Math.floor(Date.now() / 1_000) - 200;
  Object.assign(upstream.manner, { acr: 'mfa', ts: at });

  const person = await provider.finish(await answered(provider, 'ann-1', { stepUp }));

  assert.equal(person.acr, 'mfa');
  assert.deepEqual(person.authTime, new Date(at * 1_000));
});

const unmet: [what: string, manner: () => TestProvider['manner'], stepUp: StepUp, why: RegExp][] = [
  ['a weaker acr', () => ({ acr: 'pwd' }), { acr: 'mfa' }, /in the way that is needed$/],
  ['no acr', () => ({}), { acr: 'mfa' }, /in the way that is needed$/],
  [
    'an older authentication',
    () => ({ ts: Math.floor(Date.now() / 1_000) - HOUR }),
    { maxAgeSeconds: 300 },
    /did not authenticate the person again$/,
  ],
];
for (const [what, manner, stepUp, why] of unmet) {
  test(`finish() refuses ${what} than a step-up needs`, async () => {
    const lax = await started();
    Object.assign(lax.manner, manner());
    const { provider } = webProviders([webIssuer(lax.issuer)]);

    const answer = await answered(provider, 'ann-1', { at: lax, stepUp });

    assert.match(await refusalOf(provider.finish(answer)), why);
  });
}

async function refreshable(accounts: Accounts = { ann: { email: 'ann@example.com' } }) {
  const at = await started(accounts);
  const web = webProviders([webIssuer(at.issuer, {}, REFRESHED)]);
  const answer = await answered(web.provider, 'ann', { at });
  const { upstream: token, sub } = await web.provider.finish(answer);
  return { ...web, at, sub, token: token as string };
}

test('check() confirms a person again and again with the token that the provider rotates', async () => {
  const { provider, token, sub, log } = await refreshable();

  const first = await provider.check({ upstream: token, sub });
  assert.equal(first.state, 'alive');
  const next = (first as { upstream: string }).upstream;
  assert.notEqual(next, token);
  assert.equal((await provider.check({ upstream: next, sub })).state, 'alive');
  assert.equal(log(), '');
});

test('check() ends a person whom the provider no longer knows', async () => {
  const accounts: Record<string, object> = { ann: { email: 'ann@example.com' } };
  const { provider, token, sub } = await refreshable(accounts as Accounts);
  delete accounts.ann;

  assert.deepEqual(await provider.check({ upstream: token, sub }), { state: 'ended' });
});

test('check() ends a person whose token the provider does not know', async () => {
  const { provider, sub } = await refreshable();

  assert.deepEqual(await provider.check({ upstream: 'x', sub }), { state: 'ended' });
});

test('check() confirms nobody by the token of another person', async () => {
  const { provider, token, log } = await refreshable();

  assert.deepEqual(await provider.check({ upstream: token, sub: 'bob' }), { state: 'unreachable' });
  assert.match(log(), /its identity token is of another person/);
  assert.ok(!log().includes(token));
});

test('check() ends nobody while the provider is down', async () => {
  const { provider, at, token, sub, log } = await refreshable();
  await at.stop();

  assert.deepEqual(await provider.check({ upstream: token, sub }), { state: 'unreachable' });
  assert.match(log(), /a person could not be checked/);
  await at.start();
  assert.equal((await provider.check({ upstream: token, sub })).state, 'alive');
});

test('the log shows neither a client secret nor a token of the provider', () => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => void lines.push(line) });

  log.info({ client: CLIENT, person: { upstream: 'canary' }, ...CLIENT, upstream: 'canary' }, 'x');

  assert.match(lines.join(), /\[secret\]/);
  assert.ok(!lines.join().includes('canary'));
  assert.ok(!lines.join().includes(WEB_SECRET));
});
