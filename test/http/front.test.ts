/**
 * The address itself: what a browser, a program and a cache get at `/`.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'vitest';
import { frontPage } from '../../src/http/page/front-page.ts';
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
  assert.equal(headers['cache-control'], 'no-cache', 'what it says of readiness is of now');
  assert.equal(headers.vary, 'Accept');
  assert.equal(headers['x-content-type-options'], 'nosniff');
  const style = /<style>([\s\S]*?)<\/style>/.exec(body)?.[1] ?? '';
  const hash = createHash('sha256').update(style).digest('base64');
  assert.equal(
    headers['content-security-policy'],
    `default-src 'none'; style-src 'sha256-${hash}'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
  assert.match(body, /<h1 class="ask">travel-desk<\/h1>/);
  assert.match(body, /<\/svg> Ready<\/span>/);
  assert.doesNotMatch(body, /<script| style=| on\w+=/i);
});

test('every link of the page leads to a document that anyone may read, or to sign-in', async () => {
  const { body } = await fetched('/', { accept: BROWSER });
  const links = [...body.matchAll(/href="([^"]+)"/g)].map(([, link = '']) => link);

  assert.ok(links.includes('./docs') && links.includes('./.well-known/svc'), links.join(' '));
  for (const link of links) {
    const { pathname } = new URL(link, 'http://desk/');
    const { status, headers } = await fetched(pathname);
    assert.equal(status, pathname.startsWith('/console/') ? 303 : 200, pathname);
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

  test('another address says that there is no page, and that the start page is the way on', async () => {
    const { status, text = '' } = await get('/consoles', BROWSER);

    assert.equal(status, 404);
    assert.match(text, /<h1><bdi>There is no page here<\/bdi><\/h1>/);
    assert.match(text, /<a class="button act" href="\/"><bdi>Start page of travel-desk/);
    assert.doesNotMatch(text, /href="[^"]*(?:sign-in|console)/);
  });
});

describe('what cannot be answered', () => {
  const ASKED: [method: string, path: string, status: number, words: RegExp][] = [
    ['GET', '/nowhere', 404, /There is no page here/],
    ['HEAD', '/nowhere', 404, /^$/],
    ['GET', '/svc/approval_requests/apr_1', 401, /This address is for programs/],
    ['GET', '/svc/permissions', 405, /This address is for programs/],
    ['GET', '/%ff', 400, /This page cannot be shown/],
    ['GET', '/console/assets/none.js', 404, /There is no page here/],
  ];
  for (const [method, path, status, words] of ASKED) {
    test(`${method} ${path} answers a browser with words, and a program as always`, async () => {
      const page = await fetched(path, { accept: BROWSER }, method);
      const programs = await Promise.all(
        [undefined, '*/*', 'application/json', 'text/plain', 'image/*'].map((accept) =>
          fetched(path, accept === undefined ? {} : { accept }, method),
        ),
      );

      assert.equal(page.status, status);
      assert.equal(page.headers['content-type'], 'text/html; charset=utf-8');
      assert.equal(page.headers['cache-control'], 'no-store');
      assert.match(page.headers['content-security-policy'] ?? '', /^default-src 'none'/);
      assert.match(page.body, words);
      assert.equal(page.headers.vary, 'Accept');
      for (const { headers, body, ...program } of programs) {
        assert.equal(program.status, status);
        assert.equal(headers['content-type'], 'application/json; charset=utf-8');
        if (method === 'GET') assert.equal(typeof JSON.parse(body).failure.detail, 'string');
        assert.equal(headers['www-authenticate'], page.headers['www-authenticate']);
        assert.equal(headers['cache-control'], 'no-store');
        if (!path.startsWith('/svc/')) assert.equal(headers.vary, 'Accept');
      }
    });
  }

  test('a program that accepts HTML and sends JSON gets a failure', async () => {
    const headers = { accept: BROWSER, 'content-type': 'application/json' };
    const { status, body } = await service.ask('POST', '/svc/permissions', { headers });

    assert.deepEqual([status, body.failure.type], [401, 'authentication_required']);
  });

  test('the page names the likely one, and the request under Evidence', async () => {
    const { headers, text = '' } = await service.ask('GET', '/console/aprovals/apr_1', {
      headers: { accept: BROWSER },
    });

    assert.match(text, /nothing at <code><bdi>\/console\/aprovals\/apr_1<\/bdi><\/code>/);
    assert.match(text, /Did you mean <a href="\/console\/approvals">/);
    assert.match(text, /<details class="evidence">.*404 <code>not_found<\/code>/s);
    assert.ok(text.includes(`<code>${headers['x-request-id']}</code>, 20`));
  });

  test('nothing that was asked for becomes markup or leads elsewhere, and no page grows with it', async () => {
    const usual = await fetched('/nowhere', { accept: BROWSER });
    const asked = [
      '/%3Cscript%3Ealert(1)%3C/script%3E',
      '/%22onload=%22x',
      '//evil.example/console',
      '/\\evil.example',
      '/%E2%80%AEevil',
      `/${'%3C'.repeat(2_000)}`,
    ];
    for (const path of asked) {
      const { body, headers } = await fetched(path, { accept: BROWSER });

      assert.equal(headers['content-type'], 'text/html; charset=utf-8', path);
      assert.doesNotMatch(body, /<script|"onload|\u202e|href="[^"]*evil/, path);
      assert.ok(body.length < usual.body.length + 3_000, `${body.length} characters for ${path}`);
    }
  });
});

test('a service that is not ready says so to people, with the reasons that its probe has', async () => {
  const stopped = await testService();
  stopped.runtime.unready = async () => ['store: "disk" is full <now>'];
  const { text = '' } = await stopped.ask('GET', '/', { headers: { accept: BROWSER } });

  assert.match(text, /Not ready<\/span>/);
  assert.match(text, /store: &quot;disk&quot; is full &lt;now&gt;/);
});

test('the front page says how an agent is connected, and what agents can do', async () => {
  const { text = '' } = await service.ask('GET', '/', { headers: { accept: BROWSER } });

  assert.match(text, /<code>http:\/\/127\.0\.0\.1[:\d]*\/mcp<\/code>/);
  assert.match(text, /<code>npx writ login --service http:\/\/127\.0\.0\.1[:\d]*<\/code>/);
  assert.match(text, /aria-label="Cannot be undone".*Book flight/s);
});

test('the icon of all pages loads nothing', async () => {
  const { status, headers, body } = await fetched('/favicon.svg');

  assert.deepEqual([status, headers['content-type']], [200, 'image/svg+xml']);
  assert.match(headers['content-security-policy'] ?? '', /^default-src 'none'/);
  assert.doesNotMatch(body, /href|url\(|<script/);
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
