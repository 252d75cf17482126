import assert from 'node:assert/strict';
import { test } from 'vitest';
import { eventsOf } from './events.ts';

const SUMMARY = {
  response_mode: 'streaming',
  events_emitted: 2,
  events_delivered: 2,
  duration_ms: 1,
  client_disconnected: false,
};
const IDS = { invocation_id: 'inv-000000000000', timestamp: '2026-01-01T00:00:00.000Z' };

/** A body as a service sends it, in pieces of so many bytes. */
async function* bodyOf(events: [name: string, data: object][], size: number) {
  const text = events.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  const bytes = new TextEncoder().encode(`: alive\n\n${text.join('')}`);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

for (const [what, text] of [
  ['a line separator', 'a\u2028b'],
  ['a paragraph separator', 'a\u2029b'],
  ['a line end', 'a\r\n\nb'],
  ['a next line', 'a\u0085b'],
] as const) {
  test(`eventsOf() yields an event whose text holds ${what}`, async () => {
    const sent: [string, object][] = [
      ['progress', { ...IDS, progress: { text } }],
      ['completed', { ...IDS, success: true, result: { text }, stream_summary: SUMMARY }],
    ];

    const events = [];
    for await (const event of eventsOf(bodyOf(sent, 5))) events.push([event.event, event.data]);

    assert.deepEqual(events, sent);
  });
}
