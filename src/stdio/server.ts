/**
 * Serves operations over a pair of streams: JSON-RPC 2.0, one message per line.
 *
 * Methods are `svc.` and the name of an operation; the fields of its request are the params, with the
 * credential beside them in `auth.bearer`. Requests run concurrently; each is answered when it ends. A
 * refusal is a result. Reads input only while the client reads answers, so memory is bounded.
 *
 * Invariant: running calls are finished and recorded before the conversation ends.
 *
 * @module
 */

import { setMaxListeners } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { failure, Refusal } from '../domain/failure.ts';
import { INVALID_REQUEST, METHOD_NOT_FOUND } from '../protocol/json-rpc.ts';
import { type OperationName, operations } from '../protocol/operations.ts';
import type { Document } from '../service/operations/documents.ts';
import {
  type Answer,
  type Ask,
  failureOf,
  isDocument,
  perform,
  unreadFailure,
} from '../service/operations/operations.ts';
import { newInvocationId } from '../service/operations/random.ts';
import type { EventSink } from '../service/operations/stream.ts';
import {
  createLineWriter,
  createPace,
  type LineWriter,
  STALL_MS,
} from '../service/pace/line-writer.ts';
import { createLineCutter, type Line } from '../service/pace/lines.ts';
import type { Runtime } from '../service/runtime.ts';
import * as rpc from './rpc.ts';

/** Each holds a line and a place in the store's queue. Further requests wait in the pipe. */
const REQUESTS_IN_WORK_MAX = 256;

/** The limit of an HTTP header. */
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
  /** Takes no further line. Running calls may end and be answered within `graceMs`. */
  stop(graceMs: number): void;
}

interface Session {
  readonly runtime: Runtime;
  readonly writer: LineWriter;
  /** Running requests by id. */
  readonly running: Map<rpc.RpcId, Promise<void>>;
  /** Aborted when the session takes no further line, not even one that it has read. */
  readonly over: AbortSignal;
  /** Aborted when the client has left. */
  readonly left: AbortSignal;
}

/** Takes requests from `input` from now on. */
export function serveConversation(runtime: Runtime, { input, output }: Pipe): Conversation {
  const writer = createLineWriter(output, runtime.platform);
  const over = new AbortController();
  const left = new AbortController();
  // Each running request may listen.
  setMaxListeners(0, left.signal);
  const session: Session = {
    runtime,
    writer,
    running: new Map(),
    over: over.signal,
    left: left.signal,
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
    ended: listen(session, input).then(() => finish(session, late)),
    stop(graceMs) {
      hangUp();
      runtime.platform.after(graceMs, timeUp).unref();
    },
  };
}

async function listen(session: Session, input: Readable): Promise<void> {
  const cutter = createLineCutter(rpc.LINE_LIMITS.bytes);
  try {
    for await (const piece of input as AsyncIterable<Uint8Array>) {
      for (const line of cutter.cut(piece)) await take(session, line);
    }
    const rest = cutter.rest();
    if (rest) await take(session, rest);
  } catch (error) {
    // A stream that is destroyed while it is read throws; this only means that the input ended.
    session.runtime.log.debug({ err: error }, 'input ended early');
  }
}

async function finish({ running, writer }: Session, late: Promise<void>): Promise<void> {
  const answered = Promise.all(running.values()).then(() => writer.flushed(STALL_MS));
  await Promise.race([answered, late]);
}

/** Answers a line at once, or starts what it asks for. Resolves when there is room for the next. */
async function take(session: Session, line: Line): Promise<void> {
  const { runtime, writer, running } = session;
  if (session.over.aborted) return;
  const reading = 'tooLong' in line ? rpc.readLongLine(line.start) : rpc.readLine(line.bytes);
  if ('error' in reading) writer.write(refusalLine(session, reading));
  else if ('request' in reading) start(session, reading.request);
  else runtime.log.debug({ line: reading.ignored }, 'a line was ignored');

  if (running.size >= REQUESTS_IN_WORK_MAX)
    await untilOver(session, Promise.race(running.values()));
  await untilOver(session, writer.ready());
}

/** Waits until `awaited` settles or the conversation is over, and removes its listener. */
function untilOver({ over }: Session, awaited: Promise<unknown>): Promise<void> {
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

interface RefusedRequest {
  readonly error: rpc.RpcError;
  readonly id: rpc.RpcId | null;
  /** Absent where it could not be read. */
  readonly method?: string | undefined;
}

/**
 * The error for a request that runs no operation. A possible invocation gets an id, as on HTTP
 * (decision 03). With the id of a running request, the client would take the error for its answer.
 */
function refusalLine({ runtime, running }: Session, { error, id, method }: RefusedRequest): string {
  const name = method === undefined ? 'invoke' : operationOf(method);
  const data = { invocation_id: newInvocationId(runtime.platform) };
  const told = name === 'invoke' || name === 'test' ? { ...error, data } : error;
  return rpc.errorLine(id !== null && running.has(id) ? null : id, told);
}

function start(session: Session, request: rpc.RpcRequest): void {
  const { runtime, writer, running } = session;
  const { id, method } = request;
  if (running.has(id)) {
    const message = `Cannot take a second request ${JSON.stringify(id)}: the first still runs`;
    writer.write(refusalLine(session, { id, method, error: { code: INVALID_REQUEST, message } }));
    return;
  }
  const name = operationOf(method);
  const bound = name && runtime.methods[name];
  if (!name || !bound) {
    const message = `Cannot call "${method.slice(0, 128)}": the service has no such method`;
    writer.write(refusalLine(session, { id, method, error: { code: METHOD_NOT_FOUND, message } }));
    return;
  }
  const work = perform(name, bound, askOf(request, session.left), runtime)
    .then((answer) => answerLine(session, id, answer))
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

/** The credential in `auth.bearer`. Throws for any other form of `auth`. */
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

async function answerLine(
  session: Session,
  id: rpc.RpcId,
  answer: Answer | Document,
): Promise<string> {
  if (!isDocument(answer) && answer.stream) {
    const body = await runStream(session, id, answer.stream);
    return rpc.resultLine(id, JSON.stringify(body), headersOf(answer));
  }
  // Sends the exact text of a document, because its signature covers these bytes.
  const json = answer.text ?? JSON.stringify((answer as Answer).body);
  return rpc.resultLine(id, json, headersOf(answer));
}

/** Runs a stream: sends its events as notifications and returns its result. */
async function runStream(
  { runtime, writer }: Session,
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

/** Leaves out `cache-control`, which concerns HTTP only. */
function headersOf({ headers = {} }: Answer | Document): object | undefined {
  const { 'cache-control': _, ...meant } = headers;
  return Object.keys(meant).length > 0 ? meant : undefined;
}
