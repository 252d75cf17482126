/**
 * Server-sent events: how a stream travels over HTTP.
 *
 * A client that leaves is noticed and written to no more; one that does not read is waited for, but
 * only so long. Data is JSON on one line, so nothing in it can pass for the syntax of an event.
 *
 * @module
 */

import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { EventName, EventSink } from '../service/stream.ts';

/** Proxies close what is silent for half a minute or a minute. */
const HEARTBEAT_MS = 15_000;

/** A client that takes nothing for this long has stopped reading; a handler may wait for it. */
const STALL_MS = 3_000;

export interface EventStream extends EventSink {
  end(): void;
}

/** Takes over the response. From here on every failure is an event, not a status. */
export function openEventStream(
  response: ServerResponse,
  headers: OutgoingHttpHeaders,
  stallMs = STALL_MS,
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

  /** Waits until the client has read on, has left, or has taken nothing for too long. */
  function taken(): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (result: boolean) => {
        clearTimeout(timer);
        response.off('drain', drained);
        response.off('close', gone);
        if (!result) response.destroy();
        resolve(result);
      };
      const drained = () => settle(true);
      const gone = () => settle(false);
      const timer = setTimeout(gone, stallMs);
      response.once('drain', drained);
      response.once('close', gone);
    });
  }

  return {
    async send(event: EventName, json: string) {
      if (!open) return false;
      if (response.write(`event: ${event}\ndata: ${json}\n\n`)) return true;
      return taken();
    },
    end() {
      close();
      response.end();
    },
  };
}
