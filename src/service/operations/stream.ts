/**
 * Streams: sends one invocation to a client as events.
 *
 * The events are `started`, any number of `progress`, then exactly one `completed` or `failed`,
 * which is the answer of a unary call. A client that leaves or does not read never stops the
 * handler.
 *
 * @module
 */

import type { InvocationIds, InvokeAnswer, StreamSummary } from '../../protocol/invocation.ts';
import type { JsonObject } from '../../protocol/primitives.ts';

export type EventName = 'started' | 'progress' | 'completed' | 'failed';

/** Receives the events. The transport decides how they travel. */
export interface EventSink {
  /**
   * Offers one event, as JSON. Resolves with true when the client took it, and with false when the
   * client has left or is too far behind. Never rejects, and always resolves within a bounded time.
   */
  send(event: EventName, json: string): Promise<boolean>;
  /** Whether the client is still connected. */
  isOpen(): boolean;
}

export interface Stream {
  started(): Promise<void>;
  /** Resolves when the event was taken, or at once when the client has left. */
  progress(event: JsonObject): Promise<void>;
  /** The summary, which already counts the last event. After this call only `last` is sent. */
  summary(): StreamSummary;
  last(answer: InvokeAnswer): Promise<void>;
}

export function createStream(ids: InvocationIds, sink: EventSink, clock: { now(): Date }): Stream {
  const begun = clock.now().getTime();
  let emitted = 0;
  let delivered = 0;
  let closing = false;

  async function emit(event: EventName, data: object): Promise<void> {
    const json = JSON.stringify({ ...data, timestamp: clock.now().toISOString() });
    emitted += 1;
    if (await sink.send(event, json)) delivered += 1;
  }

  return {
    started: () => emit('started', ids),
    async progress(event) {
      if (!closing) await emit('progress', { ...ids, progress: event });
    },
    summary() {
      closing = true;
      return {
        response_mode: 'streaming',
        events_emitted: emitted + 1,
        events_delivered: sink.isOpen() ? delivered + 1 : delivered,
        duration_ms: Math.max(0, clock.now().getTime() - begun),
        client_disconnected: !sink.isOpen(),
      };
    },
    last: (answer) => emit(answer.success ? 'completed' : 'failed', answer),
  };
}
