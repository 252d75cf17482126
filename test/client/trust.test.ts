/**
 * What a client believes: only a manifest that a known key signed.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createClient, UntrustedService } from '../../src/client/index.ts';
import { failure } from '../../src/domain/failure.ts';
import { ALICE } from '../support/world.ts';
import { answering, openDesk } from './desk.ts';

const READ = { capability: 'get_booking', parameters: { booking_id: 'BK-1000' } };

const desk = await openDesk();
const other = await openDesk();

test('manifest() returns the declarations, verified, and the keys to pin', async () => {
  const client = createClient({ url: desk.url, serviceId: 'travel-desk' });

  const reply = await client.manifest();

  assert.ok(reply.ok);
  assert.equal(reply.answer.capabilities.get_booking?.side_effect.type, 'read');
  assert.notEqual(client.pins().length, 0);
});

test('manifest() trusts the pins of an earlier client', async () => {
  const first = createClient({ url: desk.url });
  await first.manifest();

  const reply = await createClient({ url: desk.url, pins: first.pins() }).manifest();

  assert.equal(reply.ok, true);
});

test('manifest() throws when none of the pinned keys signed it', async () => {
  const stranger = createClient({ url: other.url });
  await stranger.manifest();

  const client = createClient({ url: desk.url, pins: stranger.pins() });

  await assert.rejects(client.manifest(), UntrustedService);
});

test('manifest() throws when another service than the expected one answers', async () => {
  const client = createClient({ url: desk.url, serviceId: 'hotel-desk' });

  await assert.rejects(client.manifest(), /it is of "travel-desk", not of "hotel-desk"/);
});

for (const [what, changed] of [
  ['one byte changed', (text: string) => text.replace('"read"', '"Read"')],
  ['a capability made cheaper', (text: string) => text.replace('20000', '2')],
] as const) {
  test(`manifest() throws at a manifest with ${what}`, async () => {
    const original = await fetch(`${desk.url}/svc/manifest`);
    const signed = await original.text();
    const body = changed(signed);
    assert.notEqual(body, signed);
    const fetching = answering((path) =>
      path === '/svc/manifest' ? new Response(body, { headers: original.headers }) : undefined,
    );
    const client = createClient({ url: desk.url, fetch: fetching });

    await assert.rejects(client.manifest(), UntrustedService);
  });
}

test('invoke() sends nothing to a service whose keys changed after the first contact', async () => {
  let isReplaced = false;
  let minutes = 0;
  const sent: string[] = [];
  const client = await desk.client(['travel.read'], {
    now: () => new Date(Date.now() + minutes * 60_000),
    async fetch(input, init) {
      const path = new URL(String(input)).pathname;
      sent.push(path);
      return fetch(`${isReplaced ? other.url : desk.url}${path}`, init);
    },
  });
  const before = await client.invoke(READ);
  isReplaced = true;
  minutes = 10;

  await assert.rejects(client.invoke(READ), UntrustedService);

  assert.equal(before.ok, true);
  assert.equal(sent.filter((path) => path.startsWith('/svc/invoke')).length, 1);
});

/** Notes which paths got the credential. */
function watched(to: () => string = () => desk.url) {
  const [sent, trusted]: [string[], string[]] = [[], []];
  const fetching: typeof fetch = async (input, init) => {
    const { pathname } = new URL(String(input));
    sent.push(pathname);
    if (new Request(input, init).headers.has('authorization')) trusted.push(pathname);
    return fetch(`${to()}${pathname}`, init);
  };
  return { sent, trusted, fetch: fetching };
}

const ASKED = ['permissions', 'tokens.issue', 'audit.query', 'graph'] as const;

for (const name of ASKED) {
  test(`ask() does not send the credential for ${name} to a service that is not the pinned one`, async () => {
    const stranger = createClient({ url: other.url });
    await stranger.manifest();
    const { fetch, trusted } = watched();
    const pins = stranger.pins();
    const input = { scope: ['travel.read'] } as never;
    const pinned = await desk.client(['travel.read'], { pins, fetch });
    const named = await desk.client(['travel.read'], { serviceId: 'hotel-desk', fetch });

    await assert.rejects(pinned.ask(name, input), UntrustedService);
    await assert.rejects(named.ask(name, input), UntrustedService);

    assert.deepEqual(trusted, []);
  });
}

