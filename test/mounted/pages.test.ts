/**
 * The console of a mounted service, for people whom the app signs in: whose page it is, when that ends, and what another
 * site can do with the cookie of the app.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { REQUESTS_IN_WORK_MAX, STRANGER_BODY_BYTES_MAX } from '../../src/http/bounds/limits.ts';
import { softwareKey } from '../../src/testing/authenticator.ts';
import { proofOf } from '../passkeys/desk.ts';
import { atEnd } from '../support/ends.ts';
import {
  ANN,
  type App,
  asker,
  assertRefused,
  BEN,
  BROWSER,
  openApp,
  PAGES,
  paid,
  proofIn,
  requested,
  STYLES,
} from './app.ts';
import { mountDesk, ORIGIN, requestOf, toldBy } from './desk.ts';

describe.each(STYLES)('in an app by %s', (style) => {
  test('the session of the app opens the console below the prefix, and its end closes it', async () => {
    const app = await openApp({}, style);
    const stranger = await app.open('/console/approvals/apr_1');
    const page = await app.open('/console/', 'ann');
    const api = await asker(app, 'ann');
    const me = await api('me');
    app.people.delete('ann');

    assert.equal(stranger.status, 401);
    assert.match(String(stranger.headers['content-type']), /^text\/html/);
    assert.match(stranger.text ?? '', /sign in to the app at http:\/\/localhost:3000/);
    assert.equal(page.status, 200);
    assert.match(page.text ?? '', /<meta name="writ-base" content="\/desk">/);
    assert.match(page.text ?? '', /src="\/desk\/console\/assets\//);
    assert.deepEqual(page.headers['set-cookie'], []);
    assert.equal(page.headers['cache-control'], 'no-store');
    assert.deepEqual([me.body.principal, me.body.session.is_of_app], [ANN, true]);
    assertRefused(await api('me'), 401, 'authentication_required');
    assert.equal((await app.open('/console/', 'ann')).status, 401);
  });

  test('no other site acts with the cookie of the app', async () => {
    const app = await openApp({}, style);
    const api = await asker(app, 'ann');
    const ben = proofIn(await app.open('/console/', 'ben'));
    const before = app.asked.length;
    const foreign: [what: string, headers: Record<string, string | undefined>][] = [
      ['no Origin', { origin: undefined }],
      ['another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
      ['an opaque Origin', { origin: 'null' }],
      ['another port', { origin: 'http://localhost:4000' }],
      ['another scheme', { origin: 'https://localhost:3000' }],
      ['a sibling site', { 'sec-fetch-site': 'same-site' }],
      ['a name that leads here', { host: 'evil.example', origin: 'http://evil.example' }],
    ];
    for (const [what, headers] of foreign) {
      const { status, body } = await api('me', headers);
      assert.deepEqual([status, body.failure?.type], [403, 'not_entitled'], what);
    }
    assert.equal(app.asked.length, before, 'the hook was asked about a page of another site');
    const unproved = [undefined, '', 'x'.repeat(43), ben];
    for (const proof of unproved) {
      assertRefused(await api('me', { 'x-writ-csrf': proof }), 403, 'not_entitled');
    }
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    assertRefused(await api('me', form, 'a=b'), 415, 'unsupported_media_type');
    assert.equal((await api('me')).status, 200);
  });
});

test('the cookie of the app and the proof of a page open no operation with a token, and MCP neither', async () => {
  const app = await openApp();
  const headers = {
    cookie: 'shop=ann',
    origin: PAGES,
    'x-writ-csrf': proofIn(await app.open('/console/', 'ann')),
    accept: 'application/json, text/event-stream',
  };
  const before = app.asked.length;
  for (const path of ['/svc/invoke/pay', '/svc/test/pay', '/svc/permissions', '/mcp']) {
    const { status } = await app.ask('POST', path, { body: {}, headers });
    assert.equal(status, 401, path);
  }
  const body = { approval_request_id: `apr_${'0'.repeat(32)}`, grant_type: 'one_time' };
  const cross = { ...headers, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
  assertRefused(
    await app.ask('POST', '/svc/approval_grants', { body, headers: cross }),
    401,
    'authentication_required',
  );
  assert.equal(app.asked.length, before);
});

test('the console is at the public address, with no cookie of the service on any scheme', async () => {
  for (const scheme of ['https', 'http']) {
    const origin = `${scheme}://shop.example`;
    const app = await openApp({ settings: { public_url: `${origin}/desk` } });
    const host = { host: 'shop.example' };
    const page = await app.open('/console/', 'ann', host);
    const api = (headers: Record<string, string>) =>
      app.ask('POST', '/console/api/me', {
        body: {},
        headers: { ...host, cookie: 'shop=ann', 'x-writ-csrf': proofIn(page), ...headers },
      });

    assert.equal(page.status, 200, page.text);
    assert.deepEqual(page.headers['set-cookie'], []);
    assert.equal((await api({ origin })).body.principal, ANN);
    assertRefused(await api({ origin: `${scheme}://evil.example` }), 403, 'not_entitled');
    assertRefused(await api({ origin: PAGES }), 403, 'not_entitled');
  }
});

test('an open page does not use up the allowance of strangers, whose address it shares', async () => {
  const app = await openApp({ settings: { address_rate: '3/PT1H' } });
  const api = await asker(app, 'ann');
  for (let i = 0; i < 6; i++) assert.equal((await api('pulse')).status, 200);

  assert.equal((await app.open('/console/')).status, 401);
  assert.equal((await app.open('/console/')).status, 401);
  assert.equal((await app.open('/console/')).status, 429);
});

test('requests that wait for the app are in work, also while a long body is unread', async () => {
  const answers: (() => void)[] = [];
  const identify = () => new Promise<null>((resolve) => void answers.push(() => resolve(null)));
  const app = await openApp({ identify });
  const body = { reason: 'x'.repeat(STRANGER_BODY_BYTES_MAX) };
  const length = String(JSON.stringify(body).length);
  const ask = () =>
    app.ask('POST', '/console/api/me', {
      body,
      headers: { origin: PAGES, 'content-length': length },
    });
  const waiting = Array.from({ length: REQUESTS_IN_WORK_MAX }, ask);
  while (answers.length < waiting.length) await new Promise((resolve) => setImmediate(resolve));
  const next = ask();
  await new Promise((resolve) => setImmediate(resolve));
  for (const answer of answers) answer();

  assertRefused(await next, 503, 'service_unavailable');
  for (const { status } of await Promise.all(waiting)) assert.equal(status, 401);
});

test('a link of another site opens the page, which stands in no frame', async () => {
  const app = await openApp();
  const { status, headers } = await app.open('/console/approvals/apr_1', 'ann', {
    'sec-fetch-site': 'cross-site',
  });

  assert.equal(status, 200);
  assert.match(String(headers['content-security-policy']), /frame-ancestors 'none'/);
  assert.equal(headers['access-control-allow-origin'], undefined);
});

test('a browser at another name of this machine is sent to the name of the pages, with the prefix', async () => {
  const app = await openApp();
  const { status, headers } = await app.open('/console/trust?a=b', 'ann', {
    host: new URL(ORIGIN).host,
  });

  assert.deepEqual([status, headers.location], [303, `${PAGES}/desk/console/trust?a=b`]);
});

test('the link of a page whose session is over leads back to the page, and nowhere else', async () => {
  const app = await openApp();
  const leads = async (returnTo: string) => {
    const { headers } = await app.open(`/sign-in?${new URLSearchParams({ return_to: returnTo })}`);
    return headers.location;
  };

  assert.equal(await leads('/console/trust?a=b'), '/desk/console/trust?a=b');
  const others = ['/agents', 'https://evil.example', '//evil.example/console/', '/console'];
  const outside = [
    '../../logout',
    '%2e%2E/%2e%2e/logout',
    '..\\..\\logout',
    'trust/../../logout?a',
  ];
  for (const other of [...others, ...outside.map((each) => `/console/${each}`)]) {
    assert.equal(await leads(other), '/desk/console/', other);
  }
});

describe('two people in one browser, one after another', () => {
  test('the page of the first asks nothing in the name of the second', async () => {
    const app = await openApp();
    const ann = await asker(app, 'ann');
    const asBen = { cookie: 'shop=ben' };
    const benPage = await app.open('/console/', 'ben');

    assertRefused(await ann('me', asBen), 403, 'not_entitled');
    assertRefused(await ann('pulse', asBen), 403, 'not_entitled');
    const { body } = await ann('me', { ...asBen, 'x-writ-csrf': proofIn(benPage) });
    assert.equal(body.principal, BEN);
    assert.doesNotMatch(benPage.text ?? '', /ann/);
    for (const name of ['cache-control', 'etag'] as const) {
      assert.equal(benPage.headers[name], name === 'etag' ? undefined : 'no-store');
    }
  });

  test('a session that began here ends when the app names another person', async () => {
    const carol = { principal: 'human:carol', key: 'key-of-carol', demo: true };
    const app = await openApp({ settings: { identities: [carol] } });
    const cookie = await signInByKey(app, 'key-of-carol');
    const own = await app.open('/console/', undefined, { cookie });
    const both = await app.open('/console/', undefined, { cookie: `${cookie}; shop=ben` });
    const after = await app.open('/console/', undefined, { cookie });

    assert.equal(own.status, 200);
    assert.equal(both.status, 200);
    assert.match(String(both.headers['set-cookie']), /^writ-session-\w+=; Path=\/; .*Max-Age=0/);
    assert.notEqual(proofIn(both), proofIn(own));
    assert.deepEqual(
      [after.status, after.headers.location],
      [303, '/desk/sign-in?return_to=%2Fconsole%2F'],
    );
    const page = await app.open(String(after.headers.location).replace('/desk', ''));
    assert.match(page.text ?? '', /an account in the app at <bdi>http:\/\/localhost:3000<\/bdi>/);
  });
});

/** Fills in the form of the sign-in page. Resolves with the cookie of the session. */
async function signInByKey(app: App, key: string): Promise<string> {
  const page = await app.open('/sign-in');
  const csrf = /name="csrf" value="([^"]+)"/.exec(page.text ?? '')?.[1] ?? '';
  const [form = ''] = (page.headers['set-cookie'] as string[]).map((line) => line.split(';')[0]);
  assert.match(page.text ?? '', /action="\/desk\/sign-in"/);
  const { status, headers, text } = await app.ask('POST', '/sign-in', {
    body: new URLSearchParams({ csrf, key, return_to: '/console/' }).toString(),
    headers: { cookie: form, origin: PAGES, 'content-type': 'application/x-www-form-urlencoded' },
  });
  assert.deepEqual([status, headers.location], [303, '/desk/console/'], text);
  return (headers['set-cookie'] as string[])[0]?.split(';')[0] ?? '';
}

