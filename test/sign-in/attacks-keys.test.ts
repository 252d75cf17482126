/**
 * Keys at the sign-in page: taken only where no other machine reaches the service, and only of people.
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { csrfOf } from '../../src/http/sign-in/csrf.ts';
import { issuerOf } from '../oidc/desk.ts';
import { falseProvider } from '../oidc/false-provider.ts';
import { atEnd } from '../support/ends.ts';
import { person } from '../support/person.ts';
import { AGENT, OPERATOR, PARTNER, testService } from '../support/world.ts';
import { cookieLine, post, signedIn } from './attacker.ts';
import { personAt } from './browser.ts';

const provider = await falseProvider({});
atEnd(() => provider.close());

const KEY = 'a-key-that-is-no-demo-key';
const IDENTITIES = [person(KEY, 'human:ann@example.com', ['travel.*'])];
const OIDC = [{ ...issuerOf(provider.issuer), sign_in: { client_id: 'desk' } }];

for (const [name, reached] of [
  ['listens for other machines', { host: '0.0.0.0', public_url: 'https://desk.example' }],
  ['has a public address', { public_url: 'https://desk.example' }],
  ['stands behind a proxy', { trusted_proxies: ['127.0.0.1'] }],
] as const) {
  test(`a key signs no one in at a service that ${name}`, async () => {
    const service = await testService({
      settings: { identities: IDENTITIES, oidc: OIDC, ...reached },
    });
    const stranger = personAt(service);
    const page = await stranger.open('/sign-in');
    assert.doesNotMatch(page.text ?? '', /name="key"/);

    // The page has no such form. The attacker makes one, with the proof of the cookie of his own browser.
    const [secret = ''] = stranger.cookies.values();
    const csrf = csrfOf(secret, 'pages');
    const reply = await post(
      service,
      '/sign-in',
      { csrf, key: KEY },
      { cookie: cookieLine(stranger) },
    );

    assert.equal(reply.status, 401, reply.text);
    assert.doesNotMatch(String(reply.headers['set-cookie']), /session/);
    assert.equal((await stranger.open('/agents')).status, 303);
    assert.deepEqual(await service.entriesBy({ entryType: 'session' }), []);
  });
}

test('a key signs its person in on a service of this machine only', async () => {
  const service = await testService({ settings: { identities: IDENTITIES, oidc: OIDC } });
  const ann = await signedIn(service, KEY);
  assert.equal((await ann.open('/agents')).status, 200);
});

test('agents, services and operators do not sign in, and their tries leave entries', async () => {
  const service = await testService();
  for (const key of [AGENT, PARTNER, OPERATOR]) {
    const someone = personAt(service);
    assert.equal((await someone.signIn(key)).status, 403);
    assert.equal((await someone.open('/agents')).status, 303);
  }
  const entries = await service.entriesBy({ entryType: 'session' });
  assert.deepEqual(
    entries.map(({ state, actor_key }) => [state, actor_key]),
    ['agent:trip-planner', 'service:partner-portal', 'service:operator'].map((key) => [
      'refused',
      key,
    ]),
  );
});

test('a stranger who tries keys leaves no row, no entry and no trace of the keys', async () => {
  const service = await testService();
  const stranger = personAt(service);
  const guess = 'guess-that-must-not-be-logged';
  for (const key of ['', guess, 'demo-human-key ', 'DEMO-HUMAN-KEY', '__proto__']) {
    assert.equal((await stranger.signIn(key)).status, 401, key);
  }
  assert.deepEqual(await service.entriesBy({ entryType: 'session' }), []);
  assert.equal(service.log.filter((line) => line.includes(guess)).length, 0);
});

test('tries from one address are bounded by its rate', async () => {
  const service = await testService({ settings: { address_rate: '20/PT1M' } });
  const stranger = personAt(service);
  const page = await stranger.open('/sign-in');
  const statuses = [];
  for (let tries = 0; tries < 40; tries++) {
    statuses.push((await stranger.send(page, '/sign-in', { key: `guess-${tries}` })).status);
  }
  assert.ok(statuses.filter((status) => status === 401).length <= 20);
  assert.equal(statuses.at(-1), 429);
});
