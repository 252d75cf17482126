/**
 * What routes of pages need of HTTP: forms in, several cookies out, on both adapters; and what a refusal says
 * about signing in.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createBodies } from '../../src/http/bounds/bodies.ts';
import { CONNECTION_BOUNDS } from '../../src/http/bounds/connection.ts';
import { webExchange } from '../../src/http/mounted/web.ts';
import { readForm } from '../../src/http/sign-in/forms.ts';
import { system } from '../../src/platform.ts';
import { ALICE } from '../support/world.ts';
import { openSite, routeAt } from './site.ts';

const METADATA = 'https://desk.example/.well-known/oauth-protected-resource';

const echo = routeAt('POST', '/echo', ({ body, headers }) => {
  const reading = readForm(body);
  const word = 'form' in reading ? reading.form.one('word') : reading.fault;
  return {
    status: 200,
    headers: { ...headers, 'set-cookie': ['a=1; Path=/', 'b=2; Path=/'] },
    body: word ?? 'none',
  };
});

const facts = {
  metadataUrl: ({ path }: { readonly path: string }) =>
    path === '/mcp' ? `${METADATA}/mcp` : METADATA,
  scopes: () => ['travel.search', 'travel.book', 'operator:freeze', 'approver:*', 'a"b'],
};
const site = await openSite([echo], facts);

function post(type: string | undefined, body: string, path = '/echo'): Promise<Response> {
  const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
  return fetch(`${site.url}${path}`, { method: 'POST', headers, body: Buffer.from(body) });
}

describe('a route that takes a form', () => {
  for (const type of [
    'application/x-www-form-urlencoded',
    'application/x-www-form-urlencoded; charset=UTF-8',
    'Application/X-WWW-Form-Urlencoded;charset="utf-8"',
  ]) {
    test(`reads ${type}`, async () => {
      assert.equal(await (await post(type, 'word=caf%C3%A9')).text(), 'café');
    });
  }

  for (const type of [
    undefined,
    'application/json',
    'text/plain',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded; charset=latin1',
    'application/x-www-form-urlencoded, application/json',
  ]) {
    test(`refuses ${type}`, async () => {
      const response = await post(type, 'word=a');
      const { failure } = (await response.json()) as { failure: { type: string; detail: string } };

      assert.equal(response.status, 415);
      assert.equal(failure.type, 'unsupported_media_type');
      assert.match(failure.detail, /expected application\/x-www-form-urlencoded/);
    });
  }

  test('reads an empty body as a form without fields', async () => {
    assert.equal(await (await post(undefined, '')).text(), 'none');
  });

  test('leaves operations with JSON alone', async () => {
    const response = await post('application/x-www-form-urlencoded', 'a=b', '/svc/handshake');

    assert.equal(response.status, 415);
  });
});

describe('several cookies in one answer', () => {
  test('each have a line of their own over node:http', async () => {
    const response = await post('application/x-www-form-urlencoded', 'word=a');

    assert.deepEqual(response.headers.getSetCookie(), ['a=1; Path=/', 'b=2; Path=/']);
  });

  for (const body of ['x', undefined]) {
    test(`each have a line of their own in a Response ${body ? 'with' : 'without'} a body`, () => {
      const request = new Request('http://localhost/');
      const bodies = createBodies(CONNECTION_BOUNDS);
      const arrival = { platform: system, bodies, target: '/', remoteAddress: undefined };
      const { respond } = webExchange(request, arrival);

      const headers = { 'set-cookie': ['a=1', 'b=2'], vary: 'Accept' };
      const response = respond({ status: 200, headers, body });

      assert.deepEqual(response.headers.getSetCookie(), ['a=1', 'b=2']);
      assert.equal(response.headers.get('vary'), 'Accept');
      assert.equal(response.headers.get('content-length'), body ? '1' : null);
    });
  }
});

describe('WWW-Authenticate where people can sign in', () => {
  const scopes = 'scope="travel.search travel.book"';

  async function challenge(path: string, bearer?: string): Promise<string | null> {
    const response = await fetch(`${site.url}${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(bearer && { authorization: `Bearer ${bearer}` }),
      },
      body: '{"parameters":{}}',
    });
    assert.ok([401, 403].includes(response.status), `${response.status}`);
    return response.headers.get('www-authenticate');
  }

  test('names the metadata of /mcp, and no right of operators or approvers', async () => {
    assert.equal(await challenge('/mcp'), `Bearer ${scopes}, resource_metadata="${METADATA}/mcp"`);
  });

  test('names the metadata of the service on its operations', async () => {
    const expected = `${scopes}, resource_metadata="${METADATA}"`;

    assert.equal(await challenge('/svc/tokens'), `Bearer ${expected}`);
    assert.equal(
      await challenge('/svc/permissions', 'no.such.token'),
      `Bearer error="invalid_token", ${expected}`,
    );
  });

  test('names every missing scope at once', async () => {
    const { token } = await site.service.issue(ALICE, { scope: ['travel.search'] });

    assert.equal(
      await challenge('/svc/invoke/find_traveler', token),
      `Bearer error="insufficient_scope", scope="travel.read", resource_metadata="${METADATA}"`,
    );
  });

  test('leaves out a list of scopes that is longer than clients read', async () => {
    const many = { ...facts, scopes: () => Array.from({ length: 300 }, (_, n) => `scope.${n}`) };
    const { url } = await openSite([], many);

    const response = await fetch(`${url}/svc/tokens`, { method: 'POST' });

    assert.equal(
      response.headers.get('www-authenticate'),
      `Bearer resource_metadata="${METADATA}"`,
    );
  });

  test('says nothing about signing in where that is not offered', async () => {
    const { url, service } = await openSite([]);
    const { token } = await service.issue(ALICE, { scope: ['travel.search'] });
    const ask = async (path: string, headers: Record<string, string>) =>
      (await fetch(`${url}${path}`, { method: 'POST', headers })).headers.get('www-authenticate');

    assert.equal(await ask('/mcp', {}), 'Bearer');
    assert.equal(await ask('/svc/tokens', {}), 'Bearer');
    const held = { authorization: `Bearer ${token}` };
    assert.equal(await ask('/svc/invoke/find_traveler', held), null);
  });
});
