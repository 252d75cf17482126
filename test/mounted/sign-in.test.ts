/**
 * Sign-in of a mounted service: where its metadata and pages are, and who may sign in there.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { atEnd } from '../support/ends.ts';
import { listened, mountDesk, ORIGIN, PREFIX, PUBLIC_URL, requestOf, toldBy } from './desk.ts';

const PROVIDER = {
  issuer: 'https://login.example',
  audience: 'desk',
  sign_in: { client_id: 'desk', label: 'Example' },
};

async function opened(settings: object) {
  const desk = await mountDesk({ settings });
  atEnd(desk.close);
  return desk;
}

test('a mounted service with a provider answers its metadata below the prefix and at the root of the app', async () => {
  const desk = await opened({ oidc: [PROVIDER] });
  const server = '/.well-known/oauth-authorization-server';
  const resource = '/.well-known/oauth-protected-resource';
  for (const [root, below] of [
    [`${server}${PREFIX}`, server],
    [`${resource}${PREFIX}`, resource],
    [`${resource}${PREFIX}/mcp`, `${resource}/mcp`],
  ] as const) {
    const told = await toldBy(await desk.fetch(requestOf('GET', `${ORIGIN}${root}`)));

    assert.equal(told.status, 200, root);
    assert.deepEqual(told.body, (await desk.ask('GET', below)).body);
  }
  const { body } = await desk.ask('GET', server);
  assert.equal(body.issuer, PUBLIC_URL);
  assert.equal(body.authorization_endpoint, `${PUBLIC_URL}/authorize`);
  const other = await desk.fetch(requestOf('GET', `${ORIGIN}${server}/desks`));
  assert.equal(other.status, 404);
});

test('a mounted service sends people to its own pages, with keys as long as only this machine reaches it', async () => {
  const desk = await opened({ oidc: [PROVIDER] });
  const pages = PUBLIC_URL.replace('127.0.0.1', 'localhost');
  const named = await desk.fetch(requestOf('GET', `${PUBLIC_URL}/agents?a=b`));
  assert.deepEqual([named.status, named.headers.get('location')], [303, `${pages}/agents?a=b`]);
  const agents = await desk.fetch(requestOf('GET', `${pages}/agents`));
  assert.equal(agents.status, 303);
  assert.match(agents.headers.get('location') ?? '', /^\/desk\/sign-in\?return_to=%2Fagents$/);
  const page = await desk.fetch(requestOf('GET', `${pages}/sign-in`));
  const html = await page.text();

  assert.match(html, /href="\/desk\/sign-in\/start\?provider=/);
  assert.match(html, /name="key"/);
  const refused = await desk.ask('POST', '/mcp', { body: {} });
  assert.match(
    refused.headers.get('www-authenticate') ?? '',
    /resource_metadata="http:\/\/127\.0\.0\.1:3000\/desk\/\.well-known\/oauth-protected-resource\/mcp"/,
  );
});

test('a mounted service without a provider, a person or a key has no sign-in', async () => {
  const desk = await opened({ identities: [] });
  for (const path of [
    '/sign-in',
    '/agents',
    '/authorize',
    '/.well-known/oauth-protected-resource',
  ]) {
    assert.equal((await desk.ask('GET', path)).status, 404, path);
  }
  const refused = await desk.ask('POST', '/mcp', { body: {} });
  assert.equal(refused.headers.get('www-authenticate'), 'Bearer');
});

const KEY = { principal: 'human:ann', key: 'key-of-ann' };

for (const [what, settings] of [
  ['others reach the app', { public_url: `http://shop.example${PREFIX}` }],
  ['a proxy forwards requests of others', { trusted_proxies: ['127.0.0.1'] }],
  ['the service does not know its address', { public_url: undefined }],
] as const) {
  test(`a key signs nobody in where ${what}`, async () => {
    const desk = await opened({ identities: [KEY], ...settings });
    const pages = settings.public_url ?? `http://localhost:3000${PREFIX}`;
    const page = await desk.fetch(requestOf('GET', `${pages}/sign-in`));

    assert.equal(page.status, 404);
  });
}

test('a key signs nobody in over a connection from another machine', async () => {
  const desk = await opened({ identities: [KEY] });
  const { url, end } = await listened((request, response) => {
    Object.defineProperty(request.socket, 'localAddress', { value: '192.0.2.7' });
    request.headers.host = 'localhost:3000';
    desk.listener(request, response);
  });
  atEnd(end);
  const form = await fetch(`${url}${PREFIX}/sign-in`);
  const csrf = /name="csrf" value="([^"]+)"/.exec(await form.text())?.[1] ?? '';
  const sent = await fetch(`${url}${PREFIX}/sign-in`, {
    method: 'POST',
    headers: {
      cookie: form.headers.getSetCookie()[0]?.split(';')[0] ?? '',
      origin: 'http://localhost:3000',
    },
    body: new URLSearchParams({ csrf, key: KEY.key }),
    redirect: 'manual',
  });

  assert.equal(sent.status, 403);
  assert.match(await sent.text(), /a key is taken on this machine only/);
});
