/**
 * A surface: one way to call a running service, as the scenarios use it.
 *
 * The author of a transport writes one and runs the scenarios over it. A surface with only some operations
 * passes the others to another one. Two are here: over HTTP and over a pipe; MCP has a file of its own.
 *
 * @module
 */

import type { Readable, Writable } from 'node:stream';
import { type Operation, type OperationName, operations } from '../protocol/operations.ts';
import type { JsonObject } from '../protocol/primitives.ts';

/**
 * One way to call the operations of a service.
 *
 * @example
 * import { overHttp, type Surface } from 'writ/conformance';
 *
 * const asked: string[] = [];
 * const counted = (surface: Surface): Surface => ({
 *   ask(operation, ...rest) {
 *     asked.push(operation);
 *     return surface.ask(operation, ...rest);
 *   },
 * });
 * const surface = counted(overHttp('http://127.0.0.1:8420'));
 */
export interface Surface {
  /** Calls one operation. A refusal is an answer; this rejects only when the transport itself failed. */
  ask(operation: OperationName, request: JsonObject, credential?: string): Promise<SurfaceAnswer>;
  /** The surface with all operations, where this one has only some. */
  readonly whole?: Surface;
}

/**
 * The answer, after the end of its stream.
 *
 * @example
 * import type { SurfaceAnswer } from 'writ/conformance';
 *
 * const answer: SurfaceAnswer = {
 *   body: { success: true, result: { pages: 3 } },
 *   events: [{ event: 'progress', data: { progress: 'page 2 of 3' } }],
 *   headers: { 'idempotent-replayed': 'true' },
 * };
 * console.log(answer.events.length);
 */
export interface SurfaceAnswer {
  /** The answer; of a stream, its last event. */
  readonly body: JsonObject;
  /** The earlier events of a stream, in order; empty without a stream. */
  readonly events: readonly SurfaceEvent[];
  /** Lower-case names. On transports without headers, their equivalents. */
  readonly headers: Readonly<Record<string, string>>;
  /** On transports that have one. */
  readonly status?: number;
}

/**
 * An event of a stream before its last one.
 *
 * @example
 * import type { SurfaceEvent } from 'writ/conformance';
 *
 * const eventIn = (text: string): SurfaceEvent => JSON.parse(text);
 * console.log(eventIn('{"event":"progress","data":{"progress":"page 2 of 3"}}').event);
 */
export interface SurfaceEvent {
  readonly event: string;
  readonly data: JsonObject;
}

/**
 * Over HTTP, with each field where the operation's row places it. `send` answers the requests; by default the
 * network does.
 *
 * @example
 * import { createService, mount } from 'writ';
 * import { overHttp } from 'writ/conformance';
 *
 * const service = createService({ id: 'demo', capabilities: [] });
 * const desk = await mount(service, { prefix: '/desk', settings: { store: 'memory:' } });
 * const surface = overHttp('http://127.0.0.1/desk', desk.fetch);
 * console.log((await surface.ask('discovery', {})).status);
 * await desk.close();
 */
export function overHttp(
  url: string,
  send: (request: Request) => Promise<Response> = fetch,
): Surface {
  return {
    async ask(name, request, credential) {
      const [address, init] = httpRequest(url, operations[name], request, credential);
      const response = await send(new Request(address, init));
      const text = await response.text();
      const headers = Object.fromEntries(response.headers);
      const { status } = response;
      if (!headers['content-type']?.startsWith('text/event-stream')) {
        return { body: JSON.parse(text), events: [], headers, status };
      }
      const events = eventsOf(text);
      const last = events.pop();
      if (!last) throw new Error(`Cannot tell how ${name} ended: its stream has no event`);
      return { body: last.data, events, headers, status };
    },
  };
}

/**
 * Over a pipe: the service reads `input` and writes `output`.
 *
 * @example
 * import { PassThrough } from 'node:stream';
 * import { createService, serveStdio } from 'writ';
 * import { overStdio } from 'writ/conformance';
 *
 * const service = createService({ id: 'demo', capabilities: [] });
 * const pipe = { input: new PassThrough(), output: new PassThrough() };
 * const settings = { store: 'memory:' };
 * const running = await serveStdio(service, { ...pipe, settings, signals: false });
 * const { body } = await overStdio(pipe).ask('jwks', {});
 * console.log(Object.keys(body));
 * await running.close();
 */
export function overStdio({ input, output }: { input: Writable; output: Readable }): Surface {
  const open = new Map<number, { events: SurfaceEvent[]; settle(message: Message): void }>();
  let next = 0;
  let text = '';
  output.on('data', (piece) => {
    const lines = (text + piece).split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) hear(JSON.parse(line));
  });
  function hear(message: Message): void {
    const { id, params } = message;
    if (params)
      open.get(params.request_id)?.events.push({ event: params.event, data: params.data });
    else if (typeof id === 'number') open.get(id)?.settle(message);
  }
  return {
    ask(name, request, credential) {
      const id = next++;
      const auth = credential === undefined ? {} : { auth: { bearer: credential } };
      const method = `svc.${name}`;
      input.write(
        `${JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...request, ...auth } })}\n`,
      );
      return new Promise((resolve, reject) => {
        const events: SurfaceEvent[] = [];
        const settle = ({ result, error, headers = {} }: Message) => {
          open.delete(id);
          if (result) resolve({ body: result, events, headers });
          else reject(new Error(`Cannot ask ${method}: ${error?.message}`));
        };
        open.set(id, { events, settle });
      });
    },
  };
}

interface Message {
  readonly id?: number | string | null;
  readonly result?: JsonObject;
  readonly error?: { readonly message: string };
  readonly headers?: Record<string, string>;
  readonly params?: { request_id: number; event: string; data: JsonObject };
}

function httpRequest(
  url: string,
  { method, path, rest, headers: placed = {} }: Operation,
  request: JsonObject,
  credential: string | undefined,
): [address: URL, init: RequestInit] {
  const left = { ...request };
  const take = (field: string) => {
    const value = left[field];
    delete left[field];
    return value;
  };
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, field) =>
    encodeURIComponent(String(take(field))),
  );
  const address = new URL(`${url}${filled}`);
  const headers = new Headers();
  if (credential !== undefined) headers.set('authorization', `Bearer ${credential}`);
  for (const [field, header] of Object.entries(placed)) {
    const value = take(field);
    if (value !== undefined) headers.set(header, String(value));
  }
  if (rest === 'query') {
    for (const [field, value] of Object.entries(left))
      address.searchParams.set(field, String(value));
    return [address, { method, headers }];
  }
  headers.set('content-type', 'application/json');
  return [address, { method, headers, body: JSON.stringify(left) }];
}

/** Server-sent events as our service writes them: one line of data each. */
function eventsOf(text: string): SurfaceEvent[] {
  return [...text.matchAll(/^event: (\w+)\ndata: (.*)$/gm)].map(([, event = '', data = '']) => ({
    event,
    data: JSON.parse(data),
  }));
}
