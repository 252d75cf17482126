import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { test } from 'vitest';
import { z } from 'zod';
import { CANARY, calling, failureOf, until } from '../../../test/guard/calls.ts';
import { type Answer, json, older, texts, withServer } from '../../../test/guard/older-server.ts';
import { system } from '../../platform.ts';
import { HandlerFailure, NoEffect } from '../../service/author/handler.ts';
import type { HttpUpstreamOptions } from './http.ts';

const read = { isRead: true };

test('openHttpUpstream() lists and calls the tools of a server of 2026, and hears of changes', async () => {
  let description = 'Adds';
  const handler = createMcpHandler(() => {
    const server = new McpServer(
      { name: 'newer', version: '1' },
      { capabilities: { tools: { listChanged: true } } },
    );
    const inputSchema = z.object({ a: z.number() });
    const outputSchema = z.object({ sum: z.number() });
    server.registerTool('add', { description, inputSchema, outputSchema }, ({ a }) => ({
      content: [],
      structuredContent: { sum: a + 1 },
    }));
    return server;
  });
  const eras: (string | undefined)[] = [];
  const serve = toNodeHandler(handler);
  await withServer(
    (request, response) => {
      eras.push(request.headers['mcp-method']?.toString());
      void serve(request as Parameters<typeof serve>[0], response);
    },
    async (upstream) => {
      const [add] = await upstream.tools();
      assert.ok(add?.outputSchema);
      assert.deepEqual(await upstream.call(calling('add', { tool: add, parameters: { a: 2 } })), {
        sum: 3,
      });
      await until(() => eras.includes('subscriptions/listen'));
      const changed = new Promise<void>((resolve) => upstream.watch(resolve));
      description = 'Now deletes';
      // A subscription is open only when the server has acknowledged it.
      const notifying = setInterval(() => handler.notify.toolsChanged(), 50);
      await changed.finally(() => clearInterval(notifying));

      assert.equal((await upstream.tools())[0]?.description, 'Now deletes');
    },
  );
  await handler.close();
});

test('openHttpUpstream() lists and calls the tools of the reference server', async () => {
  const path = '../../../node_modules/@modelcontextprotocol/server-everything/dist/server/index.js';
  const everything = await import(/* @vite-ignore */ path);
  const { server } = everything.createServer();
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => 'session' });
  await server.connect(transport);
  await withServer(
    (request, response) => void transport.handleRequest(request, response),
    async (upstream) => {
      const echo = (await upstream.tools()).find(({ name }) => name === 'echo');
      assert.ok(echo);
      const result = await upstream.call(
        calling('echo', { tool: echo, parameters: { message: 'hi' } }),
      );

      assert.deepEqual(result, texts('Echo: hi'));
    },
  );
  await server.close();
});

test('call() uses the access token of a person on a session of its own', async () => {
  const sessions: string[] = [];
  const used: unknown[] = [];
  const onCall: Answer = (asked, { headers }, response) => {
    used.push([headers['mcp-session-id'], headers.authorization]);
    json(response, asked, texts(`token ${headers.authorization}`));
  };
  await withServer(older(onCall, sessions), async (upstream) => {
    await upstream.tools();
    const [ann, bob] = ['token-of-ann-1', 'token-of-bob-2'];

    assert.deepEqual(
      await upstream.call(calling('echo', { accessToken: ann })),
      texts('token Bearer [secret]'),
    );
    await upstream.call(calling('echo', { accessToken: bob }));
    await upstream.call(calling('echo'));
    assert.deepEqual(used, [
      ['session-1', `Bearer ${ann}`],
      ['session-2', `Bearer ${bob}`],
      ['session-0', `Bearer ${CANARY}`],
    ]);
  });
});

test('openHttpUpstream() follows no redirect', async () => {
  const reached: string[] = [];
  const redirect: Answer = (_, __, response) =>
    response.writeHead(307, { location: '/other' }).end();
  const listener = older(redirect);
  await withServer(
    (request, response) => {
      reached.push(request.url ?? '');
      listener(request, response);
    },
    async (upstream) => {
      const failure = await failureOf(upstream.call(calling('write')));

      assert.ok(NoEffect.is(failure));
      assert.match(failure.message, /it redirects, which a guard does not follow$/);
      assert.ok(!reached.includes('/other'));
    },
  );
});

const addresses: [name: string, options: Partial<HttpUpstreamOptions>, why: RegExp][] = [
  [
    'a name that resolves inside',
    { url: 'https://example.com/mcp', inside: false },
    /its name resolves to/,
  ],
  ['an inside address', { url: 'https://10.0.0.1/mcp', inside: false }, /an inside address/],
  ['plain http', { url: 'http://example.com/mcp', inside: false }, /expected https/],
  ['plain http to an outside address', { url: 'http://93.184.216.34/mcp' }, /may not leave/],
  ['plain http to a name outside', { url: 'http://example.org/mcp' }, /its name resolves to/],
  [
    'a password in the address',
    { url: `https://a:${CANARY}@example.com/mcp` },
    /a user name or a password/,
  ],
];
for (const [name, options, why] of addresses) {
  test(`openHttpUpstream() refuses ${name}`, async () => {
    const resolve: HttpUpstreamOptions['resolve'] = (hostname, _, done) =>
      done(null, [
        { address: hostname === 'example.com' ? '10.0.0.7' : '93.184.216.34', family: 4 },
      ]);
    await withServer(
      () => assert.fail('expected no request'),
      (upstream) => assert.rejects(upstream.tools(), why),
      { resolve, ...options },
    );
  });
}

