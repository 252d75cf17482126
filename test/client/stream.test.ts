/**
 * Streams as a program reads them: to the end, left early, refused, and cut off.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { ClientEvent } from '../../src/client/index.ts';
import { openDesk, TRIP } from './desk.ts';

const SEARCH = { capability: 'search_flights', parameters: TRIP };
const REPORT = { capability: 'export_report', parameters: { months: 2 } };

const desk = await openDesk();

test('stream() yields each event, and ends with the answer', async () => {
  const client = await desk.client(['travel.search']);

  const events = await all(client.stream(SEARCH));

  const names = events.map(({ event }) => event);
  assert.equal(names[0], 'started');
  assert.equal(names.at(-1), 'completed');
  assert.ok(names.slice(1, -1).every((name) => name === 'progress') && names.length > 2);
});

test('stream() yields a refusal as its only event', async () => {
  const client = await desk.client(['travel.book']);

  const events = await all(client.stream(SEARCH));

  assert.deepEqual(
    events.map((event) => [event.event, event.event === 'refused' && event.data.failure.type]),
    [['refused', 'scope_insufficient']],
  );
});

test('stream() lets the handler finish when the reader stops', async () => {
  const client = await desk.client(['travel.read'], {
    token: { purpose_parameters: { task_id: 'left' } },
  });

  // Long enough for the service to see the reader go, however busy the machine is.
  const report = { ...REPORT, parameters: { months: 15 } };
  for await (const { event } of client.stream(report)) if (event === 'progress') break;

  const entry = await settled('left');
  assert.equal(entry.success, true);
  assert.equal(entry.stream_summary.client_disconnected, true);
});

test('stream() reports an unknown outcome when it is cut off', async () => {
  const client = await desk.client(['travel.read'], {
    async fetch(input, init) {
      const response = await fetch(input, init);
      if (!String(input).includes('/svc/invoke/')) return response;
      const reader = response.body?.getReader();
      const first = await reader?.read();
      await reader?.cancel();
      return new Response(first?.value, { headers: response.headers });
    },
  });

  const events = await all(client.stream(REPORT));

  assert.deepEqual(
    events.map(({ event }) => event),
    ['started', 'lost'],
  );
});

test('stream() fails when the service is silent, and not when the reader is slow', async () => {
  const silenceMs = 200;
  const client = await desk.client(['travel.read'], {
    silenceMs,
    async fetch(input, init) {
      const response = await fetch(input, init);
      if (!String(input).includes('/svc/invoke/')) return response;
      const told = (await response.text()).split('event: completed')[0];
      return silentAfter(told ?? '', init?.signal);
    },
  });
  const events: ClientEvent[] = [];

  for await (const event of client.stream(REPORT)) {
    events.push(event);
    // Slower than the bound: whatever came meanwhile is still there to be read.
    await new Promise((resolve) => setTimeout(resolve, 2 * silenceMs));
  }

  assert.deepEqual(
    events.map(({ event }) => event),
    ['started', 'progress', 'progress', 'lost'],
  );
  const last = events.at(-1);
  assert.ok(last?.event === 'lost');
  assert.match(last.data.failure.detail, /no data in 200 ms/);
});

test('stream() ends with what the caller aborted with', async () => {
  const client = await desk.client(['travel.read']);
  const controller = new AbortController();

  const reading = (async () => {
    for await (const _ of client.stream(REPORT, { signal: controller.signal })) {
      controller.abort(new Error('enough'));
    }
  })();

  await assert.rejects(reading, /enough/);
});

/** An answer that begins so and then neither goes on nor ends. */
function silentAfter(text: string, signal: AbortSignal | null | undefined): Response {
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(text));
      signal?.addEventListener('abort', () => controller.error(signal.reason));
    },
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

async function all(events: AsyncIterable<ClientEvent>): Promise<ClientEvent[]> {
  const found: ClientEvent[] = [];
  for await (const event of events) found.push(event);
  return found;
}

/** The entry of a task's one invocation, once there is one. */
async function settled(task: string) {
  for (let turn = 0; turn < 100; turn += 1) {
    const path = `/svc/audit?task_id=${task}`;
    const { body } = await desk.service.ask('POST', path, { bearer: 'demo-human-key' });
    if (body.entries[0]) return body.entries[0];
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('Cannot find the entry');
}
