/**
 * Documents of clients that lead inside, never end or lie, and what a stranger can make the service hold or
 * call.
 */

import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { SQL_PLACES } from '../support/sql-places.ts';
import { testService } from '../support/world.ts';
import { assertShown, get, post, refresh, signedIn } from './attacker.ts';
import { asking, askToken, personAt, REDIRECT } from './browser.ts';
import { selfSigned } from './certificate.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** What the host of documents answers; `asked` are the paths that reached it. */
let answer: Answer = (_, response) => response.end();
let asked: string[] = [];
let origin = '';
const server = createServer((request, response) => {
  asked.push(request.url ?? '');
  answer(request, response);
});

beforeAll(async () => {
  server.setSecureContext(selfSigned());
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  origin = `https://localhost:${(server.address() as AddressInfo).port}`;
  // The certificate of the host is its own. Only the tests of this file see the variable.
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
});
afterAll(() => {
  delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  server.closeAllConnections();
  server.close();
});

/** `inside` admits the host of the documents, which is on this machine. */
const start = (inside = true, more: object = {}) =>
  testService({
    settings: {
      rate_limits: 'off',
      sign_in: { ...(inside && { inside_hosts: ['localhost'] }), ...more },
    },
  });

const documentOf = (client_id: string, more: object = {}) =>
  JSON.stringify({ client_id, client_name: 'Document', redirect_uris: [REDIRECT], ...more });

function answering(text: (clientId: string) => string, status = 200): Answer {
  return (request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(text(`${origin}${request.url}`));
  };
}

test('the document of a client is read once the person has signed in, and its name is a claim', async () => {
  const service = await start();
  answer = answering((id) => documentOf(id));
  asked = [];
  const client_id = `${origin}/good.json`;
  const { path } = asking({ client_id });
  assert.equal((await get(service, path)).status, 303);
  assert.deepEqual(asked, [], 'read for a stranger');
  const alice = await signedIn(service);

  const page = await alice.open(path);
  assert.equal(page.status, 200, page.text);
  assert.match(page.text ?? '', /Not verified/);
  await alice.open(path);
  assert.deepEqual(asked, ['/good.json']);
});

describe('no document is taken', () => {
  const cases: [name: string, answer: Answer][] = [
    ['with another client_id', answering(() => documentOf('https://honest.example/c.json'))],
    ['with its client_id in another case', answering((id) => documentOf(id.toUpperCase()))],
    ['without a client_id', answering(() => JSON.stringify({ redirect_uris: [REDIRECT] }))],
    ['with a secret', answering((id) => documentOf(id, { client_secret: 'x' }))],
    [
      'with another way to authenticate',
      answering((id) => documentOf(id, { token_endpoint_auth_method: 'client_secret_post' })),
    ],
    ['without redirects', answering((id) => documentOf(id, { redirect_uris: [] }))],
    ['with a list instead of an object', answering(() => '[]')],
    ['that is no JSON', answering(() => '<html>')],
    ['with a member twice', answering((id) => documentOf(id).replace('{', '{"client_id":"x",'))],
    ['that is nested without end', answering(() => '['.repeat(50_000))],
    ['of 10 MB', answering((id) => documentOf(id, { x: 'x'.repeat(10_000_000) }))],
    ['that is not found', answering((id) => documentOf(id), 404)],
    [
      'through a redirect',
      (_, response) => {
        response.writeHead(302, { location: `${origin}/good.json` });
        response.end();
      },
    ],
    ['of a host that hangs up', (_, response) => void response.destroy()],
    [
      'that never ends',
      (_, response) => {
        response.writeHead(200);
        const timer = setInterval(() => response.write('x'.repeat(20_000)), 5);
        response.on('close', () => clearInterval(timer));
      },
    ],
  ];
  for (const [place, [name, given]] of cases.entries()) {
    test(name, async () => {
      const service = await start();
      const alice = await signedIn(service);
      answer = given;
      asked = [];

      const client_id = `${origin}/case-${place}.json`;
      assertShown(await alice.open(asking({ client_id }).path));
      assert.deepEqual(asked, [`/case-${place}.json`], 'exactly one request, and none elsewhere');
    });
  }

  test('of an address inside, or a name that leads inside', async () => {
    const service = await start(false);
    const alice = await signedIn(service);
    asked = [];
    const { port } = new URL(origin);
    for (const host of [
      'localhost',
      '127.0.0.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '0.0.0.0',
      '169.254.169.254',
      '10.0.0.1',
    ]) {
      const page = await alice.open(asking({ client_id: `https://${host}:${port}/c.json` }).path);
      assertShown(page, host);
      assert.doesNotMatch(
        page.text ?? '',
        /ECONN|inside address|resolves/,
        'says nothing about the network',
      );
    }
    assert.deepEqual(asked, []);
  });

  test('whose address is written in an unusual form', async () => {
    const service = await start();
    const alice = await signedIn(service);
    asked = [];
    for (const client_id of [
      `${origin}`,
      `${origin}/`,
      `${origin}/a/../good.json`,
      `${origin}/a/%2e%2e/good.json`,
      `${origin}/good.json#x`,
      origin.replace('https://', 'https://user@').concat('/good.json'),
      origin.replace('https:', 'http:').concat('/good.json'),
      origin.replace('localhost', 'LOCALHOST').concat('/good.json'),
      origin.replace('localhost', '2130706433').concat('/good.json'),
      'file:///etc/passwd',
      `${origin}/${'x'.repeat(2_100)}`,
    ]) {
      assertShown(await alice.open(asking({ client_id }).path), client_id);
    }
    assert.deepEqual(asked, []);
  });

  test('of a host that the configuration does not list', async () => {
    const service = await start(true, { metadata_hosts: ['honest.example'] });
    const alice = await signedIn(service);
    asked = [];
    assertShown(await alice.open(asking({ client_id: `${origin}/good.json` }).path));
    assert.deepEqual(asked, []);
  });
});

