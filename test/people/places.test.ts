/**
 * Where people sign in with passkeys: on this machine once somebody is invited, beside an identity provider, and in an app
 * that a service is mounted in.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'vitest';
import { softwareKey } from '../../src/testing/authenticator.ts';
import { mountDesk, requestOf } from '../mounted/desk.ts';
import { personAt } from '../sign-in/browser.ts';
import { atEnd, temporaryFolder } from '../support/ends.ts';
import { SQL_PLACES } from '../support/sql-places.ts';
import { type Reply, testService } from '../support/world.ts';
import { ANN, browserAt, definition, invitedAtStore, openDesk } from './desk.ts';

const [{ open: openFile }] = SQL_PLACES as [(typeof SQL_PLACES)[number]];

test('on this machine the pages exist from the start after the first invitation', async () => {
  const { url: store } = await openFile();
  const given = { store, keys: temporaryFolder(), settings: { identities: [] } };
  const before = await testService(given);
  assert.equal((await before.ask('GET', '/sign-in')).status, 404);
  const invitation = await invitedAtStore(before, { principal: ANN, scopes: ['travel.*'] });
  const after = await testService(given);
  const pages = 'http://localhost';
  const key = softwareKey();

  const { status } = await browserAt(after, pages).enrol(invitation, key);

  assert.equal(status, 303);
  const back = browserAt(await testService(given), pages);
  assert.equal((await back.use(key)).status, 303);
  assert.equal((await (await back.console()).answer('me')).principal, ANN);
});

test('a plain http address that others reach has no pages, whoever is invited', async () => {
  const { url: store } = await openFile();
  const keys = temporaryFolder();
  const before = await testService({ store, keys });
  await invitedAtStore(before, { principal: ANN });
  const settings = { identities: [], host: '0.0.0.0', public_url: 'http://desk.example.com' };
  const after = await testService({ store, keys, settings });

  assert.equal((await after.ask('GET', '/sign-in')).status, 404);
});

test('passkeys stand beside an identity provider', async () => {
  const sign_in = { client_id: 'desk', label: 'Example' };
  const oidc = [{ issuer: 'https://login.example', audience: 'desk', sign_in }];
  const desk = await openDesk(await openFile(), { settings: { oidc } });
  const { key } = await desk.newcomer(ANN, 'travel.*');

  const page = await browserAt(desk.service).open('/sign-in');

  assert.match(page.text ?? '', /Continue with <bdi>Example<\/bdi>[\s\S]*Use a passkey/);
  assert.equal((await browserAt(desk.service).use(key)).status, 303);
});

test('a person enrols and signs in at a mounted service, below its prefix', async () => {
  const { url: store } = await openFile();
  const keys = temporaryFolder();
  const [origin, prefix] = ['https://app.example', '/desk'];
  const mark = join(temporaryFolder(), 'mark.db');
  const settings = { store, keys, mark, public_url: `${origin}${prefix}`, identities: [] };
  const mounted = await mountDesk({ settings }, definition);
  atEnd(mounted.close);
  const other = await testService({ store, keys, definition });
  const { link, code } = await invitedAtStore(other, { principal: ANN, scopes: ['travel.*'] });
  const person = personAt({ ask: (method, path, asked) => askedAt(method, path, asked) }, origin);
  const key = softwareKey();
  const asked = ({ text = '' }: Reply) => {
    const [, challenge = ''] = /data-challenge="([^"]+)"/.exec(text) ?? [];
    return { challenge: Buffer.from(challenge, 'base64url'), rpId: 'app.example', origin };
  };

  const page = await person.send(await person.open(`${prefix}/enrol`), `${prefix}/enrol`, {
    link,
    code,
  });
  const path = `${prefix}/enrol/passkey`;
  const made = await person.send(page, path, { ...key.register(asked(page)), label: 'Phone' });
  assert.deepEqual([made.status, made.headers.location], [303, `${prefix}/console/`]);
  person.cookies.clear();
  const again = await person.open(`${prefix}/sign-in`);
  const back = await person.send(again, `${prefix}/sign-in/passkey`, key.assert(asked(again)));

  assert.deepEqual([back.status, back.headers.location], [303, `${prefix}/agents`]);

  async function askedAt(
    method: string,
    path: string,
    { body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Reply> {
    const { host: _, ...rest } = headers;
    const request = requestOf(method, `${origin}${path}`, { headers: rest });
    const response = await mounted.fetch(
      body === undefined ? request : new Request(request, { method, body: String(body) }),
    );
    const text = await response.text();
    const told = { ...Object.fromEntries(response.headers) };
    const cookies = { 'set-cookie': response.headers.getSetCookie() };
    return { status: response.status, body: text, text, headers: { ...told, ...cookies } };
  }
});