test('an approver of the app confirms with a passkey where the policy requires one', async () => {
  const app = await openApp();
  app.people.set('ann', { principal: ANN, scopes: ['approver:pay'], signed_in_at: new Date() });
  const id = await requested(app);
  const ann = await app.console('ann');
  const terms = { approval_request_id: id, grant_type: 'one_time' as const };
  const unsigned = await ann.reply('approval_grants.issue', terms);
  const { key, options } = await enrolled(app, 'ann');
  const { payload } = await ann.answer('decision.challenge', { ...terms, decision: 'approve' });
  const passkey = proofOf(key, payload, { origin: PAGES });
  const granted = await ann.reply('approval_grants.issue', { ...terms, passkey });

  assert.equal(unsigned.body.failure.type, 'approver_not_authorized');
  assert.equal(options.counts, 'at_once');
  assert.equal(granted.status, 200, granted.text);
  app.people.delete('ann');
  const done = await paid(app, { approval_grant: granted.body.grant_id });
  assert.deepEqual(done.body.result, { done: true }, 'the rule still makes Ann an approver');
});

test('without a recent time of sign-in a first passkey waits', async () => {
  const HOUR = 3_600_000;
  for (const ms of [undefined, Date.now() - HOUR, Date.now() + HOUR]) {
    const app = await openApp();
    const signed_in_at = ms === undefined ? {} : { signed_in_at: new Date(ms) };
    app.people.set('ann', { principal: ANN, scopes: [], ...signed_in_at });
    const { options } = await enrolled(app, 'ann');

    assert.equal(options.counts, 'later', String(ms));
  }
});

