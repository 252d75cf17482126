/**
 * Server-sent events: how a stream travels over HTTP.
 *
 * A client that reads slowly may miss progress, but never the last event as long as it goes on reading.
 * Data is JSON on one line, so nothing in it can pass for the syntax of an event.
 *
 * @module
 */

import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Platform } from '../platform.ts';
import type { EventName, EventSink } from '../service/core/stream.ts';
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

/** Takes over the response. From here on every failure is an event, not a status. */
export function openEventStream(
  platform: Platform,
  response: ServerResponse,
  headers: OutgoingHttpHeaders,
  { stallMs, lastMs = LAST_MS }: EventStreamTiming = {},
): EventStream {
  const writer = createLineWriter(response, platform);
  const pace = createPace(writer, stallMs);
  const heartbeat = platform.every(HEARTBEAT_MS, () => writer.write(': alive\n\n'));
  heartbeat.unref();
  void writer.gone.then(() => platform.cancel(heartbeat));
  response.writeHead(200, {
    ...headers,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });

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
      response.end();
      const cut = platform.after(lastMs, () => response.destroy());
      cut.unref();
      response.once('close', () => platform.cancel(cut));
    },
  };
}
