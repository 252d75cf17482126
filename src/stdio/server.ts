/**
 * A service asked over a pair of streams: JSON-RPC 2.0, one message a line.
 *
 * Methods are `svc.` and the name of an operation; the fields of its request are the params, with the
 * credential beside them in `auth.bearer`. Requests run side by side and are answered as they end. A
 * refusal is a result. Input is read no faster than it is answered, so nothing grows without bound.
 *
 * Invariant: whatever ends the conversation, calls that run are finished and recorded first.
 *
 * @module
 */

import { setMaxListeners } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { failure, Refusal } from '../domain/failure.ts';
import { INVALID_REQUEST, METHOD_NOT_FOUND } from '../protocol/json-rpc.ts';
import { type OperationName, operations } from '../protocol/operations.ts';
import type { Document } from '../service/core/documents.ts';
import {
  type Answer,
  type Ask,
  failureOf,
  isDocument,
  perform,
  unreadFailure,
} from '../service/core/operations.ts';
import { newInvocationId } from '../service/core/random.ts';
import type { EventSink } from '../service/core/stream.ts';
import {
  createLineWriter,
  createPace,
  type LineWriter,
  STALL_MS,
} from '../service/pace/line-writer.ts';
import { createLineCutter, type Line } from '../service/pace/lines.ts';
import type { Runtime } from '../service/runtime.ts';
import * as rpc from './rpc.ts';

/** Each may hold a line and a place in the store's queue. More wait in the pipe. */
const REQUESTS_IN_WORK_MAX = 256;

/** As much as a header of HTTP holds. */
const BEARER_LENGTH_MAX = 8 * 1_024;

const METHOD_PREFIX = 'svc.';
const PROGRESS_METHOD = 'svc.invoke.progress';

export interface Pipe {
  readonly input: Readable;
  readonly output: Writable;
}

export interface Conversation {
  /** Resolves when the input has ended or the client has left, and every call that ran has ended. */
  readonly ended: Promise<void>;
  /** Takes no further line. Calls that run may still end and be answered, for `graceMs` at most. */
  stop(graceMs: number): void;
}

interface Desk {
  readonly runtime: Runtime;
  readonly writer: LineWriter;
  /** What is in work, by its id. */
  readonly running: Map<rpc.RpcId, Promise<void>>;
  /** Aborted when no further line is taken, also of those that were read already. */
  readonly over: AbortSignal;
  /** Aborted when the client has left. */
  readonly left: AbortSignal;
}

/** Takes requests from `input` from now on. */
export function converse(runtime: Runtime, { input, output }: Pipe): Conversation {
  const writer = createLineWriter(output, runtime.platform);
  const over = new AbortController();
  const left = new AbortController();
  // Each request in work may listen.
  setMaxListeners(0, left.signal);
  const desk: Desk = {
    ...{ runtime, writer, running: new Map() },
    ...{ over: over.signal, left: left.signal },
  };
  let timeUp = () => {};
  const late = new Promise<void>((resolve) => {
    timeUp = resolve;
  });
  function hangUp(): void {
    over.abort();
    input.destroy();
    runtime.release();
  }
  void writer.gone.then(() => {
    left.abort();
    hangUp();
  });
  return {
    ended: listen(desk, input).then(() => finish(desk, late)),
    stop(graceMs) {
      hangUp();
      runtime.platform.after(graceMs, timeUp).unref();
    },
  };
}

async function listen(desk: Desk, input: Readable): Promise<void> {
  const cutter = createLineCutter(rpc.LINE_LIMITS.bytes);
  try {
    for await (const piece of input as AsyncIterable<Uint8Array>) {
      for (const line of cutter.cut(piece)) await take(desk, line);
    }
    const rest = cutter.rest();
    if (rest) await take(desk, rest);
  } catch (error) {
    // A stream that is destroyed while it is read says so; that there is no more is all it means.
    desk.runtime.log.debug({ err: error }, 'input ended early');
  }
}

async function finish({ running, writer }: Desk, late: Promise<void>): Promise<void> {
  const answered = Promise.all(running.values()).then(() => writer.flushed(STALL_MS));
  await Promise.race([answered, late]);
}

/** Answers a line at once, or starts what it asks for. Resolves when there is room for the next. */
async function take(desk: Desk, line: Line): Promise<void> {
  const { runtime, writer, running } = desk;
  if (desk.over.aborted) return;
  const reading = 'tooLong' in line ? rpc.readLongLine(line.start) : rpc.readLine(line.bytes);
  if ('error' in reading) writer.write(refusalLine(desk, reading));
  else if ('request' in reading) start(desk, reading.request);
  else runtime.log.debug({ line: reading.ignored }, 'a line was ignored');

  if (running.size >= REQUESTS_IN_WORK_MAX) await unlessOver(desk, Promise.race(running.values()));
  await unlessOver(desk, writer.ready());
}

