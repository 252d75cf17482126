/**
 * The app's own authentication as a hook: when it is asked, what its principals may do, and which requests of
 * a browser never reach it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import express from 'express';
import { describe, test } from 'vitest';
import type { AppRequest } from '../../src/index.ts';
import { atEnd } from '../support/ends.ts';
import { ALICE } from '../support/world.ts';
import { listened, type MountedDesk, mountDesk, ORIGIN, requestOf, toldBy } from './desk.ts';

async function opened(...options: Parameters<typeof mountDesk>): Promise<MountedDesk> {
  const desk = await mountDesk(...options);
  atEnd(desk.close);
  return desk;
}

const COOKIE = 'session=of-ann';

/** Knows one session, and keeps what it was asked. */
function sessions() {
  const asked: AppRequest[] = [];
  const identify = (request: AppRequest) => {
    asked.push(request);
    return request.headers.cookie === COOKIE ? 'human:ann@shop.example' : null;
  };
  return { asked, identify };
}

const ISSUE = { scope: ['travel.search'], subject: 'agent:helper' };

describe('identify()', () => {
  test('makes the principal of a session the root of a token, by the entitlements', async () => {
    const { asked, identify } = sessions();
    const desk = await opened({ identify });
    const signedIn = { body: ISSUE, headers: { cookie: COOKIE } };
    const issued = await desk.ask('POST', '/svc/tokens', signedIn);

    assert.equal(issued.status, 200, JSON.stringify(issued.body));
    const view = await desk.ask('GET', `/svc/tokens/${issued.body.token_id}`, {
      headers: { cookie: COOKIE },
    });
    assert.equal(view.body.root_principal, 'human:ann@shop.example');
    const beyond = { ...ISSUE, scope: ['operator:freeze'] };
    const refused = await desk.ask('POST', '/svc/tokens', { ...signedIn, body: beyond });
    assert.equal(refused.status, 403);
    assert.equal(asked[0]?.method, 'POST');
    assert.equal(asked[0]?.path, '/desk/svc/tokens');
    assert.ok(asked[0]?.raw instanceof Request);
  });

  test('gets the request of node:http from the listener', async () => {
    const { asked, identify } = sessions();
    const desk = await opened({ identify });
    const { url, end } = await listened(express().use('/desk', desk.listener));
    atEnd(end);
    const asking = requestOf('POST', `${url}/desk/svc/tokens?a=b`, {
      body: ISSUE,
      headers: { cookie: COOKIE },
    });

    assert.equal((await fetch(asking)).status, 200);
    assert.equal(asked[0]?.path, '/desk/svc/tokens');
    assert.ok(asked[0]?.raw instanceof IncomingMessage);
  });

  test('gets the whole path where the framework removed the prefix', async () => {
    const { asked, identify } = sessions();
    const desk = await opened({ identify });
    const without = requestOf('POST', `${ORIGIN}/svc/tokens?a=b`, {
      body: ISSUE,
      headers: { cookie: COOKIE },
    });

    assert.equal((await desk.fetch(without)).status, 200);
    assert.equal(asked[0]?.path, '/desk/svc/tokens');
  });

  test('is not asked about a caller that presents a credential, right or wrong', async () => {
    const { asked, identify } = sessions();
    const desk = await opened({ identify });
    const headers = { cookie: COOKIE };

    const known = await desk.ask('POST', '/svc/tokens', { bearer: ALICE, body: ISSUE, headers });
    const wrong = await desk.ask('POST', '/svc/tokens', { bearer: 'no-key', body: ISSUE, headers });
    const other = { body: ISSUE, headers: { cookie: COOKIE, authorization: 'Basic YTpi' } };
    const basic = await desk.ask('POST', '/svc/tokens', other);
    assert.deepEqual([known.status, wrong.status, basic.status], [200, 401, 401]);
    assert.deepEqual(asked, []);
  });

  test('is never asked for operations that need a delegation token, nor for MCP', async () => {
    const { asked, identify } = sessions();
    const desk = await opened({ identify });
    const headers = { cookie: COOKIE };
    const call = { body: { parameters: {} }, headers };
    const message = { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' }, headers };

    for (const [path, asking] of [
      ['/svc/invoke/search_flights', call],
      ['/svc/test/search_flights', call],
      ['/svc/permissions', { headers }],
      ['/mcp', message],
    ] as const) {
      const { status, body } = await desk.ask('POST', path, asking);
      assert.equal(status, 401, path);
      assert.equal(body.failure.type, 'authentication_required', path);
    }
    assert.deepEqual(asked, []);
  });

  test('that knows nobody leaves the request without a caller', async () => {
    const desk = await opened({ identify: async () => null });
    const { status, body } = await desk.ask('POST', '/svc/tokens', { body: ISSUE });

    assert.equal(status, 401);
    assert.equal(body.failure.type, 'authentication_required');
  });

  const broken: [name: string, identify: () => never][] = [
    [
      'throws',
      () => {
        throw new Error('secret text');
      },
    ],
    ['rejects', () => Promise.reject(new Error('secret text')) as never],
    ['returns something else', () => ({ secret: 'secret text' }) as never],
    ['returns no principal', () => 'secret text' as never],
  ];
  for (const [name, identify] of broken) {
    test(`that ${name} is a structured failure without its text`, async () => {
      const desk = await opened({ identify });
      const { body } = await desk.ask('POST', '/svc/tokens', { body: ISSUE });

      assert.equal(body.failure.type, 'service_unavailable');
      assert.doesNotMatch(JSON.stringify(body), /secret text/);
      assert.doesNotMatch(desk.lines.join(''), /secret text/);
    });
  }

  test('callers that it knows do not use up the allowance of strangers', async () => {
    const { identify } = sessions();
    const desk = await opened({ identify, settings: { address_rate: '3/PT1M' } });
    for (let i = 0; i < 6; i++) {
      const { status } = await desk.ask('POST', '/svc/audit', { headers: { cookie: COOKIE } });
      assert.equal(status, 200);
    }

    assert.equal((await desk.ask('GET', '/svc/manifest')).status, 200);
  });
});

describe('a request that a browser sends for a page of another site is not passed to identify()', () => {
  const foreign: Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://127.0.0.1:4000' },
    { origin: 'https://127.0.0.1:3000' },
    { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
  ];
  for (const headers of foreign) {
    test(JSON.stringify(headers), async () => {
      const { asked, identify } = sessions();
      const desk = await opened({ identify, cors: { origins: ['https://evil.example'] } });
      const reply = await desk.ask('POST', '/svc/tokens', {
        body: ISSUE,
        headers: { cookie: COOKIE, ...headers },
      });

      assert.equal(reply.status, 401);
      assert.equal(reply.body.failure.type, 'authentication_required');
      assert.deepEqual(asked, []);
    });
  }

  const own: Record<string, string>[] = [
    { origin: ORIGIN },
    { 'sec-fetch-site': 'same-origin', origin: ORIGIN },
    { 'sec-fetch-site': 'none' },
  ];
  for (const headers of own) {
    test(`but ${JSON.stringify(headers)} is`, async () => {
      const desk = await opened({ identify: sessions().identify });
      const reply = await desk.ask('POST', '/svc/tokens', {
        body: ISSUE,
        headers: { cookie: COOKIE, ...headers },
      });

      assert.equal(reply.status, 200);
    });
  }

  test('without a public address the own origin is the loopback Host of the request', async () => {
    const settings = { public_url: undefined, identities: [] };
    const desk = await opened({ identify: sessions().identify, settings });
    const from = async (origin: string) => {
      const asked = { body: ISSUE, headers: { cookie: COOKIE, origin } };
      const url = 'http://localhost:3000/desk/svc/tokens';
      return (await toldBy(await desk.fetch(requestOf('POST', url, asked)))).status;
    };

    assert.equal(await from('http://localhost:3000'), 200);
    assert.equal(await from('http://localhost:4000'), 401);
  });

  test('on this machine a page calls from the name that the pages have', async () => {
    const settings = { public_url: 'http://127.0.0.1:3000/desk', identities: [] };
    const desk = await opened({ identify: sessions().identify, settings });
    const from = async (origin: string) => {
      const asked = { body: ISSUE, headers: { cookie: COOKIE, origin } };
      const url = 'http://localhost:3000/desk/svc/tokens';
      return (await toldBy(await desk.fetch(requestOf('POST', url, asked)))).status;
    };

    assert.equal(await from('http://localhost:3000'), 200);
    assert.equal(await from('http://127.0.0.1:3000'), 200);
    assert.equal(await from('http://localhost:4000'), 401);
    assert.equal(await from('https://evil.example'), 401);
  });
});
