/**
 * The console over HTTP: who gets its page, which requests its API takes, and what other sites, other sessions and
 * other credentials can do there.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { PAGES, type Person, personAt } from '../sign-in/browser.ts';
import { AGENT, ALICE, BOB, type Reply, type TestService, testService } from '../support/world.ts';

const APPROVAL = '/console/approvals/apr_0123';

interface Visitor {
  readonly person: Person;
  readonly csrf: string;
  /** Asks the API as the page does, with other headers where a test says so; undefined leaves one out. */
  api(
    method: string,
    body?: unknown,
    headers?: Readonly<Record<string, string | undefined>>,
  ): Promise<Reply>;
}

async function visitor(service: TestService, key = ALICE): Promise<Visitor> {
  const person = personAt(service);
  await person.signIn(key);
  const { text = '' } = await person.open('/console/');
  const csrf = metaOf(text, 'writ-csrf');
  assert.match(csrf, /^[\w-]{43}$/, text);
  return {
    person,
    csrf,
    api: (method, body = {}, headers = {}) =>
      service.ask('POST', `/console/api/${method}`, {
        body,
        headers: present({
          host: 'localhost',
          origin: PAGES,
          'sec-fetch-site': 'same-origin',
          'x-writ-csrf': csrf,
          cookie: cookieLine(person),
          ...headers,
        }),
      }),
  };
}

function present(headers: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const found = Object.entries(headers).filter(
    (each): each is [string, string] => each[1] !== undefined,
  );
  return Object.fromEntries(found);
}

function metaOf(html: string, name: string): string {
  return new RegExp(`<meta name="${name}" content="([^"]*)">`).exec(html)?.[1] ?? '';
}

function cookieLine({ cookies }: Person): string {
  return [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
}

function assertRefused({ status, body }: Reply, expected: number, type: string): void {
  assert.deepEqual([status, body.failure?.type], [expected, type], JSON.stringify(body));
  assert.equal(body.success, false);
}

describe('the page', () => {
  test('a browser without a session signs in and comes back to the same address', async () => {
    const service = await testService();
    const person = personAt(service);
    const address = `${APPROVAL}?from=mail`;

    const sent = await person.open(address);
    const location = String(sent.headers.location);
    const signedIn = await person.send(await person.open(location), '/sign-in', { key: BOB });
    const shown = await person.open(String(signedIn.headers.location));

    assert.equal(sent.status, 303);
    assert.equal(location, `/sign-in?${new URLSearchParams({ return_to: address })}`);
    assert.equal(signedIn.headers.location, address);
    assert.equal(shown.status, 200);
  });

  test('every view has the page, which loads only files that exist, and stands under a strict policy', async () => {
    const service = await testService();
    const { person } = await visitor(service);
    for (const view of [
      '',
      'approvals',
      'agents',
      'activity',
      'capabilities',
      'trust',
      'operations',
      'passkeys',
    ]) {
      const { status, headers, text = '' } = await person.open(`/console/${view}`);

      assert.equal(status, 200, view);
      assert.equal(metaOf(text, 'writ-base'), '');
      const files = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file = '']) => file);
      assert.ok(files.length >= 2);
      for (const file of files) {
        const asset = await service.ask('GET', file, { headers: { host: 'localhost' } });
        assert.equal(asset.status, 200, file);
        assert.equal(asset.headers['cache-control'], 'public, max-age=31536000, immutable');
        assert.equal(asset.headers['x-content-type-options'], 'nosniff');
        assert.match(
          String(asset.headers['content-type']),
          /^(?:text\/(?:javascript|css)|image\/svg)/,
        );
      }
      assert.deepEqual(String(headers['content-security-policy']).split('; '), [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
      ]);
      assert.equal(headers['x-frame-options'], 'DENY');
      assert.equal(headers['cache-control'], 'no-store');
      assert.equal(headers['cross-origin-opener-policy'], 'same-origin');
      assert.doesNotMatch(
        text.replaceAll(/<script type="module"[^>]*><\/script>/g, ''),
        /<script|\son\w+=|<style/,
      );
    }
  });

  test('a page at an address is sent to the name of the pages, with its path and query', async () => {
    const service = await testService();
    for (const host of ['127.0.0.1', '[::1]']) {
      const { status, headers } = await service.ask('GET', `${APPROVAL}?a=b`, {
        headers: { host },
      });
      assert.deepEqual([status, headers.location], [303, `${PAGES}${APPROVAL}?a=b`], host);
    }
  });

  test('no path leads out of the files of the page', async () => {
    const service = await testService();
    const names = [
      '..%2findex.html',
      '..%2f..%2fhttp%2fserver.js',
      '__proto__',
      'constructor',
      'none.js',
      '%00',
    ];
    for (const name of names) {
      const { status, body } = await service.ask('GET', `/console/assets/${name}`, {
        headers: { host: 'localhost' },
      });
      assert.deepEqual([status, body.failure.type], [404, 'not_found'], name);
    }
  });

  test('the verifier is given as a file to keep, not as a page of this origin', async () => {
    const service = await testService();
    const { status, headers, text } = await service.ask('GET', '/console/verify.html');

    assert.equal(status, 200);
    assert.equal(headers['content-disposition'], 'attachment; filename="verify.html"');
    assert.equal(headers['content-security-policy'], "sandbox; default-src 'none'");
    assert.match(text ?? '', /^<!doctype html>/);
  });

  test('other methods on a page are refused and name the one it takes', async () => {
    const service = await testService();
    for (const method of ['POST', 'DELETE', 'OPTIONS']) {
      const { status, headers } = await service.ask(method, '/console/', {
        headers: { host: 'localhost' },
      });
      assert.deepEqual([status, headers.allow], [405, 'GET, HEAD'], method);
    }
  });

  test('a service where no person can sign in has no console, and its failures have no link to it', async () => {
    const identities = [
      { key: 'agent-key-0123456789', principal: 'agent:a', scopes: ['travel.*'] },
    ];
    const service = await testService({ settings: { identities } });
    for (const path of ['/console', '/console/', APPROVAL, '/console/verify.html']) {
      assert.equal((await service.ask('GET', path)).status, 404, path);
    }
    assert.equal((await service.ask('POST', '/console/api/me', { body: {} })).status, 404);
    const { text = '' } = await service.ask('GET', '/', { headers: { accept: 'text/html' } });
    assert.doesNotMatch(text, /href="[^"]*console/);
  });

  test('the front page links to the console where it is offered', async () => {
    const service = await testService();
    const { text = '' } = await service.ask('GET', '/', { headers: { accept: 'text/html' } });
    assert.match(text, /<a class="button act" href="\.\/console\/">/);
  });
});

