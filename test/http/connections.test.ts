/**
 * Clients that ask and do not read, over real sockets: what they hold, for how long, and what honest
 * callers notice of them.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { beforeEach, describe, test } from 'vitest';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService } from '../../src/service/author/definition.ts';
import { atEnd } from '../support/ends.ts';
import {
  ALICE,
  eventually,
  patientLoad,
  type TestOptions,
  type TestService,
  testService,
} from '../support/world.ts';
import { connected, listening } from './socket.ts';

async function serving(options: TestOptions = {}) {
  const load = patientLoad();
  const service = await testService({ ...options, load });
  return { service, load, port: await listening(service) };
}

/** A client that sends and never reads. */
async function unread(port: number, text: string): Promise<Socket> {
  const socket = await connected(port);
  atEnd(() => socket.destroy());
  socket.pause();
  socket.write(text);
  return socket;
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: desk\r\n\r\n`;

const post = (path: string, bearer: string, body: object, more = '') => {
  const text = JSON.stringify(body);
  return (
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${bearer}\r\n${more}` +
    `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`
  );
};

/** Connections that the service has ended, by their reason. */
async function endedBy({ ask }: TestService, reason: string): Promise<number> {
  const { body } = await ask('GET', '/metrics');
  const line = new RegExp(
    `^writ_http_connections_ended_total\\{reason="${reason}"\\} (\\d+)$`,
    'm',
  );
  return Number(line.exec(body)?.[1] ?? 0);
}

describe('pipelines that are never read', () => {
  test('thirty pipelines of fifteen hundred requests leave every slot free, and all are closed', async () => {
    const { service, load, port } = await serving({ bounds: { stallMs: 500, sweepMs: 50 } });
    const { token } = await service.issue(ALICE, { scope: ['travel.read'] });
    const floods = await Promise.all(
      Array.from({ length: 30 }, () => unread(port, get('/openapi.json').repeat(1_500))),
    );

    const url = `http://127.0.0.1:${port}`;
    const authorization = `Bearer ${token}`;
    for (let round = 0; round < 20; round += 1) {
      const body = '{"parameters":{"origin":"SEA","destination":"SFO"}}';
      const headers = { authorization, 'content-type': 'application/json' };
      const replies = await Promise.all([
        fetch(`${url}/svc/manifest`),
        fetch(`${url}/svc/invoke/search_flights`, { method: 'POST', headers, body }),
      ]);
      for (const reply of replies) {
        await reply.text();
        assert.equal(reply.status === 503 || reply.status === 429, false, `${reply.status}`);
      }
    }

    await eventually(() => load.inWork() === 0);
    const ended = ['stalled', 'pipeline', 'memory'];
    await eventually(async () => {
      const counts = await Promise.all(ended.map((reason) => endedBy(service, reason)));
      return counts.reduce((sum, count) => sum + count, 0) === 30;
    });
    for (const socket of floods) {
      socket.resume();
      if (!socket.closed) await once(socket, 'close');
    }
  });

  test('a pipeline of fifteen hundred requests gets every answer when the client reads', async () => {
    const { port } = await serving();
    const socket = await connected(port);
    atEnd(() => socket.destroy());

    socket.write(get('/svc/graph').repeat(1_500));

    let text = '';
    for await (const chunk of socket) {
      text += chunk;
      if (text.split('HTTP/1.1 200').length > 1_500 && text.endsWith('}')) break;
    }
    assert.equal(text.split('HTTP/1.1 ').length, 1_501);
  });
});

describe('answers that are made and never read', () => {
  const chatty = createService({
    id: 'chatty',
    capabilities: [
      defineCapability({
        name: 'talk',
        description: 'Says a lot',
        side_effect: 'read',
        minimum_scope: ['travel.read'],
        response_modes: ['unary', 'streaming'],
        async handler(_parameters, context) {
          calls += 1;
          await context.progress({ text: 'x'.repeat(60_000) });
          return { text: 'x'.repeat(1_000_000) };
        },
      }),
    ],
  });
  let calls = 0;
  beforeEach(() => {
    calls = 0;
  });
  const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/call' };
  const ways: [name: string, path: string, message: object][] = [
    ['unary answers', '/svc/invoke/talk', { parameters: {} }],
    ['server-sent events', '/svc/invoke/talk', { parameters: {}, stream: true }],
    ['MCP over HTTP', '/mcp', { ...rpc, params: { name: 'talk', arguments: {} } }],
    [
      'MCP with progress',
      '/mcp',
      { ...rpc, params: { name: 'talk', arguments: {}, _meta: { progressToken: 1 } } },
    ],
  ];
  /** Together more than the buffers of the kernel take. */
  const COUNT = 20;
  const accepting =
    'Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n';

  for (const [name, path, message] of ways) {
    test(`${name}: the connection is closed, and its work ends`, async () => {
      const { service, load, port } = await serving({
        definition: chatty,
        bounds: { stallMs: 300, sweepMs: 20 },
      });
      const { token } = await service.issue(ALICE, { scope: ['travel.read'] });
      await unread(port, post(path, token, message, accepting).repeat(COUNT));

      await eventually(() => calls > 0);
      await eventually(async () => (await endedBy(service, 'stalled')) === 1);
      await eventually(() => load.inWork() === 0);
    });

    test(`${name}: a client that reads late gets all of them`, async () => {
      const { service, load, port } = await serving({ definition: chatty });
      const { token } = await service.issue(ALICE, { scope: ['travel.read'] });
      const asked = post(path, token, message, accepting).repeat(COUNT);
      const last = 'GET /healthz HTTP/1.1\r\nHost: desk\r\nConnection: close\r\n\r\n';
      const socket = await unread(port, asked + last);
      await eventually(() => calls > 0);
      // No place is held by what waits to be read.
      await eventually(() => load.inWork() === 0);

      const chunks: Buffer[] = [];
      for await (const chunk of socket as AsyncIterable<Buffer>) chunks.push(chunk);

      const text = Buffer.concat(chunks).toString('latin1');
      assert.ok(text.length > COUNT * 1_000_000);
      assert.equal(text.split('HTTP/1.1 200').length - 1, COUNT + 1);
    });
  }
});

describe('connections of one address', () => {
  test('those beyond the bound are closed, and the others continue', async () => {
    const { service, port } = await serving({ settings: { max_connections_per_address: 3 } });
    const kept = await Promise.all([1, 2, 3].map(() => connected(port)));
    atEnd(() => kept.forEach((socket) => void socket.destroy()));
    const beyond = await connected(port);
    beyond.resume();
    if (!beyond.closed) await once(beyond, 'close');

    assert.equal(await endedBy(service, 'address'), 1);
    const [first] = kept;
    first?.write(get('/healthz'));
    assert.match(String(await once(first as Socket, 'data')), /^HTTP\/1\.1 200/);
  });

  test('those of a trusted proxy are not counted', async () => {
    const settings = {
      max_connections_per_address: 1,
      trusted_proxies: ['127.0.0.1'],
      identities: [],
    };
    const { port } = await serving({ settings });
    const sockets = await Promise.all(Array.from({ length: 5 }, () => connected(port)));
    atEnd(() => sockets.forEach((socket) => void socket.destroy()));

    for (const socket of sockets) {
      socket.write(get('/healthz'));
      assert.match(String(await once(socket, 'data')), /^HTTP\/1\.1 200/);
    }
  });
});