test('ask() does not send the credential to a service whose keys changed after the first contact', async () => {
  let url = desk.url;
  let minutes = 0;
  const { fetch, trusted } = watched(() => url);
  const now = () => new Date(Date.now() + minutes * 60_000);
  const client = await desk.client(['travel.read'], { fetch, now });
  await client.manifest();
  url = other.url;
  minutes = 10;

  await assert.rejects(client.ask('permissions', {}), UntrustedService);

  assert.deepEqual(trusted, []);
});

test('ask() verifies the manifest once for many calls, with the pins of the service', async () => {
  const first = createClient({ url: desk.url });
  await first.manifest();
  const { fetch, sent, trusted } = watched();
  const client = await desk.client(['travel.read'], { pins: first.pins(), fetch });

  const replies = await Promise.all([client.ask('permissions', {}), client.ask('permissions', {})]);
  const other = await client.withCredential('another').ask('permissions', {});

  assert.deepEqual([...replies.map(({ ok }) => ok), other.ok], [true, true, false]);
  assert.equal(sent.filter((path) => path === '/svc/manifest').length, 1);
  assert.deepEqual(trusted, ['/svc/permissions', '/svc/permissions', '/svc/permissions']);
});

test('ask() fails and sends nothing when the manifest of the pinned service cannot be fetched', async () => {
  const fetching = answering((path) =>
    path === '/svc/manifest' ? new Response('', { status: 502 }) : undefined,
  );
  const { token, token_id } = await desk.service.issue(ALICE, { scope: ['travel.read'] });
  const client = createClient({
    url: desk.url,
    credential: token,
    serviceId: 'travel-desk',
    fetch: fetching,
  });

  const reply = await client.ask('tokens.revoke', { token_id });

  assert.equal(!reply.ok && reply.failure.type, 'service_unavailable');
  const { body } = await desk.service.ask('POST', '/svc/permissions', { bearer: token });
  assert.ok(body.available);
});

test('ask() needs no manifest for a call without credential', async () => {
  const { fetch, sent } = watched();

  const reply = await createClient({ url: desk.url, serviceId: 'hotel-desk', fetch }).ask(
    'graph',
    {},
  );

  assert.equal(reply.ok, true);
  assert.deepEqual(sent, ['/svc/graph']);
});

test('manifest() asks without the credential', async () => {
  const presented: (string | null)[] = [];
  const client = await desk.client(['travel.read'], {
    async fetch(input, init) {
      presented.push(new Request(input, init).headers.get('authorization'));
      return fetch(input, init);
    },
  });

  await client.manifest();

  assert.deepEqual(presented, [null, null]);
});

test('invoke() fails and sends nothing when the manifest cannot be fetched', async () => {
  const fetching = answering((path) =>
    path === '/svc/manifest' ? new Response('', { status: 502 }) : undefined,
  );
  const client = await desk.client(['travel.read'], { fetch: fetching });

  const reply = await client.invoke(READ);

  assert.ok(!reply.ok);
  assert.equal(reply.failure.type, 'service_unavailable');
});

for (const document of ['/svc/manifest', '/.well-known/jwks.json']) {
  test(`invoke() fetches ${document} again when the service is overloaded`, async () => {
    const told = failure('service_unavailable', 'Cannot take more work');
    let asked = 0;
    const fetching = answering((path) => {
      if (path !== document) return undefined;
      asked += 1;
      if (asked > 2) return undefined;
      return Response.json({ success: false, failure: told }, { status: 503 });
    });

    const patient = await desk.client(['travel.read'], { fetch: fetching });
    const reply = await patient.invoke(READ);
    const sent = asked;
    asked = 0;
    const hasty = await desk.client(['travel.read'], { fetch: fetching, retries: 0 });
    const refused = await hasty.invoke(READ);

    assert.deepEqual([reply.ok, sent], [true, 3]);
    assert.deepEqual([refused.ok, asked], [false, 1]);
  });
}
