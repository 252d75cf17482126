/**
 * The address itself: what a browser, a program and a cache get at `/`.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'vitest';
import { frontPage } from '../../src/http/front-page.ts';
import type { Discovery } from '../../src/protocol/trust.ts';
import { testService } from '../support/world.ts';
import { exchanged, listening, replyIn } from './socket.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

const service = await testService();
const port = await listening(service);

/** What came over the socket, without what differs from request to request. */
async function fetched(path: string, headers: Record<string, string> = {}, method = 'GET') {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `${method} ${path} HTTP/1.1\r\nhost: desk\r\nconnection: close\r\n${lines.join('')}\r\n`;
  const { status, headers: got, body } = replyIn(await exchanged(port, head));
  const { date: _, 'x-request-id': __, ...kept } = Object.fromEntries(got);
  return { status, headers: kept, body };
}

test('GET / answers a browser with a page that may load nothing', async () => {
  const { status, headers, body } = await fetched('/', { accept: BROWSER });

  assert.equal(status, 200);
  assert.equal(headers['content-type'], 'text/html; charset=utf-8');
  assert.equal(headers['cache-control'], 'public, max-age=300');
  assert.equal(headers.vary, 'Accept');
  assert.equal(headers['x-content-type-options'], 'nosniff');
  const style = /<style>([\s\S]*?)<\/style>/.exec(body)?.[1] ?? '';
  const hash = createHash('sha256').update(style).digest('base64');
  assert.equal(
    headers['content-security-policy'],
    `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
  assert.match(body, /<h1>travel-desk<\/h1>/);
  assert.doesNotMatch(body, /<script| style=| on\w+=/i);
});

test('every link of the page leads to a document that anyone may read, or to sign-in', async () => {
  const { body } = await fetched('/', { accept: BROWSER });
  const links = [...body.matchAll(/href="([^"]+)"/g)].map(([, link = '']) => link);

  assert.ok(links.includes('./docs') && links.includes('./.well-known/svc'), links.join(' '));
  for (const link of links) {
    const { pathname } = new URL(link, 'http://desk/');
    const { status, headers } = await fetched(pathname);
    assert.equal(status, pathname === '/console/' ? 303 : 200, pathname);
    if (status === 303) assert.match(headers.location ?? '', /^\/sign-in\?return_to=/);
  }
});

for (const accept of [undefined, '*/*', 'application/json']) {
  test(`GET / answers a program that accepts ${accept} like discovery`, async () => {
    const headers: Record<string, string> = accept === undefined ? {} : { accept };
    const discovery = await fetched('/.well-known/svc', headers);
    const front = await fetched('/', headers);

    assert.deepEqual(front, { ...discovery, headers: { ...discovery.headers, vary: 'Accept' } });
  });
}

for (const path of ['/svc/manifest', '/healthz', '/docs', '/svc/agents', '/sign-in?return_to=/']) {
  test(`HEAD ${path} answers like GET without the body`, async () => {
    const cookie = { 'set-cookie': undefined };
    const got = await fetched(path, { host: 'localhost' });
    const head = await fetched(path, { host: 'localhost' }, 'HEAD');

    const headers = { ...got.headers, ...cookie };
    assert.deepEqual(
      { ...head, headers: { ...head.headers, ...cookie } },
      { ...got, headers, body: '' },
    );
    assert.equal(Number(head.headers['content-length']), Buffer.byteLength(got.body));
  });
}

for (const accept of [BROWSER, 'application/json']) {
  test(`HEAD / answers like GET without the body, to ${accept}`, async () => {
    const got = await fetched('/', { accept });
    const head = await fetched('/', { accept }, 'HEAD');

    assert.deepEqual(head, { ...got, body: '' });
    assert.equal(Number(head.headers['content-length']), Buffer.byteLength(got.body));
  });

  test(`GET / answers 304 only to its own tag, to ${accept}`, async () => {
    const own = await fetched('/', { accept });
    const other = await fetched('/', { accept: accept === BROWSER ? '*/*' : BROWSER });
    const { etag: tag = '' } = own.headers;

    const same = await fetched('/', { accept, 'if-none-match': tag });
    const changed = await fetched('/', { accept, 'if-none-match': other.headers.etag ?? '' });

    assert.deepEqual([same.status, same.body], [304, '']);
    assert.deepEqual([same.headers.etag, same.headers.vary], [tag, 'Accept']);
    assert.equal(changed.status, 200);
  });
}

describe('a public service without a way to sign in', async () => {
  const settings = { public_url: 'http://desk.example.com', identities: [] };
  const open = await testService({ settings });
  const get = (path: string, accept?: string) =>
    open.ask('GET', path, { headers: accept === undefined ? {} : { accept } });
  const words = /People cannot sign in here, so there is no console\./;
  const advice = /set public_url to an https address .*writ people invite/;

  test('the start logs in one line what to configure', () => {
    const lines = open.log.filter((line) => line.includes('people cannot sign in'));

    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', advice);
  });

  for (const path of ['/console', '/console/', '/console/approvals/apr_1', '/sign-in', '/agents']) {
    test(`GET ${path} answers a browser with words, and a program with a failure`, async () => {
      const page = await get(path, BROWSER);
      const failure = await get(path);

      assert.equal(page.status, 404);
      assert.match(String(page.headers['content-type']), /^text\/html/);
      assert.match(String(page.headers['content-security-policy']), /^default-src 'none'/);
      assert.match(page.text ?? '', words);
      assert.match(page.text ?? '', advice);
      assert.equal(failure.status, 404);
      assert.equal(failure.body.failure.type, 'not_found');
    });
  }

  test('GET / says so on the page, and links no page that is missing', async () => {
    const { status, text = '' } = await get('/', BROWSER);

    assert.equal(status, 200);
    assert.match(text, words);
    assert.doesNotMatch(text, /href="[^"]*(?:sign-in|console)/);
  });

  test('an address that is no page for people answers a browser as before', async () => {
    const { status, headers } = await get('/consoles', BROWSER);

    assert.equal(status, 404);
    assert.match(String(headers['content-type']), /^application\/json/);
  });
});

test('frontPage() escapes every text of the service', () => {
  const hostile = `"><script>alert('&')</script>`;
  const page = frontPage({
    service_id: hostile,
    protocol: hostile,
    endpoints: { discovery: '/.well-known/svc' },
    capabilities: {},
    surfaces: { [hostile]: hostile },
  } as unknown as Discovery);

  assert.doesNotMatch(page, /<script|"">/);
  assert.equal(page.split('&lt;script&gt;').length - 1, 5);
});
