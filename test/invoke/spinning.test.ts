/**
 * Handlers that repeat what they may do without an end: the process goes on answering, the deadline ends the
 * call, and the entry says that its outcome is unknown.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { beforeEach, test } from 'vitest';
import { entryView } from '../../src/domain/log/entry.ts';
import type { JsonObject } from '../../src/protocol/primitives.ts';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService } from '../../src/service/author/definition.ts';
import type { HandlerContext } from '../../src/service/author/handler.ts';
import { atEnd } from '../support/ends.ts';
import { eventually, testService } from '../support/world.ts';
import { ALICE, SETTINGS } from './principals.ts';

let script: (context: HandlerContext) => Promise<JsonObject>;
let isOver = false;

const definition = createService({
  id: 'spinning',
  capabilities: [
    defineCapability({
      name: 'spin',
      description: 'Repeats itself',
      side_effect: 'write',
      minimum_scope: ['w.use'],
      response_modes: ['unary', 'streaming'],
      deadline: '400ms',
      handler: (_parameters, context) => script(context),
    }),
  ],
});

const service = await testService({ definition, settings: SETTINGS });
await service.app.listen({ port: 0, host: '127.0.0.1' });
const port = (service.app.server.address() as AddressInfo).port;
const token = (await service.issue(ALICE, { scope: ['w.use'], subject: 'agent:a' })).token;
atEnd(() => (isOver = true));
beforeEach(() => {
  isOver = false;
});

/** A handler that tells of progress until something stops it. */
const telling =
  (event: JsonObject) =>
  async ({ progress }: HandlerContext) => {
    while (!isOver) await progress(event);
    return {};
  };

async function assertAlive(): Promise<void> {
  assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200);
}

/** Sends one call over a socket of its own. */
function send(stream: boolean, reference: string): Socket {
  const body = JSON.stringify({ parameters: {}, stream, client_reference_id: reference });
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(
    [
      'POST /svc/invoke/spin HTTP/1.1',
      'host: x',
      `authorization: Bearer ${token}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
      '',
      body,
    ].join('\r\n'),
  );
  return socket;
}

async function entriesOf(reference: string) {
  const query = { clientReferenceId: reference, limit: 10 };
  const { entries } = await service.store.queryEntries(query);
  return entries.map(entryView).reverse();
}

/** The call's own entry, once there is one, with health asked all the while. */
async function entryOf(reference: string) {
  await eventually(async () => {
    await assertAlive();
    return (await entriesOf(reference)).length > 0;
  });
  const [entry] = await entriesOf(reference);
  return entry;
}

test('a handler that awaits progress in a loop is ended by its deadline while others are answered', async () => {
  script = telling({ n: 1 });
  const socket = send(false, 'loop');

  const entry = await entryOf('loop');

  assert.equal(entry?.state, 'indeterminate');
  assert.equal(entry?.failure_type, 'outcome_unknown');
  // The first progress after the deadline rejects, so the handler ends, and that is told too.
  await eventually(async () => (await entriesOf('loop')).length === 2);
  const [, late] = await entriesOf('loop');
  assert.deepEqual([late?.entry_type, late?.state], ['settlement', 'failed']);
  socket.destroy();
});

test('a handler that repeats an unreadable event is ended by its deadline too', async () => {
  script = async ({ progress }) => {
    while (!isOver) await progress(undefined as never).catch(() => undefined);
    return {};
  };
  const socket = send(false, 'faulty');

  const entry = await entryOf('faulty');

  assert.equal(entry?.state, 'indeterminate');
  socket.destroy();
});

test('a handler that keeps sending events after its client left is ended by its deadline', async () => {
  script = telling({ text: 'x'.repeat(1_000) });
  const socket = send(true, 'gone');
  await new Promise((resolve) => socket.once('data', resolve));
  socket.destroy();

  const entry = await entryOf('gone');

  assert.equal(entry?.state, 'indeterminate');
  assert.equal(entry?.stream_summary?.client_disconnected, true);
});

test('events for a client that does not read are dropped, not buffered', async () => {
  script = telling({ text: 'x'.repeat(60_000) });
  const socket = send(true, 'unread');
  socket.pause();

  const entry = await entryOf('unread');

  assert.equal(entry?.state, 'indeterminate');
  assert.equal(entry?.stream_summary?.client_disconnected, false);
  socket.destroy();
});

test('a handler that awaits none of its events has most of them dropped', async () => {
  let told = 0;
  script = async ({ progress }) => {
    for (; told < 5_000; told++) void progress({ text: 'x'.repeat(1_000) });
    await progress({ last: true });
    return {};
  };
  const socket = send(true, 'unawaited');
  socket.resume();

  const entry = await entryOf('unawaited');

  assert.equal(told, 5_000);
  assert.equal(entry?.state, 'completed');
  assert.ok((entry?.stream_summary?.events_delivered ?? 0) < 100);
  socket.destroy();
});

test('a handler that ignores its deadline barely delays other calls', async () => {
  script = async ({ progress }) => {
    while (!isOver) await progress({ n: 1 }).catch(() => undefined);
    return {};
  };
  const sockets = Array.from({ length: 20 }, (_, place) => send(false, `deaf-${place}`));

  for (const [place] of sockets.entries()) {
    assert.equal((await entryOf(`deaf-${place}`))?.state, 'indeterminate');
  }
  await assertAlive();

  isOver = true;
  for (const socket of sockets) socket.destroy();
});

test('a handler cannot report costs or issue bindings without bound', async () => {
  let costs = 0;
  let bindings = 0;
  script = async ({ cost, issueBinding }) => {
    try {
      for (; ; costs++) await cost({ currency: 'USD', amount: 1 });
    } catch {
      for (; ; bindings++) await issueBinding({ type: 'quote', capability: 'spin' });
    }
  };
  const socket = send(false, 'notes');

  const entry = await entryOf('notes');

  assert.deepEqual([costs, bindings, entry?.state], [1_000, 1_000, 'failed']);
  socket.destroy();
});
