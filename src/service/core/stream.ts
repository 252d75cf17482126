/**
 * Streams: one invocation told as it happens, to a client that may leave at any time.
 *
 * `started`, any number of `progress`, then exactly one `completed` or `failed`, which is the answer a
 * unary call would have got. Nothing a client does, or fails to do, stops the handler.
 *
 * @module
 */

import type { InvocationIds, InvokeAnswer, StreamSummary } from '../../protocol/invocation.ts';
import type { JsonObject } from '../../protocol/primitives.ts';

export type EventName = 'started' | 'progress' | 'completed' | 'failed';

/** Where events go. A transport knows how they travel; nothing here does. */
export interface EventSink {
  /**
   * Offers one event, as JSON. Resolves with whether it was taken; false when the client has left or
   * is too far behind. Never rejects, and never waits without end.
   */
  send(event: EventName, json: string): Promise<boolean>;
  /** Whether somebody is still there. */
  isOpen(): boolean;
}

export interface Stream {
  started(): Promise<void>;
  /** Resolves when the event was taken, or at once when nobody listens any more. */
  progress(event: JsonObject): Promise<void>;
  /** What will have been told once the last event is sent. Nothing but that one is told after it. */
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
