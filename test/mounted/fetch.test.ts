/**
 * A mounted service asked by Web requests: where it answers, what its documents say, what a client that
 * leaves or does not read can hold, and how it closes.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { Hono } from 'hono';
import { describe, test } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { BODY_LIMITS } from '../../src/domain/wire/json.ts';
import { createService, defineCapability } from '../../src/index.ts';
import { call, connectAgent, VERSIONS } from '../mcp/agent.ts';
import { atEnd } from '../support/ends.ts';
import { ALICE, eventually, OPERATOR } from '../support/world.ts';
import {
  listened,
  type MountedDesk,
  mountDesk,
  ORIGIN,
  PREFIX,
  PUBLIC_URL,
  requestOf,
  toldBy,
} from './desk.ts';

const TRIP = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };

async function opened(...options: Parameters<typeof mountDesk>): Promise<MountedDesk> {
  const desk = await mountDesk(...options);
  atEnd(desk.close);
  return desk;
}

describe('paths', () => {
  test('fetch() answers below the prefix, and also where the framework removed it', async () => {
    const desk = await opened();
    const app = new Hono();
    app.get('/', (c) => c.text('own'));
    app.mount('/desk', desk.fetch);

    for (const path of ['/desk/svc/manifest', '/desk', '/desk/', '/desk/.well-known/svc']) {
      assert.equal((await app.request(`${ORIGIN}${path}`)).status, 200, path);
      assert.equal((await desk.fetch(requestOf('GET', `${ORIGIN}${path}`))).status, 200, path);
    }
    assert.equal(await (await app.request('/')).text(), 'own');
    const wrong = await desk.ask('GET', '/nowhere');
    assert.equal(wrong.status, 404);
    assert.equal(wrong.body.failure.type, 'not_found');
    assert.match(wrong.body.failure.detail, /^Cannot find GET \/\S* under "\/desk"$/);
  });

  test('fetch() answers the well-known documents at the root of the app', async () => {
    const desk = await opened();
    for (const path of ['/.well-known/svc', '/.well-known/jwks.json']) {
      const root = await toldBy(await desk.fetch(requestOf('GET', `${ORIGIN}${path}`)));

      assert.equal(root.status, 200);
      assert.deepEqual(root.body, (await desk.ask('GET', path)).body);
    }
  });

  test('documents name the prefix: endpoints, surfaces, jwks_uri, servers and links', async () => {
    const desk = await opened();
    const { svc_discovery } = (await desk.ask('GET', '/.well-known/svc')).body;
    const manifest = (await desk.ask('GET', '/svc/manifest')).body;
    const api = (await desk.ask('GET', '/openapi.json')).body;
    const front = await desk.ask('GET', '', { headers: { accept: 'text/html' } });

    assert.equal(svc_discovery.endpoints.tokens, '/desk/svc/tokens');
    assert.equal(svc_discovery.surfaces.mcp, '/desk/mcp');
    assert.equal(manifest.service_identity.jwks_uri, `${PUBLIC_URL}/.well-known/jwks.json`);
    assert.equal(api.servers[0].url, '/desk');
    const links = [...front.body.matchAll(/href="([^"]+)"/g)].map(([, link]) => link);
    assert.ok(links.length > 3);
    for (const link of links) {
      const { status } = await desk.fetch(requestOf('GET', `http://localhost:3000${link}`));
      assert.equal(status, link?.startsWith('/desk/console/') ? 303 : 200, link);
    }
  });

  test('a service without a public address answers on loopback names only', async () => {
    const desk = await opened({ settings: { public_url: undefined, identities: [] } });
    const from = async (url: string) => toldBy(await desk.fetch(requestOf('GET', url)));

    for (const host of ['shop.example', '127.0.0.1.evil.example', 'localhost.evil.example']) {
      const foreign = await from(`http://${host}/desk/svc/manifest`);
      assert.equal(foreign.status, 400, host);
      assert.match(foreign.body.failure.detail, /WRIT_PUBLIC_URL/);
    }
    const local = await from('http://localhost:3000/desk/svc/manifest');
    const jwks = local.body.service_identity.jwks_uri;
    assert.equal(jwks, 'http://localhost:3000/desk/.well-known/jwks.json');
    const other = await from('http://localhost:9/desk/svc/manifest');
    assert.equal(other.body.service_identity.jwks_uri, jwks);
  });

  test('a public address decides the documents, whatever Host a stranger sends', async () => {
    const desk = await opened({
      settings: { public_url: 'https://shop.example/app/desk', identities: [] },
    });
    const asked = requestOf('GET', 'http://evil.example/desk/svc/manifest');
    const { body } = await toldBy(await desk.fetch(asked));
    const discovery = await toldBy(
      await desk.fetch(requestOf('GET', 'http://evil.example/desk/.well-known/svc')),
    );

    const { jwks_uri } = body.service_identity;
    assert.equal(jwks_uri, 'https://shop.example/app/desk/.well-known/jwks.json');
    assert.equal(
      discovery.body.svc_discovery.endpoints.invoke,
      '/app/desk/svc/invoke/{capability}',
    );
  });
});

test('the client and MCP agents call a service that hono mounts', async () => {
  const desk = await opened();
  const app = new Hono();
  app.all('/desk/*', (c) => desk.fetch(c.req.raw));
  const { getRequestListener } = await import('@hono/node-server');
  const { url, end } = await listened(getRequestListener(app.fetch) as never);
  atEnd(end);
  const base = `${url}${PREFIX}`;
  const alice = createClient({ url: base, credential: ALICE });
  const issued = await alice.ask('tokens.issue', { scope: ['travel.search'] });
  if (!issued.ok) throw new Error(issued.failure.detail);
  const { token } = issued.answer;

  for (const version of VERSIONS) {
    const agent = await connectAgent({ version, url: base, token });
    const found = await call(agent, 'search_flights', TRIP);
    assert.equal(found.isError, false, found.text);
    await agent.close();
  }
});

test('metrics of a mounted service ask for an operator', async () => {
  const desk = await opened();

  assert.equal((await desk.ask('GET', '/metrics')).status, 401);
  assert.equal((await desk.ask('GET', '/metrics', { bearer: ALICE })).status, 403);
  const { status, body } = await desk.ask('GET', '/metrics', { bearer: OPERATOR });
  assert.equal(status, 200);
  assert.match(body, /writ_http_requests_total\{operation="metrics",status="401"\} 1/);
});

describe('bodies', () => {
  test('a body that the app has read is refused, and the failure says what to do', async () => {
    const desk = await opened();
    const used = requestOf('POST', `${PUBLIC_URL}/svc/handshake`, { body: {} });
    await used.json();
    const locked = requestOf('POST', `${PUBLIC_URL}/svc/handshake`, { body: {} });
    locked.body?.getReader();

    for (const request of [used, locked]) {
      const { status, body } = await toldBy(await desk.fetch(request));
      assert.equal(status, 500);
      assert.equal(body.failure.type, 'internal_error');
      assert.match(body.failure.detail, /mount the service before the body parser/);
    }
  });

  test('256 KiB are read and one byte more is 413, of a stranger 16 KiB, with and without a length', async () => {
    const desk = await opened();
    const padded = (bytes: number) => Buffer.from(`{"a":"${'x'.repeat(bytes - 8)}"}`);
    const send = async (
      bytes: Uint8Array,
      isCounted: boolean,
      authorization = `Bearer ${ALICE}`,
    ) => {
      const init = { method: 'POST', body: bytes, duplex: 'half' } as const;
      const headers = new Headers({ 'content-type': 'application/json', authorization });
      if (isCounted) headers.set('content-length', String(bytes.length));
      const url = `${PUBLIC_URL}/svc/handshake`;
      return (await desk.fetch(new Request(url, { ...init, headers }))).status;
    };
    for (const isCounted of [true, false]) {
      assert.equal(await send(padded(BODY_LIMITS.bytes), isCounted), 200);
      assert.equal(await send(padded(BODY_LIMITS.bytes + 1), isCounted), 413);
      assert.equal(await send(padded(16 * 1_024), isCounted, ''), 200);
      assert.equal(await send(padded(16 * 1_024 + 1), isCounted, ''), 413);
    }
  });

  test('an endless body is cancelled at the limit', async () => {
    const desk = await opened();
    let pulled = 0;
    let isCancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1;
        controller.enqueue(new Uint8Array(65_536));
      },
      cancel() {
        isCancelled = true;
      },
    });
    const init = { method: 'POST', body, duplex: 'half' } as const;
    const { status } = await desk.fetch(new Request(`${PUBLIC_URL}/svc/handshake`, init as never));

    assert.equal(status, 413);
    assert.ok(pulled < 10, `${pulled}`);
    assert.equal(isCancelled, true);
  });

  test('media types and duplicate keys are refused as they are over a socket', async () => {
    const desk = await opened();
    const typed = { body: '{}', headers: { 'content-type': 'text/plain' } };
    const twice = { body: '{"capabilities":{},"capabilities":{}}' };

    assert.equal((await desk.ask('POST', '/svc/handshake', typed)).status, 415);
    const { status, body } = await desk.ask('POST', '/svc/handshake', twice);
    assert.equal(status, 400);
    assert.match(body.failure.detail, /appears twice/);
  });
});

/** Sends 3 MB of progress. */
const chatty = createService({
  id: 'chatty',
  capabilities: [
    defineCapability({
      name: 'chat',
      description: 'Sends much progress',
      inputs: [],
      output: { type: 'end', fields: ['ok'] },
      side_effect: 'read',
      minimum_scope: ['travel.chat'],
      response_modes: ['streaming'],
      async handler(_parameters, context) {
        for (let i = 0; i < 300; i++) await context.progress({ filling: 'x'.repeat(10_000) });
        return { ok: true };
      },
    }),
  ],
});

