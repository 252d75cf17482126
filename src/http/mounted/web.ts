/**
 * The adapter for the Web standard: reads a Request, makes a Response.
 *
 * An answer stays here until its body is read, its client leaves, or nothing reads it for a while.
 *
 * @module
 */

import { PassThrough, Readable } from 'node:stream';
import type { Platform } from '../../platform.ts';
import type { Bodies } from '../bounds/bodies.ts';
import { STALL_MS } from '../bounds/limits.ts';
import type { HttpAnswer, HttpAsk, WriteBody } from '../exchange.ts';
import { webBody } from './body.ts';

export interface WebExchange {
  readonly ask: HttpAsk;
  respond(answer: HttpAnswer): Response;
}

/** What a Request does not carry itself. */
export interface WebArrival {
  readonly platform: Platform;
  readonly bodies: Bodies;
  readonly target: string;
  readonly remoteAddress: string | undefined;
}

export function webExchange(request: Request, arrival: WebArrival): WebExchange {
  const { method, headers, signal } = request;
  const sent = createCalls();
  const closed = createCalls();
  if (signal.aborted) closed.run();
  else signal.addEventListener('abort', closed.run, { once: true });
  const client: Client = {
    platform: arrival.platform,
    onSent: sent.run,
    onClosed: closed.run,
    whenGone: closed.add,
  };
  return {
    ask: {
      method,
      target: arrival.target,
      // A Request need not have the header, but its address has a host.
      headers: { ...Object.fromEntries(headers), host: new URL(request.url).host },
      lines(name) {
        const value = headers.get(name);
        return value === null ? [] : [value];
      },
      remoteAddress: arrival.remoteAddress,
      localAddress: undefined,
      body: (admit) => webBody(request, arrival.bodies, admit),
      onSent: sent.add,
      onClosed: closed.add,
    },
    respond: ({ status, headers: answered, body }) => {
      if (typeof body === 'function') {
        return new Response(written(body, client), { status, headers: linesOf(answered) });
      }
      const bytes = typeof body === 'string' ? Buffer.from(body) : body;
      if (bytes) answered['content-length'] = String(bytes.length);
      const init = { status, headers: linesOf(answered) };
      if (bytes && method !== 'HEAD') return new Response(handedOver(bytes, client), init);
      sent.run();
      closed.run();
      return new Response(null, init);
    },
  };
}

/** One line for each value. */
function linesOf(headers: HttpAnswer['headers']): [name: string, value: string][] {
  const lines: [string, string][] = [];
  for (const name in headers) {
    const value = headers[name] as string | string[];
    if (typeof value === 'string') lines.push([name, value]);
    else for (const each of value) lines.push([name, each]);
  }
  return lines;
}

interface Client {
  readonly platform: Platform;
  onSent(): void;
  onClosed(): void;
  whenGone(call: () => void): void;
}

/** Functions that are called once, at once when that time has come already. */
function createCalls(): { add(call: () => void): void; run(): void } {
  let calls: (() => void)[] | undefined = [];
  return {
    add(call) {
      if (calls) calls.push(call);
      else call();
    },
    run() {
      const all = calls ?? [];
      calls = undefined;
      for (const call of all) call();
    },
  };
}

/** A whole body, given to the reader that asks for it. Dropped when nothing reads it in time. */
function handedOver(bytes: Uint8Array, client: Client): ReadableStream<Uint8Array> {
  const { platform } = client;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const late = platform.after(STALL_MS, () => {
          controller.error(new Error(`Cannot hand over the answer: unread for ${STALL_MS} ms`));
          client.onClosed();
        });
        late.unref();
        client.whenGone(() => platform.cancel(late));
      },
      pull(controller) {
        controller.enqueue(bytes);
        controller.close();
        client.onSent();
        client.onClosed();
      },
      cancel: client.onClosed,
    },
    { highWaterMark: 0 },
  );
}

/** A body that is written piece by piece. What the client does not read holds up the writer. */
function written(write: WriteBody, client: Client): ReadableStream<Uint8Array> {
  const output = new PassThrough();
  output.once('end', client.onSent);
  output.once('close', client.onClosed);
  output.on('error', () => undefined);
  client.whenGone(() => output.destroy());
  void write(output);
  return Readable.toWeb(output) as unknown as ReadableStream<Uint8Array>;
}
