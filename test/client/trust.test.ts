/**
 * What a client believes: only a manifest that a known key signed.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { afterAll, beforeAll, test } from 'vitest';
import { createClient, UntrustedService } from '../../src/client/index.ts';
import { answering, type Desk, openDesk } from './desk.ts';

const READ = { capability: 'get_booking', parameters: { booking_id: 'BK-1000' } };

let desk: Desk;
let other: Desk;

beforeAll(async () => {
  desk = await openDesk();
  other = await openDesk();
});
afterAll(async () => {
  await desk.service.close();
  await other.service.close();
});

test('manifest() returns the declarations, verified, and the keys to pin', async () => {
  const client = createClient({ url: desk.url, serviceId: 'travel-desk' });

  const reply = await client.manifest();

  assert.ok(reply.ok);
  assert.equal(reply.answer.capabilities.get_booking?.side_effect.type, 'read');
  assert.notEqual(client.pins().length, 0);
});

test('manifest() believes the pins of an earlier client', async () => {
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

test('manifest() throws when another service than the one meant answers', async () => {
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

test('invoke() is refused, and nothing sent, when the manifest cannot be fetched', async () => {
  const fetching = answering((path) =>
    path === '/svc/manifest' ? new Response('', { status: 502 }) : undefined,
  );
  const client = await desk.client(['travel.read'], { fetch: fetching });

  const reply = await client.invoke(READ);

  assert.ok(!reply.ok);
  assert.equal(reply.failure.type, 'service_unavailable');
});