/** Waits, but not beyond the end of the conversation, on which it leaves nothing behind. */
function unlessOver({ over }: Desk, awaited: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      over.removeEventListener('abort', go);
      resolve();
    };
    if (over.aborted) return go();
    over.addEventListener('abort', go);
    awaited.then(go, go);
  });
}

interface Unasked {
  readonly error: rpc.RpcError;
  readonly id: rpc.RpcId | null;
  /** Absent where it could not be read. */
  readonly method?: string | undefined;
}

/**
 * A request for which no operation was asked. What may have been an invocation gets an id, as on HTTP
 * (decision 0044). Under the id of a request that runs, the error would pass for its answer.
 */
function refusalLine({ runtime, running }: Desk, { error, id, method }: Unasked): string {
  const name = method === undefined ? 'invoke' : operationOf(method);
  const data = { invocation_id: newInvocationId(runtime.platform) };
  const told = name === 'invoke' || name === 'test' ? { ...error, data } : error;
  return rpc.errorLine(id !== null && running.has(id) ? null : id, told);
}

function start(desk: Desk, request: rpc.RpcRequest): void {
  const { runtime, writer, running } = desk;
  const { id, method } = request;
  if (running.has(id)) {
    const message = `Cannot take a second request ${JSON.stringify(id)}: the first still runs`;
    writer.write(refusalLine(desk, { id, method, error: { code: INVALID_REQUEST, message } }));
    return;
  }
  const name = operationOf(method);
  const bound = name && runtime.methods[name];
  if (!name || !bound) {
    const message = `Cannot call "${method.slice(0, 128)}": the service has no such method`;
    writer.write(refusalLine(desk, { id, method, error: { code: METHOD_NOT_FOUND, message } }));
    return;
  }
  const work = perform(name, bound, askOf(request, desk.left), runtime)
    .then((answer) => answerLine(desk, id, answer))
    .then((line) => void writer.write(line))
    .finally(() => running.delete(id));
  running.set(id, work);
}

function operationOf(method: string): OperationName | undefined {
  if (!method.startsWith(METHOD_PREFIX)) return undefined;
  const name = method.slice(METHOD_PREFIX.length);
  return Object.hasOwn(operations, name) ? (name as OperationName) : undefined;
}

function askOf({ params: { auth, ...fields } }: rpc.RpcRequest, left: AbortSignal): Ask {
  return { bearer: () => bearerOf(auth), input: () => fields, gone: () => left };
}

/** The credential, when exactly one was presented in the one place for it. */
function bearerOf(auth: unknown): string | undefined {
  if (auth === undefined || auth === null) return undefined;
  const { bearer, ...others } = Object(auth) as Record<string, unknown>;
  const clear =
    Object.keys(others).length === 0 &&
    typeof bearer === 'string' &&
    bearer.length <= BEARER_LENGTH_MAX &&
    /^[\x21-\x7e]+$/.test(bearer);
  if (clear) return bearer;
  const detail = 'Cannot read "auth": expected {"bearer": …} with a credential';
  throw new Refusal(failure('authentication_required', detail));
}

async function answerLine(desk: Desk, id: rpc.RpcId, answer: Answer | Document): Promise<string> {
  if (!isDocument(answer) && answer.stream) {
    const body = await told(desk, id, answer.stream);
    return rpc.resultLine(id, JSON.stringify(body), headersOf(answer));
  }
  // The exact text where there is one: a signature over it holds for the result as it stands.
  const json = answer.text ?? JSON.stringify((answer as Answer).body);
  return rpc.resultLine(id, json, headersOf(answer));
}

/** Runs a stream: what happens on the way is notified, what it comes to is the result. */
async function told(
  { runtime, writer }: Desk,
  id: rpc.RpcId,
  stream: NonNullable<Answer['stream']>,
): Promise<object> {
  const pace = createPace(writer);
  const sink: EventSink = {
    isOpen: writer.isOpen,
    async send(event, json) {
      if (event === 'completed' || event === 'failed') return true;
      if (!(await pace())) return false;
      const params = { request_id: id, event, data: JSON.parse(json) };
      return writer.write(rpc.notificationLine(PROGRESS_METHOD, params));
    },
  };
  try {
    return await stream(sink);
  } catch (error) {
    return unreadFailure(runtime.platform, failureOf('invoke', error, runtime.log));
  }
}

/** How long a copy may be kept is a matter of HTTP; everything else belongs to the answer. */
function headersOf({ headers = {} }: Answer | Document): object | undefined {
  const { 'cache-control': _, ...meant } = headers;
  return Object.keys(meant).length > 0 ? meant : undefined;
}
