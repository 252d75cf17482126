/**
 * Server-sent events: how a stream travels over HTTP.
 *
 * A client that reads slowly may miss progress, but never the last event as long as it goes on reading.
 * Data is JSON on one line, so nothing in it can pass for the syntax of an event.
 *
 * @module
 */

import type { Writable } from 'node:stream';
import type { Platform } from '../platform.ts';
import type { EventName, EventSink } from '../service/operations/stream.ts';
import { createLineWriter, createPace } from '../service/pace/line-writer.ts';

/** In milliseconds: proxies close what is silent for half a minute or a minute. */
const HEARTBEAT_MS = 15_000;

/** In milliseconds: how long a client may take for what is left when the call has ended. */
const LAST_MS = 30_000;

export interface EventStream extends EventSink {
  end(): void;
}

export interface EventStreamTiming {
  readonly stallMs?: number;
  readonly lastMs?: number;
}

/** Of an answer that is a stream. */
export const EVENT_STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
};

/** Takes over the output. From here on every failure is an event, not a status. */
export function openEventStream(
  platform: Platform,
  output: Writable,
  { stallMs, lastMs = LAST_MS }: EventStreamTiming = {},
): EventStream {
  const writer = createLineWriter(output, platform);
  const pace = createPace(writer, stallMs);
  const heartbeat = platform.every(HEARTBEAT_MS, () => writer.write(': alive\n\n'));
  heartbeat.unref();
  void writer.gone.then(() => platform.cancel(heartbeat));

  let isOver = false;
  const write = (event: EventName, json: string) => {
    // Progress that waited for the client is dropped once the last event was written.
    if (isOver) return false;
    isOver = event === 'completed' || event === 'failed';
    return writer.write(`event: ${event}\ndata: ${json}\n\n`);
  };
  return {
    isOpen: writer.isOpen,
    async send(event, json) {
      const isLast = event === 'completed' || event === 'failed';
      if (!isLast && !(await pace())) return false;
      return write(event, json);
    },
    end() {
      platform.cancel(heartbeat);
      output.end();
      const cut = platform.after(lastMs, () => output.destroy());
      cut.unref();
      output.once('close', () => platform.cancel(cut));
    },
  };
}
