/**
 * One exchange with the service: bounded in time and size, without redirects.
 *
 * Uses only `fetch`, so it runs in browsers as in Node. Knows nothing of operations; it only
 * distinguishes an answer from a lost one.
 *
 * @module
 */

import type { HttpRequest } from './request.ts';

/** Bytes of one answer. A page of a thousand entries with leaves is smaller. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

export interface Line {
  /** The address of the service, without a slash at its end. */
  readonly url: string;
  readonly credential?: string | undefined;
  readonly fetch: typeof fetch;
}

export interface ExchangeOptions {
  /** Milliseconds until the answer must be complete, body included. */
  readonly timeoutMs: number;
  /** Ends the exchange early and throws the reason of the abort. */
  readonly signal?: AbortSignal | undefined;
}

export interface WholeAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** No readable answer arrived. It is unknown whether the request did, unless there was no connection to send it on. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';

  isUnsent(): boolean {
    const { cause } = (this.cause ?? {}) as { cause?: { code?: string } };
    return UNCONNECTED.includes(cause?.code ?? '');
  }
}

/** The server refused the connection, or its name has no address. */
const UNCONNECTED = ['ECONNREFUSED', 'ENOTFOUND'];

/** Origin and path of a service's address. Throws for another scheme, and for an address with a user. */
export function serviceUrl(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new TypeError(
      // Without a user and a password.
      `Cannot use "${address.replace(/\/\/.*@/s, '//…@')}": expected an address such as https://desk.example`,
    );
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
}

export async function wholeExchange(
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

/** The whole body. Throws when it is larger than `ANSWER_BYTES_MAX`. */
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

/** The same chunks. Calls `onSilence` when the next one is late; time that the reader takes does not count. */
export async function* heard(
  chunks: AsyncGenerator<Uint8Array>,
  silenceMs: number,
  onSilence: (why: Error) => void,
): AsyncGenerator<Uint8Array> {
  for (;;) {
    const late = () => onSilence(new Error(`no data in ${silenceMs} ms`));
    const timer = setTimeout(late, silenceMs);
    const next = await chunks.next().finally(() => clearTimeout(timer));
    if (next.done) return;
    yield next.value;
  }
}

/** Waits for a shared fetch with a timeout. Throws like an exchange, and does not cancel the fetch. */
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
    // No redirects: the credential is for this service only.
    redirect: 'error',
    signal,
  });
}

/** `fetch` has the reason of a failed connection in `cause`. */
function noAnswer(line: Line, error: unknown): NoAnswer {
  const { cause, message } = error as Error;
  const { code } = (cause ?? {}) as { code?: string };
  const reason = code ?? (cause instanceof Error ? cause.message : message);
  return new NoAnswer(`"${line.url}" does not answer (${reason})`, { cause: error });
}
