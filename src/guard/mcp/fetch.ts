/**
 * The requests of the MCP client over HTTP: guarded like every request of this service, and bounded.
 *
 * The address is checked when the connection is made. Redirects are refused, because a credential goes with the
 * request. Each answer is bounded in bytes and time, a stream included. Messages name the host alone: a path or a
 * query may hold a key.
 *
 * Plain HTTP is for this machine and for a network that the policy names as inside: there the address that the
 * connection is made to must be inside as well. Everything else needs https.
 *
 * @module
 */

import { lookup } from 'node:dns';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { Readable } from 'node:stream';
import type { FetchLike } from '@modelcontextprotocol/client';
import { bareHost } from '../../address/host.ts';
import type { Platform } from '../../platform.ts';
import {
  guardedLookup,
  isInside,
  REFUSED_ADDRESS,
  type Resolve,
} from '../../service/outbound/outbound.ts';
import { systemCode, UpstreamFault } from './fault.ts';
import { callInFlight } from './mcp-upstream.ts';

/** Bytes of one answer. A result may have an eighth of it. */
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;

/** A stream of notices ends after this time and these bytes, and the client opens another after a pause. */
const NOTICES: Bounds = { ms: 600_000, bytes: 262_144 };

interface Bounds {
  readonly ms: number;
  readonly bytes: number;
}

/** In milliseconds: the end of a session is a courtesy. */
const GOODBYE_MS = 2_000;

export interface FetchOptions {
  /** Whether the address may be inside: on this machine or in its network. */
  readonly inside: boolean;
  readonly deadlineMs: number;
  readonly platform: Platform;
  /** Asked for each request. */
  headers(): Readonly<Record<string, string>>;
  /** Resolves names; by default as the system does. */
  readonly resolve?: Resolve | undefined;
}

/** Why no request may be sent to an address; `undefined` when one may. */
function refusedUrl(url: URL, inside: boolean): string | undefined {
  const host = bareHost(url);
  if (url.username !== '' || url.password !== '')
    return 'its address has a user name or a password';
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'expected https';
  if (url.protocol === 'http:' && !inside) return 'expected https, or "inside: true" in the policy';
  if (isIP(host) === 0) return undefined;
  if (url.protocol === 'http:' && !isInside(host)) return OUTSIDE;
  if (isInside(host) && !inside) return INSIDE;
  return undefined;
}

const UNANSWERED = 'the connection ended without an answer';
const OUTSIDE = 'plain http may not leave the network: expected https';
const REFUSED =
  'its name resolves to an inside address without "inside: true", or outside without https';
const INSIDE = 'it has an inside address, which needs "inside: true" in the policy';

/** A `fetch` for the client. Rejects with an `UpstreamFault`. */
export function createFetch(options: FetchOptions): FetchLike {
  return (address, init = {}) => {
    const url = new URL(address);
    const refused = refusedUrl(url, options.inside);
    if (refused) return Promise.reject(new UpstreamFault(refused, { mayHaveActed: false }));
    return exchange(options, url, init);
  };
}