test('slow documents do not pile up: a few are read at a time', async () => {
  const service = await start();
  const alice = await signedIn(service);
  let [open, most] = [0, 0];
  answer = (request, response) => {
    open += 1;
    most = Math.max(most, open);
    response.on('close', () => {
      open -= 1;
    });
    setTimeout(() => response.end(documentOf(`${origin}${request.url}`)), 100);
  };
  const pages = await Promise.all(
    Array.from({ length: 40 }, (_, n) => alice.open(asking({ client_id: `${origin}/${n}` }).path)),
  );

  assert.ok(most <= 4, `${most} at a time`);
  assert.ok(pages.some(({ status }) => status === 200));
  for (const page of pages.filter(({ status }) => status !== 200)) assertShown(page);
});

test('of many documents a bounded number is remembered', async () => {
  const service = await start();
  const alice = await signedIn(service);
  answer = answering((id) => documentOf(id));
  const look = (n: number) => alice.open(asking({ client_id: `${origin}/many-${n}` }).path);
  for (let n = 0; n < 300; n++) assert.equal((await look(n)).status, 200);
  asked = [];
  await look(299);
  assert.deepEqual(asked, []);
  await look(0);
  assert.deepEqual(asked, ['/many-0']);
});

test('a document that changed its redirects is not believed from memory for long', async () => {
  const service = await start();
  const alice = await signedIn(service);
  const client_id = `${origin}/changing.json`;
  answer = answering((id) => documentOf(id));
  assert.equal((await alice.open(asking({ client_id }).path)).status, 200);
  answer = answering((id) => documentOf(id, { redirect_uris: ['https://new.example/cb'] }));
  const redirect_uri = 'https://new.example/cb';
  assertShown(await alice.open(asking({ client_id, redirect_uri }).path));
});

for (const { name, open } of SQL_PLACES) {
  test(`a stranger makes the service store nothing and call no one (${name})`, async () => {
    const place = await open();
    const service = await testService({
      store: place.url,
      settings: {
        rate_limits: 'off',
        sign_in: { inside_hosts: ['localhost'], registration: 'on' },
      },
    });
    const tables = ['sessions', 'accounts', 'consents', 'tokens', 'budgets'];
    const counts = async () => {
      const rows: number[] = [];
      for (const table of tables) rows.push(await place.count(table));
      return [...rows, (await service.store.sequence()).size];
    };
    const before = await counts();
    asked = [];
    const stranger = personAt(service);
    for (let n = 0; n < 20; n++) {
      await stranger.open(asking({ client_id: `${origin}/${n}` }).path);
      await stranger.open('/sign-in');
      await stranger.signIn(`guess-${n}`);
      await stranger.open(`/sign-in/callback?code=${n}&state=${n}`);
      await post(service, '/sign-in/logout', { logout_token: `a.b.${n}` });
      await askToken(service, { grant_type: 'authorization_code', code: 'A'.repeat(43) });
      await refresh(service, `wrf.con_${'0'.repeat(32)}.${n}.a.b`);
      await askToken(service, { token: `${n}` }, '/revoke');
      await post(service, '/sign-out', {});
      const registered = await service.ask('POST', '/register', {
        body: { redirect_uris: [REDIRECT], client_name: `${n}` },
        headers: { host: 'localhost' },
      });
      assert.equal(registered.status, 201);
    }

    assert.deepEqual(await counts(), before);
    assert.deepEqual(asked, []);
  });
}

test('registration does not exist unless it is configured', async () => {
  const service = await start();
  const reply = await service.ask('POST', '/register', { body: { redirect_uris: [REDIRECT] } });
  assert.equal(reply.status, 404);
  const metadata = await get(service, '/.well-known/oauth-authorization-server');
  assert.equal(metadata.body.registration_endpoint, undefined);
});
