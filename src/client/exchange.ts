/**
 * One exchange with the service: bounded in time and size, and with nobody else.
 *
 * Uses `fetch` alone, so it runs in browsers as in Node. Knows nothing of what is asked; it only
 * tells an answer from none.
 *
 * @module
 */

import type { HttpRequest } from './request.ts';

/** Bytes of one answer. A page of a thousand entries with their leaves has less. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

export interface Line {
  /** Where the service is, without a slash at its end. */
  readonly url: string;
  readonly credential?: string | undefined;
  readonly fetch: typeof fetch;
}

export interface ExchangeOptions {
  /** Milliseconds until the answer has to be there, body included. */
  readonly timeoutMs: number;
  /** Ends it early. What it was aborted with is thrown. */
  readonly signal?: AbortSignal | undefined;
}

export interface WholeAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** Nothing that could be read came back. Whether the request arrived is not known. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/** The address of a service, without what does not belong into one. */
export function serviceUrl(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new TypeError(
      `Cannot use "${address}": expected an address such as https://desk.example`,
    );
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
}

export async function exchange(
  line: Line,
  request: HttpRequest,
  options: ExchangeOptions,
): Promise<WholeAnswer> {
  return answering(line, options, async (signal) => {
    const response = await open(line, request, signal);
    const body = await bodyOf(chunksOf(response));
    return { status: response.status, headers: response.headers, body };
  });
}

/** Opens a stream of events. The timeout is for its beginning; the signal ends it at any time. */
export async function openStream(
  line: Line,
  request: HttpRequest,
  { timeoutMs, signal }: ExchangeOptions & { signal: AbortSignal },
): Promise<Response> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error(`no answer in ${timeoutMs} ms`)), timeoutMs);
  try {
    return await open(line, request, AbortSignal.any([signal, late.signal]));
  } catch (error) {
    signal.throwIfAborted();
    throw noAnswer(line, error);
  } finally {
    clearTimeout(timer);
  }
}

/** All of a body, or an error when there is more than fits. */
export async function bodyOf(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > ANSWER_BYTES_MAX) throw new Error(`more than ${ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/** With a reader: not every browser can iterate a body. */
export async function* chunksOf({ body }: Response): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  for (;;) {
    const read = await reader?.read();
    if (!read || read.done) return;
    yield read.value;
  }
}

/** The same chunks. Calls `onSilence` when the next one does not come in time; who reads slowly may. */
export async function* heard(
  chunks: AsyncGenerator<Uint8Array>,
  silenceMs: number,
  onSilence: (why: Error) => void,
): AsyncGenerator<Uint8Array> {
  for (;;) {
    const late = () => onSilence(new Error(`no sign of life in ${silenceMs} ms`));
    const timer = setTimeout(late, silenceMs);
    const next = await chunks.next().finally(() => clearTimeout(timer));
    if (next.done) return;
    yield next.value;
  }
}

/** What others fetch, for one who waits only so long. Throws like an exchange; cancels nothing. */
export async function within<Result>(
  fetched: Promise<Result>,
  { timeoutMs, signal }: ExchangeOptions,
): Promise<Result> {
  signal?.throwIfAborted();
  let stop = () => {};
  const stopped = new Promise<never>((_resolve, reject) => {
    const late = () => reject(new NoAnswer(`no answer in ${timeoutMs} ms`));
    const timer = setTimeout(late, timeoutMs);
    const abort = () => reject(signal?.reason);
    signal?.addEventListener('abort', abort);
    stop = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    };
  });
  return Promise.race([fetched, stopped]).finally(stop);
}

async function answering<Result>(
  line: Line,
  { timeoutMs, signal }: ExchangeOptions,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  signal?.throwIfAborted();
  const late = AbortSignal.timeout(timeoutMs);
  try {
    return await work(signal ? AbortSignal.any([signal, late]) : late);
  } catch (error) {
    signal?.throwIfAborted();
    throw noAnswer(line, error);
  }
}

function open(line: Line, request: HttpRequest, signal: AbortSignal): Promise<Response> {
  const { method, headers, body } = request;
  const given = line.credential === undefined ? {} : { authorization: `Bearer ${line.credential}` };
  return line.fetch(`${line.url}${request.path}`, {
    method,
    headers: { ...headers, ...given },
    ...(body !== undefined && { body }),
    // A credential goes to this service and to no other that it might point to.
    redirect: 'error',
    signal,
  });
}

/** Platforms hide why a connection failed one level down. */
function noAnswer(line: Line, error: unknown): NoAnswer {
  const { cause, message } = error as Error;
  const { code } = (cause ?? {}) as { code?: string };
  const reason = code ?? (cause instanceof Error ? cause.message : message);
  return new NoAnswer(`"${line.url}" does not answer (${reason})`, { cause: error });
}
