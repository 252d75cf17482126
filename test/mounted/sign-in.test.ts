/**
 * Sign-in of a mounted service: where its metadata and pages are, and who may sign in there.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { atEnd } from '../support/ends.ts';
import { mountDesk, ORIGIN, PREFIX, PUBLIC_URL, requestOf, toldBy } from './desk.ts';

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

test('a mounted service sends people to its own pages, and takes no keys there', async () => {
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
  assert.doesNotMatch(html, /name="key"/);
  const refused = await desk.ask('POST', '/mcp', { body: {} });
  assert.match(
    refused.headers.get('www-authenticate') ?? '',
    /resource_metadata="http:\/\/127\.0\.0\.1:3000\/desk\/\.well-known\/oauth-protected-resource\/mcp"/,
  );
});

test('a mounted service without a provider has no sign-in', async () => {
  const desk = await opened({});
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
