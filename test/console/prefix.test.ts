/**
 * The console below a path: of a proxy that removes it, and of an app that the service is mounted in.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { mountDesk, PREFIX, PUBLIC_URL, requestOf } from '../mounted/desk.ts';
import { PAGES, personAt } from '../sign-in/browser.ts';
import { atEnd } from '../support/ends.ts';
import { ALICE, type TestService, testService } from '../support/world.ts';

test('behind a proxy with a path, every address of the console has the path', async () => {
  const public_url = `http://127.0.0.1${PREFIX}`;
  const service = await testService({ settings: { public_url }, baseUrl: () => public_url });
  const proxy: Pick<TestService, 'ask'> = {
    ask: (method, path, options) => service.ask(method, path.slice(PREFIX.length), options),
  };
  const person = personAt(proxy);

  const sent = await person.open(`${PREFIX}/console/trust`);
  const form = await person.open(String(sent.headers.location));
  const signedIn = await person.send(form, `${PREFIX}/sign-in`, { key: ALICE });
  const { text = '' } = await person.open(String(signedIn.headers.location));

  assert.equal(signedIn.headers.location, `${PREFIX}/console/trust`);
  assert.match(text, new RegExp(`<meta name="writ-base" content="${PREFIX}">`));
  const script = /<script[^>]* src="([^"]+)"/.exec(text)?.[1] ?? '';
  assert.match(script, new RegExp(`^${PREFIX}/console/assets/`));
  assert.equal((await person.open(script)).status, 200);
  const start = await person.open(`${PREFIX}/console`);
  assert.equal(start.headers.location, `${PREFIX}/console/`);
  const { status, body } = await proxy.ask('POST', `${PREFIX}/console/api/me`, {
    body: {},
    headers: {
      host: 'localhost',
      origin: PAGES,
      cookie: [...person.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      'x-writ-csrf': /<meta name="writ-csrf" content="([^"]+)">/.exec(text)?.[1] ?? '',
    },
  });
  assert.deepEqual([status, body.principal], [200, 'human:alice@example.com']);
});

test('a mounted service has the console below its prefix', async () => {
  const oidc = [
    {
      issuer: 'https://login.example',
      audience: 'desk',
      sign_in: { client_id: 'desk', label: 'Example' },
    },
  ];
  const desk = await mountDesk({ settings: { oidc } });
  atEnd(desk.close);
  const pages = PUBLIC_URL.replace('127.0.0.1', 'localhost');
  const open = (path: string) => desk.fetch(requestOf('GET', `${pages}${path}`));

  const page = await open('/console/approvals/apr_1');
  const asked = await desk.fetch(requestOf('POST', `${pages}/console/api/me`, { body: {} }));
  const front = await desk.fetch(
    requestOf('GET', `${PUBLIC_URL}/`, { headers: { accept: 'text/html' } }),
  );

  const query = new URLSearchParams({ return_to: '/console/approvals/apr_1' });
  assert.equal(page.headers.get('location'), `${PREFIX}/sign-in?${query}`);
  assert.equal(asked.status, 403);
  assert.match(await front.text(), new RegExp(`<a class="button act" href="${PREFIX}/console/">`));
});