describe('clients that do not read', () => {
  async function chat(desk: MountedDesk, bearer: string, signal?: AbortSignal): Promise<Response> {
    const body = { parameters: {}, stream: true };
    const request = requestOf('POST', `${PUBLIC_URL}/svc/invoke/chat`, { bearer, body });
    return desk.fetch(signal ? new Request(request, { signal }) : request);
  }

  /** The summary of the stream, once its call has ended. */
  async function summaryOf(desk: MountedDesk, bearer: string) {
    let found: { events_delivered: number; client_disconnected: boolean } | undefined;
    await eventually(async () => {
      const { body } = await desk.ask('POST', '/svc/audit', { bearer });
      found = body.entries.find((entry: object) => 'stream_summary' in entry)?.stream_summary;
      return found !== undefined;
    });
    return found;
  }

  test('a stream that is not read holds few events, and ends with the answer', async () => {
    const desk = await opened({}, chatty);
    const bearer = await desk.token(['travel.chat']);
    const response = await chat(desk, bearer);
    const summary = await summaryOf(desk, bearer);

    assert.equal(response.status, 200);
    assert.ok((summary?.events_delivered ?? 300) < 50, JSON.stringify(summary));
    const text = await response.text();
    assert.ok(text.length < 1_000_000);
    assert.match(text, /event: completed/);
  });

  test('an aborted request counts as a client that has left', async () => {
    const desk = await opened({}, chatty);
    const bearer = await desk.token(['travel.chat']);
    const leaving = new AbortController();
    const response = await chat(desk, bearer, leaving.signal);
    await response.body?.getReader().read();
    leaving.abort();

    assert.equal((await summaryOf(desk, bearer))?.client_disconnected, true);
  });

  test('a stream that its reader cancels counts as a client that has left', async () => {
    const desk = await opened({}, chatty);
    const bearer = await desk.token(['travel.chat']);
    const response = await chat(desk, bearer);
    await response.body?.cancel();

    assert.equal((await summaryOf(desk, bearer))?.client_disconnected, true);
  });

  test('a request that was aborted before it came is still answered', async () => {
    const desk = await opened();
    const request = new Request(`${PUBLIC_URL}/svc/manifest`, { signal: AbortSignal.abort() });

    assert.equal((await desk.fetch(request)).status, 200);
  });
});

