import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'vitest';
import { system } from '../platform.ts';
import { type EventStream, type EventStreamTiming, openEventStream } from './sse.ts';

const EVENT = JSON.stringify({ filling: 'x'.repeat(60_000) });

interface Told {
  readonly events: EventStream;
  readonly response: ServerResponse;
  /** What the client holds; it reads nothing until it is told to. */
  readonly client: IncomingMessage;
}

/** One stream over a real socket, to a client that has not begun to read. */
async function withStream(
  timing: EventStreamTiming,
  run: (told: Told) => Promise<void>,
): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const asked = request({ port, host: '127.0.0.1', agent: false }).end();
  asked.on('error', () => undefined);
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse];
  const events = openEventStream(system, response, timing);
  response.flushHeaders();
  const [client] = (await once(asked, 'response')) as [IncomingMessage];
  client.on('error', () => undefined);
  client.pause();
  try {
    await run({ events, response, client });
  } finally {
    asked.destroy();
    server.closeAllConnections();
    server.close();
  }
}

async function textOf(client: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of client) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Tells until the client is behind. */
async function fill({ events }: Told): Promise<number> {
  let taken = 0;
  while (await events.send('progress', EVENT)) taken += 1;
  return taken;
}

test('send() keeps a bound when nobody reads and the handler does not wait', async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => void warnings.push(warning);
  process.on('warning', note);
  await withStream({ stallMs: 100 }, async (told) => {
    await fill(told);
    const sent = Array.from({ length: 1_000 }, () => told.events.send('progress', EVENT));
    const taken = (await Promise.all(sent)).filter(Boolean).length;

    assert.equal(taken, 0);
    assert.ok(told.response.writableLength < 2 * 1_048_576, `${told.response.writableLength}`);
    assert.equal(told.events.isOpen(), true);
  });
  process.off('warning', note);
  assert.deepEqual(warnings, []);
});

test('send() waits for a client that is behind no longer than it may, and then not at all', async () => {
  await withStream({ stallMs: 200 }, async (told) => {
    await fill(told);

    // A wait for each would outlast the test by far.
    for (let i = 0; i < 1_000; i++) assert.equal(await told.events.send('progress', EVENT), false);
  });
});

test('send() goes on telling a client that has caught up', async () => {
  await withStream({ stallMs: 50 }, async (told) => {
    await fill(told);
    const reading = textOf(told.client);
    while (!(await told.events.send('progress', '{"step":2}'))) await sleep(5);
    await told.events.send('completed', '{"ok":true}');
    told.events.end();

    const text = await reading;
    assert.match(
      text,
      /event: progress\ndata: \{"step":2\}\n\nevent: completed\ndata: \{"ok":true\}\n\n$/,
    );
  });
});

test('send() tells the last event to a client that is behind, and nothing after it', async () => {
  await withStream({ stallMs: 60_000 }, async (told) => {
    let isBlocked = false;
    while (!isBlocked) {
      const sent = told.events.send('progress', EVENT).then(() => 'sent');
      isBlocked = (await Promise.race([sent, sleep(50, 'waits')])) === 'waits';
    }
    const waiting = told.events.send('progress', '{"late":true}');
    assert.equal(await told.events.send('failed', '{"ok":false}'), true);
    const reading = textOf(told.client);
    assert.equal(await waiting, false);
    told.events.end();

    const text = await reading;
    assert.match(text, /event: failed\ndata: \{"ok":false\}\n\n$/);
    assert.doesNotMatch(text, /late/);
  });
});

test('end() cuts a client that does not take what is left', async () => {
  await withStream({ stallMs: 50, lastMs: 50 }, async (told) => {
    await fill(told);
    await told.events.send('completed', '{}');
    told.events.end();
    await once(told.response, 'close');

    assert.equal(told.events.isOpen(), false);
    assert.equal(await told.events.send('progress', '{}'), false);
  });
});