describe('the API', () => {
  test('answers our page with what the person of the session may see', async () => {
    const service = await testService();
    const { api } = await visitor(service);

    const { status, body, headers } = await api('me');

    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.principal, 'human:alice@example.com');
    assert.equal(headers['cache-control'], 'no-store');
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.equal(headers['cross-origin-resource-policy'], 'same-origin');
  });

  test('takes no request that is not from our page', async () => {
    const service = await testService();
    const { api, csrf } = await visitor(service);
    const other = await visitor(service, BOB);
    const attempts: [what: string, headers: Readonly<Record<string, string | undefined>>][] = [
      ['no Origin', { origin: undefined }],
      ['the Origin of another site', { origin: 'https://evil.example' }],
      ['an opaque Origin', { origin: 'null' }],
      ['the Origin of another port', { origin: 'http://localhost:8080' }],
      ['the Origin of the address', { origin: 'http://127.0.0.1' }],
      ['another scheme', { origin: 'https://localhost' }],
      ['a page of the same site', { 'sec-fetch-site': 'same-site' }],
      ['a page of another site', { 'sec-fetch-site': 'cross-site' }],
      ['a name that leads here', { host: 'evil.example', origin: 'http://evil.example' }],
      ['no proof', { 'x-writ-csrf': undefined }],
      ['an empty proof', { 'x-writ-csrf': '' }],
      ['a cut proof', { 'x-writ-csrf': csrf.slice(1) }],
      ['the proof of another session', { 'x-writ-csrf': other.csrf }],
      ['the cookie of another session', { cookie: cookieLine(other.person) }],
    ];
    for (const [what, headers] of attempts) {
      const reply = await api('me', {}, headers);
      assert.deepEqual([reply.status, reply.body.failure?.type], [403, 'not_entitled'], what);
    }
    assert.equal((await api('me')).status, 200);
  });

  test('a form of a sign-in page does not prove a request of the console', async () => {
    const service = await testService();
    const { person, api } = await visitor(service);
    const { text = '' } = await person.open('/agents');
    const ofForm = /name="csrf" value="([^"]+)"/.exec(text)?.[1];

    assert.ok(ofForm);
    assertRefused(await api('me', {}, { 'x-writ-csrf': ofForm }), 403, 'not_entitled');
  });

  test('says so when the session is over', async () => {
    const service = await testService();
    const { person, api } = await visitor(service);
    assertRefused(await api('me', {}, { cookie: undefined }), 401, 'authentication_required');
    const before = cookieLine(person);
    await person.send(await person.open('/agents'), '/sign-out', {});

    assertRefused(await api('me', {}, { cookie: before }), 401, 'authentication_required');
  });

  test('takes nothing but JSON, within the limit of a body', async () => {
    const service = await testService();
    const { api } = await visitor(service);
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    assertRefused(await api('me', 'a=b', form), 415, 'unsupported_media_type');
    assertRefused(
      await api('me', '{}', { 'content-type': 'text/plain' }),
      415,
      'unsupported_media_type',
    );
    for (const body of ['{', '[]', '"a"', 'null', '{"a":1,"a":2}', '{"__proto__":{}}']) {
      assertRefused(await api('me', body), 400, 'invalid_parameters');
    }
    assertRefused(await api('me', `{"a":"${'x'.repeat(10_000_000)}"}`), 413, 'request_too_large');
  });

  test('has no other method, and none that makes a token or runs a capability', async () => {
    const service = await testService();
    const { api } = await visitor(service);
    const names = [
      'invoke',
      'test',
      'tokens.issue',
      'permissions',
      '__proto__',
      'constructor',
      'toString',
      'none',
      'me%2f',
      '%00',
    ];
    for (const name of names) {
      assertRefused(await api(name, { parameters: {} }), 404, 'not_found');
    }
    assert.equal((await api('')).status, 404);
    assert.equal((await service.ask('GET', '/console/api/me')).status, 405);
  });

  test('asks operations with the authority of the person', async () => {
    const service = await testService();
    const { token_id } = await service.issue(ALICE, { scope: ['travel.read'] });
    const alice = await visitor(service);
    const bob = await visitor(service, BOB);

    assert.equal((await alice.api('tokens.get', { token_id })).status, 200);
    assert.notEqual((await bob.api('tokens.get', { token_id })).status, 200);
    assert.equal((await alice.api('operator.frozen')).status, 403);
  });

  test('a credential beside the cookie counts for nothing', async () => {
    const service = await testService();
    const { api } = await visitor(service);
    for (const key of [BOB, AGENT, 'unknown']) {
      const { status, body } = await api('me', {}, { authorization: `Bearer ${key}` });
      assert.deepEqual([status, body.principal], [200, 'human:alice@example.com']);
    }
    const alone = { cookie: undefined, authorization: `Bearer ${BOB}` };
    assertRefused(await api('me', {}, alone), 401, 'authentication_required');
  });

  test('the cookie counts for nothing at the operations and at MCP', async () => {
    const service = await testService();
    const { person, csrf } = await visitor(service);
    const headers = {
      host: 'localhost',
      origin: PAGES,
      cookie: cookieLine(person),
      'x-writ-csrf': csrf,
      accept: 'application/json, text/event-stream',
    };
    for (const path of [
      '/svc/tokens',
      '/svc/permissions',
      '/svc/audit',
      '/svc/invoke/search_flights',
      '/mcp',
    ]) {
      const { status } = await service.ask('POST', path, { body: {}, headers });
      assert.equal(status, 401, path);
    }
  });

  test('counts a person by the limit of principals, and strangers by that of addresses', async () => {
    const service = await testService({ settings: { principal_rate: '3/PT1H' } });
    const { api } = await visitor(service);
    const statuses: number[] = [];
    for (let n = 0; n < 5; n += 1) statuses.push((await api('pulse')).status);
    assert.deepEqual([statuses[0], statuses.at(-1)], [200, 429]);

    const strict = await testService({ settings: { address_rate: '2/PT1H' } });
    const asked = () => strict.ask('POST', '/console/api/me', { body: {} });
    await asked();
    await asked();
    assertRefused(await asked(), 429, 'rate_limited');
  });

  test('admits no page of another origin, whatever the configuration admits elsewhere', async () => {
    for (const admitted of ['https://shop.example', '*']) {
      const service = await testService({ settings: { cors_origins: [admitted] } });
      const { api } = await visitor(service);
      const origin = 'https://shop.example';
      const preflight = await service.ask('OPTIONS', '/console/api/me', {
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'x-writ-csrf',
        },
      });
      const asked = await api('me', {}, { origin });
      const page = await service.ask('GET', '/console/', {
        headers: { host: 'localhost', origin },
      });
      const open = await service.ask('GET', '/.well-known/svc', { headers: { origin } });

      assert.equal(preflight.status, 405);
      assertRefused(asked, 403, 'not_entitled');
      for (const { headers } of [asked, page]) {
        assert.equal(headers['access-control-allow-origin'], undefined);
      }
      assert.equal(preflight.headers['access-control-allow-headers'], undefined);
      assert.ok(open.headers['access-control-allow-origin']);
    }
  });
});
