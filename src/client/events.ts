/**
 * Reads the stream of an invocation.
 *
 * Ends with exactly one last event: `completed`, `failed`, `refused` before anything ran, or `lost`
 * when the outcome is unknown.
 *
 * @module
 */

import { readJson } from '../domain/wire/json.ts';
import { StreamEvent } from '../protocol/invocation.ts';
import type { JsonObject } from '../protocol/primitives.ts';
import type { Refused } from './reply.ts';

/**
 * An event of `client.stream()`: an event of the service, or `refused` or `lost` by the client.
 *
 * @example
 * import { createService, defineCapability } from 'writ';
 * import type { ClientEvent } from 'writ/client';
 * import { testService } from 'writ/testing';
 *
 * const count = defineCapability({
 *   name: 'count', description: 'Count', side_effect: 'read', minimum_scope: ['count'],
 *   response_modes: ['streaming'], handler: () => ({ counted: 3 }),
 * });
 * const desk = await testService(createService({ id: 'demo', capabilities: [count] }));
 * const { client } = await desk.caller('tester');
 * const events: ClientEvent[] = [];
 * for await (const each of client.stream({ capability: 'count', parameters: {} })) events.push(each);
 * console.log(events.map(({ event }) => event));
 * await desk.close();
 */
export type ClientEvent<Result = JsonObject> =
  | Exclude<StreamEvent, { event: 'completed' }>
  | { event: 'completed'; data: Omit<Completed, 'result'> & { result: Result } }
  /** Nothing ran. */
  | { readonly event: 'refused'; readonly data: Refused }
  /** It may have run, and may still run. */
  | { readonly event: 'lost'; readonly data: Refused };

type Completed = Extract<StreamEvent, { event: 'completed' }>['data'];

/** Bytes of one event: progress has at most 64 KiB, but the last event is a whole answer. */
const EVENT_BYTES_MAX = 4 * 1024 * 1024;

/** The events of a body, until the last one. Throws when the body is cut off or is not an event stream. */
export async function* eventsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<StreamEvent> {
  for await (const block of blocksOf(body)) {
    const event = eventOf(block);
    if (!event) continue;
    yield event;
    if (event.event === 'completed' || event.event === 'failed') return;
  }
  throw new Error('the stream ended before its last event');
}

/** The texts between empty lines. */
async function* blocksOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true });
    const blocks = rest.split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? '';
    yield* blocks;
    if (rest.length > EVENT_BYTES_MAX) throw new Error(`an event of over ${EVENT_BYTES_MAX} bytes`);
  }
}

/** `undefined` for a comment, and for an event of a later version. */
function eventOf(block: string): StreamEvent | undefined {
  // Flag "s": without it "." stops at U+2028, which ends no line in JSON or in an event stream.
  const fields = block.split(/\r?\n/).map((line) => /^(event|data): ?(.*)$/s.exec(line));
  const fieldText = (name: string) =>
    fields.flatMap((field) => (field?.[1] === name ? [field[2] ?? ''] : [])).join('\n');
  const data = fieldText('data');
  if (data === '') return undefined;
  const reading = readJson(new TextEncoder().encode(data), {
    bytes: EVENT_BYTES_MAX,
    depth: 64,
    keys: 1_000_000,
  });
  if ('fault' in reading) throw new Error(`an event that is not JSON: ${reading.fault}`);
  const event = { event: fieldText('event'), data: reading.value };
  return StreamEvent.safeParse(event).success ? (event as StreamEvent) : undefined;
}
