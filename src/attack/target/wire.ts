/**
 * Requests to the attacked service: exactly what a case asks for, with bounds on everything that comes back.
 *
 * The client of this package is too polite for an attacker: it checks what it sends and follows advice. This one
 * sends any method, path, header and body that `node:http` lets through; `socket.ts` sends the rest. It sends
 * nothing to another address: redirections are answers. It remembers of each answer only what the last cases need.
 *
 * @module
 */

import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  Agent as PlainAgent,
  request as plain,
} from 'node:http';
import { Agent as SecureAgent, request as secure } from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import { packageManifest } from '../../package.ts';

/** In milliseconds. A service that takes longer for a refusal is not judged by that case. */
const TIMEOUT_MS = 20_000;

/** Bytes of an answer that are read; the rest is left. A page of an audit trail is shorter. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

/** Requests of a whole run, raw connections included: a run with effects needs about 1,500. */
export const REQUESTS_MAX = 3_000;

/** A busy service is asked again so often, after the pause that it names. */
const TRIES_MAX = 3;

/** In seconds: a longer pause is not waited for. */
const RETRY_AFTER_MAX = 10;

/** Connections at once. */
const CONNECTIONS_MAX = 16;

export interface Asked {
  readonly method?: string;
  /** Below the address of the service, already encoded. Sent as it is. */
  readonly path: string;
  readonly bearer?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON; text and bytes as they are. */
  readonly body?: unknown;
  /** Never repeated by itself: it may have had an effect. */
  readonly isOnce?: boolean;
  /** Sent although the run has asked enough: it ends what the run began, or looks whether the service lives. */
  readonly isNeeded?: boolean;
  /** Keeps it from being repeated. One that is under way is heard to its end: it may issue a token. */
  readonly signal?: AbortSignal;
}

export interface Answer {
  /** 0: the service closed the connection, or did not answer in time. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The parsed body, or undefined. */
  readonly json: unknown;
  /** Why there is no answer, as a code of the system. */
  readonly fault?: string;
}

/** What some cases judge at the end, over all answers of the run. */
export interface Seen {
  requests: number;
  /** Answers that were read. */
  answers: number;
  /** `METHOD path: status` of answers that a defect of the service made. */
  readonly defects: string[];
  /** Where an answer repeated a credential or a token that the caller did not ask for. */
  readonly secrets: string[];
  /** Where an answer showed the inside of the program. */
  readonly insides: string[];
}

export interface Wire {
  readonly url: URL;
  readonly seen: Seen;
  ask(asked: Asked): Promise<Answer>;
  /** Counts requests that are not made by `ask`. Throws when the run has asked enough. */
  take(requests?: number, isNeeded?: boolean): void;
  /** Called with every answer to `ask`. */
  listen(listener: (asked: Asked, answer: Answer) => void): void;
  /** Answers are searched for this text from now on. */
  keepSecret(secret: string): void;
  /** A text in which no such secret is left. A service may put one into everything that it says. */
  withoutSecrets(text: string): string;
  /** Resolves when every request that is under way has its answer, or none in time. */
  settled(): Promise<unknown>;
  close(): void;
}

const SECRET_LENGTH_MIN = 8;

export const USER_AGENT = `writ-attack/${packageManifest().version} (security test by the holder of the credentials)`;

