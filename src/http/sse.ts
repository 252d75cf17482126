/**
 * Server-sent events: how a stream travels over HTTP.
 *
 * A client that leaves is noticed and written to no more. One that reads slowly, or not at all, misses
 * progress, never the last event as long as it goes on reading; what waits for it in memory is bounded.
 * Data is JSON on one line, so nothing in it can pass for the syntax of an event.
 *
 * @module
 */

import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { EventName, EventSink } from '../service/stream.ts';

/** In milliseconds: proxies close what is silent for half a minute or a minute. */
const HEARTBEAT_MS = 15_000;

/** In milliseconds: a handler waits this long for a client that is behind, and then no more. */
const STALL_MS = 3_000;

/** Events of 64 KiB that wait for a client while its handler goes on; the rest of them is dropped. */
const WAITING_MAX = 16;

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
  response: ServerResponse,
  headers: OutgoingHttpHeaders,
  { stallMs = STALL_MS, lastMs = LAST_MS }: EventStreamTiming = {},
): EventStream {
  let open = true;
  const close = () => {
    open = false;
    clearInterval(heartbeat);
  };
  const heartbeat = setInterval(() => response.write(': alive\n\n'), HEARTBEAT_MS);
  heartbeat.unref();
  response.on('close', close);
  // A reset connection raises an error here; that the client is gone is all there is to know.
  response.on('error', close);
  response.writeHead(200, {
    ...headers,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  const pace = paceOf(response, stallMs);

  let isOver = false;
  const write = (event: EventName, json: string) => {
    // Progress that waited for the client comes too late once the end is told.
    if (!open || isOver) return false;
    isOver = event === 'completed' || event === 'failed';
    response.write(`event: ${event}\ndata: ${json}\n\n`);
    return true;
  };
  return {
    isOpen: () => open,
    async send(event, json) {
      const isLast = event === 'completed' || event === 'failed';
      if (open && !isLast && !(await pace())) return false;
      return write(event, json);
    },
    end() {
      clearInterval(heartbeat);
      response.end();
      const cut = setTimeout(() => response.destroy(), lastMs);
      cut.unref();
      response.once('close', () => clearTimeout(cut));
    },
  };
}

/** Waits until the client has read on. False when it is too far behind for another event. */
function paceOf(response: ServerResponse, stallMs: number): () => Promise<boolean> {
  let draining: Promise<boolean> | undefined;
  let waiting = 0;
  let isBehind = false;
  response.on('drain', () => {
    isBehind = false;
  });
  const drained = () =>
    new Promise<boolean>((resolve) => {
      const settle = (result: boolean) => {
        clearTimeout(timer);
        response.off('drain', taken);
        response.off('close', gone);
        draining = undefined;
        isBehind = !result;
        resolve(result);
      };
      const taken = () => settle(true);
      const gone = () => settle(false);
      const timer = setTimeout(gone, stallMs);
      response.once('drain', taken);
      response.once('close', gone);
    });
  return async () => {
    if (!response.writableNeedDrain && !draining) return true;
    if (isBehind || waiting >= WAITING_MAX) return false;
    draining ??= drained();
    waiting += 1;
    try {
      return await draining;
    } finally {
      waiting -= 1;
    }
  };
}