function exchange(options: FetchOptions, url: URL, init: RequestInit): Promise<Response> {
  const { platform } = options;
  const call = callInFlight.getStore();
  const headers = Object.fromEntries(new Headers(init.headers));
  const bounds = boundsOf(options, init.method, headers['mcp-method']);
  const isPlain = url.protocol === 'http:';
  const send = isPlain ? httpRequest : httpsRequest;
  return new Promise((resolve, reject) => {
    let wasConnected = false;
    const request = send(url, {
      method: init.method ?? 'GET',
      headers: { 'user-agent': 'writ', ...lowerCased(options.headers()), ...headers },
      lookup: guardedLookup(options.inside, options.resolve ?? lookup, isPlain),
      agent: false,
    });
    const end: End = (why, isAnswered = false) => {
      const fault = new UpstreamFault(why, { mayHaveActed: wasConnected, isAnswered });
      request.destroy(fault);
      reject(fault);
      // The client does not tell a call that its stream broke.
      call?.fail(fault);
      return fault;
    };
    const timer = platform.after(bounds.ms, () => end(`no answer in ${bounds.ms} ms`));
    const signals = [init.signal, call?.signal].filter((signal) => signal && !signal.aborted);
    const leave = () => void end('the call was cancelled');
    for (const signal of signals) signal?.addEventListener('abort', leave, { once: true });
    request.on('close', () => {
      platform.cancel(timer);
      for (const signal of signals) signal?.removeEventListener('abort', leave);
      // A server that switches to another protocol gives neither an answer nor an error.
      reject(new UpstreamFault(UNANSWERED, { mayHaveActed: wasConnected }));
    });
    request.on('socket', (socket) => {
      socket.once(isPlain ? 'connect' : 'secureConnect', () => {
        wasConnected = true;
      });
    });
    request.on('error', (error) => reject(connectionFault(error, wasConnected)));
    request.on('response', (response) => {
      const status = response.statusCode ?? 0;
      if (status >= 200 && status < 300) return resolve(answer(response, bounds, end));
      // A server that redirects has not run the request.
      wasConnected &&= status < 300 || status >= 400;
      if (status >= 300 && status < 400) end('it redirects, which a guard does not follow');
      else if (status >= 400 && status < 600) resolve(answer(response, bounds, end));
      else end('it answered with something that is not HTTP');
    });
    request.end(init.body ?? undefined);
  });
}

/** A stream of notices stays open; everything else ends with the deadline of a call. */
function boundsOf(
  { deadlineMs }: FetchOptions,
  method: string | undefined,
  mcpMethod: string | undefined,
): Bounds {
  if (method === 'GET' || mcpMethod === 'subscriptions/listen') return NOTICES;
  const ms = method === 'DELETE' ? Math.min(GOODBYE_MS, deadlineMs) : deadlineMs;
  return { ms, bytes: ANSWER_BYTES_MAX };
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

function answer(response: IncomingMessage, bounds: Bounds, end: End): Response {
  const status = response.statusCode ?? 0;
  const headers = webHeaders(response);
  return new Response(bodyOf(response, bounds, end), { status, headers });
}

function webHeaders({ headers }: IncomingMessage): Headers {
  const copy = new Headers();
  // The others say how the bytes travelled, or are cookies.
  for (const name of ['content-type', 'mcp-session-id', 'mcp-protocol-version']) {
    const value = headers[name];
    if (typeof value === 'string') copy.set(name, value);
  }
  return copy;
}

/** Ends an exchange because of a fault, which it returns. */
type End = (why: string, isAnswered?: boolean) => UpstreamFault;

function bodyOf(
  response: IncomingMessage,
  bounds: Bounds,
  end: End,
): ReadableStream<Uint8Array> | null {
  if (response.statusCode === 204 || response.statusCode === 205) {
    response.resume();
    return null;
  }
  return Readable.toWeb(
    Readable.from(bounded(response, bounds, end)),
  ) as ReadableStream<Uint8Array>;
}

async function* bounded(
  response: IncomingMessage,
  { bytes }: Bounds,
  end: End,
): AsyncGenerator<Buffer> {
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > bytes) throw end(`it answered with more than ${bytes} bytes`, true);
      yield chunk;
    }
  } catch (error) {
    throw connectionFault(error, true);
  }
}

/** Our own fault as it is, and any other error in our words. */
function connectionFault(error: unknown, wasConnected: boolean): UpstreamFault {
  if (error instanceof UpstreamFault) return error;
  return new UpstreamFault(wordsFor(error), { mayHaveActed: wasConnected, isLost: !wasConnected });
}

/** What a system error means. Its message stays out: it may repeat an address. */
function wordsFor(error: unknown): string {
  const code = systemCode(error);
  if (code === REFUSED_ADDRESS) return REFUSED;
  return `the connection failed (${code ?? 'error'})`;
}