async function enrolled(app: App, cookie: string) {
  const person = await app.console(cookie);
  const options = await person.answer('passkeys.begin');
  assert.equal(options.rp_id, 'localhost');
  const key = softwareKey();
  const challenge = Buffer.from(options.challenge, 'base64url');
  const made = key.register({ challenge, rpId: options.rp_id, origin: PAGES });
  await person.answer('passkeys.add', { label: 'Phone', challenge: options.challenge, ...made });
  return { key, options };
}

describe('a page that cannot be shown says why in words', () => {
  const missing = ['/agents', '/accounts', '/authorize', '/enrol', '/console/nothing'];
  for (const path of missing) {
    test(`${path}, where only the app signs people in`, async () => {
      const app = await openApp();
      const page = await app.open(path, 'ann');
      const program = await app.open(path, 'ann', { accept: 'application/json' });

      assert.equal(page.status, 404);
      assert.match(page.text ?? '', /There is no page here/);
      assert.ok(page.text?.includes(`<code><bdi>/desk${path}</bdi></code>`));
      assert.match(page.text ?? '', /under &quot;\/desk&quot;/);
      assert.match(page.text ?? '', /href="\/desk\/"/);
      assert.match(String(page.headers['content-security-policy']), /^default-src 'none'/);
      assertRefused(program, 404, 'not_found');
    });
  }

  test('without an address and without identify(), the page says that public_url is missing', async () => {
    const desk = await mountDesk({ settings: { public_url: undefined, identities: [] } });
    atEnd(desk.close);
    const asked = requestOf('GET', `${PAGES}/desk/console/`, { headers: { accept: BROWSER } });
    const { status, body } = await toldBy(await desk.fetch(asked));

    assert.equal(status, 404);
    assert.match(body, /public_url is missing/);
    assert.match(body, /the option identify of mount\(\)/);
  });

  test('without an address a name of another machine gets words, and a program a failure', async () => {
    const app = await openApp({ settings: { public_url: undefined } });
    const elsewhere = { host: 'shop.example' };
    const page = await app.open('/console/', 'ann', elsewhere);
    const program = await app.open('/console/', 'ann', { ...elsewhere, accept: '*/*' });

    assert.equal(page.status, 400);
    assert.match(page.text ?? '', /without WRIT_PUBLIC_URL the service answers on loopback names/);
    assertRefused(program, 400, 'invalid_parameters');
    assert.deepEqual(app.asked, []);
    assert.equal((await app.open('/console/', 'ann')).status, 200);
  });

  test('the front page links the console and no page that is missing', async () => {
    const app = await openApp();
    const { text = '' } = await app.open('/');

    assert.match(text, /href="\/desk\/console\/"/);
    assert.doesNotMatch(text, /href="[^"]*sign-in"/);
  });

  test('nobody is invited where nobody could enrol', async () => {
    const app = await openApp();
    const ann = await app.console('ann');
    const { status, body } = await ann.reply('people.invite', { principal: 'human:dan' });

    assert.equal(status, 403);
    assert.match(body.failure.detail, /has no page where somebody enrols a passkey/);
    assert.deepEqual((await ann.answer('people.list')).invitations, []);
  });
});

test('a decision names its page below the prefix', async () => {
  const app = await openApp();
  const { body } = await paid(app);

  assert.equal(
    body.failure.resolution.decision_url ?? body.failure.decision_url,
    `${PAGES}/desk/console/approvals/${body.failure.approval_request_id}`,
  );
});