/** Stack traces, paths of files and names of databases. A failure for callers has none of them. */
const INSIDE =
  /\n\s+at .+:\d+:\d+|node_modules\/|Traceback \(most recent|SQLSTATE|SQLITE_[A-Z]{3,}|(?:^|["\s(])\/(?:usr|home|root|var|opt|app|srv)\/[\w.-]+\//m;

export function openWire(address: string): Wire {
  const url = new URL(address);
  const settings = { keepAlive: true, maxSockets: CONNECTIONS_MAX };
  const agent = url.protocol === 'https:' ? new SecureAgent(settings) : new PlainAgent(settings);
  const seen: Seen = { requests: 0, answers: 0, defects: [], secrets: [], insides: [] };
  const secrets = new Set<string>();

  const listeners: ((asked: Asked, answer: Answer) => void)[] = [];

  const withoutSecrets = (text: string) =>
    [...secrets].reduce((rest, secret) => rest.replaceAll(secret, '…'), text);
  const take = (requests = 1, isNeeded = false) => {
    seen.requests += requests;
    if (isNeeded || seen.requests <= REQUESTS_MAX) return;
    throw new Error(`${REQUESTS_MAX} requests were sent, and a run sends no more`);
  };
  const once = async (asked: Asked): Promise<Answer> => {
    take(1, asked.isNeeded);
    const answer = await exchange({ url, agent }, asked);
    remember(seen, secrets, { ...asked, path: withoutSecrets(asked.path) }, answer);
    for (const listener of listeners) listener(asked, answer);
    asked.signal?.throwIfAborted();
    return answer;
  };
  const underWay = new Set<Promise<unknown>>();
  const tracked = (asked: Asked): Promise<Answer> => {
    const answer = once(asked).finally(() => underWay.delete(answer));
    underWay.add(answer);
    return answer;
  };
  return {
    url,
    seen,
    take,
    listen: (listener) => void listeners.push(listener),
    keepSecret: (secret) => {
      // A shorter text could be in any answer by chance.
      if (secret.length >= SECRET_LENGTH_MIN) secrets.add(secret);
    },
    async ask(asked) {
      for (let tries = 1; ; tries++) {
        const answer = await tracked(asked);
        const seconds = Number(answer.headers['retry-after'] ?? Number.NaN);
        const isBusy = answer.status === 429 || answer.status === 503;
        if (!isBusy || asked.isOnce || tries === TRIES_MAX || !(seconds <= RETRY_AFTER_MAX)) {
          return answer;
        }
        await pause(seconds * 1_000, undefined, asked.signal && { signal: asked.signal });
      }
    },
    withoutSecrets,
    settled: () => Promise.allSettled(underWay),
    close: () => agent.destroy(),
  };
}

/** The same wire until the signal: then it sends nothing more. */
export function wireUntil(wire: Wire, signal: AbortSignal): Wire {
  return {
    ...wire,
    async ask(asked) {
      signal.throwIfAborted();
      return wire.ask({ ...asked, signal });
    },
    take(requests) {
      signal.throwIfAborted();
      wire.take(requests);
    },
  };
}

interface Line {
  readonly url: URL;
  readonly agent: PlainAgent;
}

function exchange({ url, agent }: Line, asked: Asked): Promise<Answer> {
  const { method = 'POST', path, bearer, body } = asked;
  const bytes = bytesOf(body);
  const headers = {
    'user-agent': USER_AGENT,
    ...(bytes && { 'content-length': String(bytes.length) }),
    ...(isPlain(body) && { 'content-type': 'application/json' }),
    ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
    ...asked.headers,
  };
  const send = url.protocol === 'https:' ? secure : plain;
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const { hostname, port } = url;
  const host = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve) => {
    const closed = (error?: Error) => resolve({ ...NO_ANSWER, fault: faultOf(error) });
    let isAnswered = false;
    const request = send({ host, port, method, path: fullPath(url, path), headers, agent, signal });
    request.on('response', (response) => {
      isAnswered = true;
      readAnswer(response).then(resolve, closed);
    });
    request.on('error', closed);
    // An answer in another protocol has no body that ends.
    request.on('upgrade', (_response, socket) => {
      socket.destroy();
      closed();
    });
    request.on('close', () => {
      if (!isAnswered) closed();
    });
    request.end(bytes);
  });
}

export const NO_ANSWER: Answer = { status: 0, headers: {}, text: '', json: undefined };

function faultOf(error: Error | undefined): string {
  if (error === undefined) return 'the connection was closed';
  if (error.name === 'AbortError') return `not within ${TIMEOUT_MS / 1_000} seconds`;
  const { code } = error as NodeJS.ErrnoException;
  return code ?? error.name;
}

/** An address such as https://a.example/desk has a path of its own, which discovery may repeat. */
export function fullPath({ pathname }: URL, path: string): string {
  const base = pathname.replace(/\/+$/, '');
  return base === '' || path.startsWith(`${base}/`) ? path : `${base}${path}`;
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    chunks.push(chunk as Buffer);
    size += (chunk as Buffer).length;
    if (size > ANSWER_BYTES_MAX) break;
  }
  const text = Buffer.concat(chunks).toString();
  return { status: response.statusCode ?? 0, headers: response.headers, text, json: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isPlain(body: unknown): boolean {
  return body !== undefined && !(body instanceof Uint8Array);
}

function bytesOf(body: unknown): Buffer | undefined {
  if (body === undefined) return undefined;
  if (body instanceof Uint8Array) return Buffer.from(body);
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

/** Places named at most, so that a service that fails everywhere fills no memory. */
const PLACES_MAX = 20;

function remember(seen: Seen, secrets: ReadonlySet<string>, asked: Asked, answer: Answer): void {
  const { status, text } = answer;
  if (status > 0) seen.answers += 1;
  const line = `${asked.method ?? 'POST'} ${shortPath(asked.path)}: ${status}`;
  // 501 and 505 are the answers to methods and versions that a server does not know; 503 is overload.
  const isDefect = status >= 500 && ![501, 503, 505].includes(status);
  if (isDefect) note(seen.defects, line);
  if ([...secrets].some((secret) => text.includes(secret))) note(seen.secrets, line);
  if (status >= 400 && INSIDE.test(text.replaceAll('\\n', '\n'))) note(seen.insides, line);
}

function note(lines: string[], line: string): void {
  if (lines.length < PLACES_MAX && !lines.includes(line)) lines.push(line);
}

/** In characters. A query may have a token, and a path may be very long. */
const PATH_SHOWN_MAX = 60;

function shortPath(path: string): string {
  const [shown = ''] = path.split('?', 1);
  return shown.length > PATH_SHOWN_MAX ? `${shown.slice(0, PATH_SHOWN_MAX)}…` : shown;
}
