/**
 * One request and its answer, without a socket and without a framework.
 *
 * An adapter makes an `HttpAsk` of what its server received, and sends the `HttpAnswer`: `node.ts` for
 * node:http, `mounted/web.ts` for the Request and Response of the Web standard. `core.ts` makes the answer.
 *
 * @module
 */

import type { Writable } from 'node:stream';
import type { Failure } from '../protocol/failure.ts';
import type { Eventual, Steps } from '../steps.ts';
import type { Admit } from './bounds/bodies.ts';
import type { WorkSlot } from './bounds/shed.ts';
import type { Visit } from './bounds/strangers.ts';

/** Headers by their names in lower case. */
export type AskedHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface HttpAsk {
  readonly method: string;
  /** Path and query as sent, without the prefix of a mounted service. */
  readonly target: string;
  readonly headers: AskedHeaders;
  /** A header as often as it was sent, where the server keeps that. */
  lines(name: string): readonly string[];
  readonly remoteAddress: string | undefined;
  /** The local address of the connection, where there is one. */
  readonly localAddress: string | undefined;
  /**
   * Reads the body, within `BODY_LIMITS`. Asks `admit` before it reads a long one. Rejects with a `Refusal` when it
   * cannot.
   */
  body(admit: Admit): Eventual<Uint8Array>;
  /** The fault of the request line and its Host, where the adapter checks them. */
  fault?(): string | undefined;
  /** Asks the app around the service who calls. Author code: only `service/foreign/foreign.ts` calls it. */
  identify?: (() => unknown) | undefined;
  /** The same, also for a request that another site caused: the pages judge themselves which requests count. */
  person?: (() => unknown) | undefined;
  /** Calls when all of the answer was handed to the client. */
  onSent(call: () => void): void;
  /** Calls when the answer was sent or never will be; at once when the client has left already. */
  onClosed(call: () => void): void;
}

/** Writes a body piece by piece, no faster than the client reads. Ends the output. Never rejects. */
export type WriteBody = (output: Writable) => Promise<void>;

export interface HttpAnswer {
  readonly status: number;
  /**
   * Names in lower case; a list becomes one line for each value. The adapter adds the length of a body that is
   * there as a whole.
   */
  readonly headers: Record<string, string | string[]>;
  /** A function must be called, even when the client has left: it may run the invocation. */
  readonly body: string | Uint8Array | WriteBody | undefined;
}

/** A request on its way through the core. */
export interface Exchange {
  readonly ask: HttpAsk;
  /** The fields that the path contains. */
  readonly params: Readonly<Record<string, string>>;
  /** Of the answer. */
  readonly headers: Record<string, string>;
  /** Its slot among the requests that are arriving or in work. */
  readonly slot: WorkSlot;
  /** How it was counted before its caller was known. */
  visit: Visit | null;
  body: Uint8Array;
}

/** What the core does with the requests to one path. */
export interface Route {
  /** The name under which its answers are counted. */
  readonly name: string;
  /** For probes and scrapers: never shed, and never read by pages of other origins. */
  readonly isWatching?: boolean;
  /** For the pages of the service alone: the answers admit no page of another origin. */
  readonly isForOwnPages?: boolean;
  /** A body is a form of a page, or of OAuth; without this it is JSON. */
  readonly takesForm?: boolean;
  /** Why the sender of a long body is not admitted, judged before it is read. Without this none is admitted. */
  stranger?(exchange: Exchange): Promise<Failure | undefined>;
  /** The answer, or the failure to answer with. */
  answer(exchange: Exchange): Eventual<HttpAnswer | Failure> | Steps<HttpAnswer | Failure>;
}

/** A path that is neither an operation nor a surface. */
export interface AddedRoute {
  readonly method: 'GET' | 'POST';
  readonly path: `/${string}`;
  readonly route: Route;
}

/** Aborts when the answer was sent, or never will be. */
export function closedOf({ onClosed }: Pick<HttpAsk, 'onClosed'>): AbortSignal {
  const closed = new AbortController();
  onClosed(() => closed.abort());
  return closed.signal;
}

/** A header that is used only when it was sent once. */
export function headerText(
  { headers }: Pick<HttpAsk, 'headers'>,
  name: string,
): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}