describe('strangers', () => {
  const settings = { address_rate: '5/PT1M' };

  test('all strangers count as one without an address', async () => {
    const desk = await opened({ settings });
    const statuses = [];
    for (let i = 0; i < 7; i++) statuses.push((await desk.ask('GET', '/svc/manifest')).status);

    assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429, 429]);
    // A known credential is still accepted.
    const body = { scope: ['travel.read'] };
    const known = await desk.ask('POST', '/svc/tokens', { bearer: ALICE, body });
    assert.equal(known.status, 200);
  });

  test('address() separates them, and a hook that breaks counts as no address', async () => {
    const desk = await opened({
      settings,
      address(request) {
        const from = request.headers.get('x-test-address');
        if (from === null) throw new Error('no address');
        return from;
      },
    });
    const from = async (headers: Record<string, string>) =>
      (await desk.ask('GET', '/svc/manifest', { headers })).status;
    for (let i = 0; i < 5; i++) await from({ 'x-test-address': '192.0.2.1' });

    assert.equal(await from({ 'x-test-address': '192.0.2.1' }), 429);
    assert.equal(await from({ 'x-test-address': '192.0.2.2' }), 200);
    assert.equal(await from({}), 200);
  });
});

describe('close()', () => {
  test('finishes running calls, and later requests get service_unavailable', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = createService({
      id: 'slow',
      capabilities: [
        defineCapability({
          name: 'wait',
          description: 'Waits until the test lets it go',
          inputs: [],
          output: { type: 'end', fields: ['ok'] },
          side_effect: 'write',
          minimum_scope: ['travel.wait'],
          async handler() {
            await held;
            return { ok: true };
          },
        }),
      ],
    });
    const desk = await opened({}, slow);
    const bearer = await desk.token(['travel.wait']);
    const running = desk.ask('POST', '/svc/invoke/wait', { bearer, body: { parameters: {} } });
    await eventually(async () => {
      const { body } = await desk.ask('GET', '/metrics', { bearer: OPERATOR });
      return /writ_http_requests_in_work [2-9]/.test(body);
    });
    const closing = desk.close();
    const late = await desk.ask('POST', '/svc/invoke/wait', { bearer, body: { parameters: {} } });

    assert.equal(late.status, 503);
    assert.equal(late.body.failure.type, 'service_unavailable');
    assert.match(late.body.invocation_id, /^inv-/);
    release();
    assert.equal((await running).body.result.ok, true);
    await closing;
    assert.equal((await desk.ask('GET', '/svc/manifest')).status, 503);
  });

  test('installs no signal handler', async () => {
    const before = ['SIGTERM', 'SIGINT', 'uncaughtException'].map((name) =>
      process.listenerCount(name),
    );
    await opened();

    assert.deepEqual(
      ['SIGTERM', 'SIGINT', 'uncaughtException'].map((name) => process.listenerCount(name)),
      before,
    );
  });
});