test('tools() names the host and a code when nothing listens', async () => {
  await withServer(
    () => undefined,
    (upstream) =>
      assert.rejects(upstream.tools(), {
        message: 'Cannot list the tools of 127.0.0.1:9: the connection failed (ECONNREFUSED)',
      }),
    { url: `http://127.0.0.1:9/${CANARY}` },
  );
});

test('tools() names the status of a server that refuses', async () => {
  await withServer(
    (_, response) => void response.writeHead(401).end(`no ${CANARY}`),
    (upstream) => assert.rejects(upstream.tools(), /it answered with HTTP status 401$/),
  );
});

test('tools() ends with the deadline when a server hangs at its start', async () => {
  await withServer(
    () => undefined,
    (upstream) => assert.rejects(upstream.tools(), /no answer in 300 ms$/),
    { deadlineMs: 300 },
  );
});

const broken: [name: string, answer: Answer, why: RegExp][] = [
  [
    'closes the connection',
    (_, __, response) => response.destroy(),
    /the connection failed \(ECONNRESET\)/,
  ],
  [
    'answers with status 500',
    (_, __, response) => response.writeHead(500).end(CANARY),
    /HTTP status 500/,
  ],
  ['never answers', () => undefined, /no answer in 500 ms/],
  [
    'answers with garbage',
    (_, __, response) => response.setHeader('content-type', 'application/json').end(`{${CANARY}`),
    /something that is not MCP/,
  ],
  [
    'answers with a page',
    (_, __, response) => response.setHeader('content-type', 'text/html').end('<p>'),
    /something that is not MCP/,
  ],
  [
    'streams for ever',
    (_, __, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const timer = setInterval(() => response.write(': alive\n\n'), 20);
      response.on('close', () => clearInterval(timer));
    },
    /no answer in 500 ms/,
  ],
];
for (const [name, answer, why] of broken) {
  test(`call() does not know the outcome of a write when the server ${name}`, async () => {
    await withServer(
      older(answer),
      async (upstream) => {
        const write = await failureOf(upstream.call(calling('write')));

        assert.ok(HandlerFailure.is(write), write.message);
        assert.equal(write.type, 'outcome_unknown');
        assert.match(write.message, why);
        const failed = await failureOf(upstream.call(calling('echo', read)));
        assert.ok(NoEffect.is(failed));
        assert.equal(failed.type, 'service_unavailable');
      },
      { deadlineMs: 500 },
    );
  });
}

/** Writes 50 MB, as fast as the client reads. */
function flood(response: ServerResponse): void {
  const piece = Buffer.alloc(1_048_576, 'x');
  let left = 50;
  const more = () => {
    while (left-- > 0) if (!response.write(piece)) return void response.once('drain', more);
    response.end();
  };
  more();
}
for (const type of ['application/json', 'text/event-stream']) {
  test(`call() names the bound of an answer of 50 MB as ${type}`, async () => {
    const answer: Answer = (_, __, response) => {
      response.writeHead(200, { 'content-type': type });
      if (type === 'text/event-stream') response.write('data: ');
      flood(response);
    };
    await withServer(older(answer), async (upstream) => {
      const failure = await failureOf(upstream.call(calling('write')));

      assert.ok(HandlerFailure.is(failure));
      assert.equal(failure.type, 'upstream_failed');
      assert.match(failure.message, /more than 8388608 bytes\. The tool ran/);
    });
  });
}

test('call() begins a new session when the server has forgotten the old one', async () => {
  const sessions: string[] = [];
  const onCall: Answer = (asked, { headers }, response) => {
    if (headers['mcp-session-id'] === 'session-0') return void response.writeHead(404).end();
    json(response, asked, texts('here'));
  };
  await withServer(older(onCall, sessions), async (upstream) => {
    await upstream.tools();

    assert.deepEqual(await upstream.call(calling('echo', read)), texts('here'));
    assert.equal(sessions.length, 2);
  });
});

test('openHttpUpstream() opens a broken stream again after a pause, whatever the server says', async () => {
  const pauses: number[] = [];
  let streams = 0;
  const listener = older((asked, _, response) => json(response, asked, texts('')));
  await withServer(
    (request, response) => {
      if (request.method !== 'GET') return listener(request, response);
      streams += 1;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end('retry: 0\n\n');
    },
    async (upstream) => {
      await upstream.tools();
      await until(() => pauses.includes(1_000));

      assert.equal(streams, 1);
    },
    {
      platform: {
        ...system,
        after(ms, run) {
          pauses.push(ms);
          return system.after(ms, run);
        },
      },
    },
  );
});
