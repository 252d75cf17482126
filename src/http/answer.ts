/**
 * What an operation answers, turned into status, headers and bytes.
 *
 * @module
 */

import type { Logger } from '../log.ts';
import type { Platform } from '../platform.ts';
import type { Failure, FailureAnswer } from '../protocol/failure.ts';
import { operations } from '../protocol/operations.ts';
import type { Document } from '../service/operations/documents.ts';
import { type Answer, failureAnswer, isDocument } from '../service/operations/operations.ts';
import type { SignIn } from '../service/sign-in/sign-in.ts';
import { RETRY_AFTER_SECONDS } from './bounds/limits.ts';
import {
  type Exchange,
  type HttpAnswer,
  type HttpAsk,
  headerText,
  type WriteBody,
} from './exchange.ts';
import { plainPath } from './router.ts';
import { EVENT_STREAM_HEADERS, openEventStream } from './sse.ts';
import { statusOf } from './status.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** What answering needs of the service. */
export interface AnswerParts {
  readonly platform: Platform;
  readonly log: Logger;
  /** What a refusal says about signing in. */
  readonly signIn?: SignInFacts | undefined;
}

export type SignInFacts = Pick<SignIn, 'metadataUrl' | 'scopes'>;

export function httpAnswer(
  parts: AnswerParts,
  exchange: Exchange,
  answer: Answer | Document,
): HttpAnswer {
  if (isDocument(answer)) return documentAnswer(exchange, answer);
  const { text, bytes, failure, accepted, stream } = answer;
  const { headers } = exchange;
  if (answer.headers) Object.assign(headers, answer.headers);
  if (stream) return streamAnswer(parts, exchange, stream);
  if (failure) return httpRefusal(parts, exchange, failure, text ?? JSON.stringify(answer.body));
  headers['cache-control'] ??= 'no-store';
  headers['content-type'] = JSON_TYPE;
  return {
    status: accepted ? 202 : 200,
    headers,
    body: bytes ?? text ?? JSON.stringify(answer.body),
  };
}

/** From here on the answer consists of events, and the last one contains what went wrong. */
function streamAnswer(
  { platform }: AnswerParts,
  { headers }: Exchange,
  stream: NonNullable<Answer['stream']>,
): HttpAnswer {
  const body: WriteBody = async (output) => {
    const events = openEventStream(platform, output);
    await stream(events).finally(() => events.end());
  };
  return { status: 200, headers: Object.assign(headers, EVENT_STREAM_HEADERS), body };
}

/** Every answer outside 2xx, also those that no operation gave. */
export function httpRefusal(
  { platform, signIn }: Pick<AnswerParts, 'platform' | 'signIn'>,
  { ask, headers }: Pick<Exchange, 'ask' | 'headers'>,
  failure: Failure,
  body: string = JSON.stringify(failureBody(platform, ask.target, failure)),
): HttpAnswer {
  const status = statusOf(failure);
  headers['cache-control'] = 'no-store';
  headers['content-type'] = JSON_TYPE;
  const challenge = challengeOf(failure, status, ask, signIn);
  if (challenge !== undefined) headers['www-authenticate'] = challenge;
  // Only where the same call may be sent again: a client that obeys the header does just that.
  if (failure.retry && (status === 429 || status === 503)) {
    headers['retry-after'] = retryAfterOf(failure);
  }
  return { status, headers, body };
}

/** A cache keeps two answers apart that differ in what the client accepts. */
export function variedByAccept(vary: string | undefined): string {
  return vary === undefined ? 'Accept' : `Accept, ${vary}`;
}

/** Where an invocation is asked for, or a dry run of one, whatever the name of the capability. */
const INVOCATIONS = [operations.invoke.path, operations.test.path].map((path) =>
  path.slice(0, path.indexOf('{')),
);

/** The body that answers a request to `target` that reached no operation. */
export function failureBody(platform: Platform, target: string, failure: Failure): FailureAnswer {
  const path = plainPath(target);
  return failureAnswer(
    platform,
    failure,
    INVOCATIONS.some((prefix) => path.startsWith(prefix)),
  );
}

function documentAnswer({ ask, headers }: Exchange, document: Document): HttpAnswer {
  const { payload, headers: packedHeaders } = packedOf(document);
  Object.assign(headers, packedHeaders);
  if (!hasTag(headerText(ask, 'if-none-match'), document.etag)) {
    return { status: 200, headers, body: payload };
  }
  delete headers['content-type'];
  return { status: 304, headers, body: undefined };
}

/** In characters. A shorter text leaves in one piece with its header; a longer one is encoded once. */
const LONG_TEXT_MIN = 2_000;

/** A document as it leaves. The same one is asked for again and again. */
interface Packed {
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: string | Buffer;
}

const packed = new WeakMap<Document, Packed>();

function packedOf(document: Document): Packed {
  const before = packed.get(document);
  if (before) return before;
  const { etag, headers, text } = document;
  const made = {
    headers: { 'content-type': JSON_TYPE, ...headers, etag },
    payload: text.length < LONG_TEXT_MIN ? text : Buffer.from(text),
  };
  packed.set(document, made);
  return made;
}

/** RFC 9110: a list of tags or a star; weak tags match too, since our bytes only exist in one form. */
function hasTag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((tag) => {
    const text = tag.trim();
    return text === '*' || text === etag || text === `W/${etag}`;
  });
}

/** How a client gets a token, where people can sign in here. */
function challengeOf(
  found: Failure,
  status: number,
  ask: Pick<HttpAsk, 'target' | 'headers'>,
  signIn: SignInFacts | undefined,
): string | undefined {
  const isLackingScope = found.type === 'scope_insufficient';
  if (status !== 401 && !(isLackingScope && signIn)) return undefined;
  // RFC 6750: an error code only where a token was presented and found wanting.
  const error = isLackingScope ? 'insufficient_scope' : 'invalid_token';
  const parts = found.type === 'authentication_required' ? [] : [`error="${error}"`];
  const path = plainPath(ask.target);
  if (signIn && SIGNED_IN_PATHS.test(path)) {
    const scopes = isLackingScope ? (found.resolution.requires ?? []) : signIn.scopes();
    parts.push(
      ...scopePart(scopes),
      `resource_metadata="${signIn.metadataUrl({ path, host: headerText(ask, 'host') })}"`,
    );
  }
  return ['Bearer', parts.join(', ')].join(' ').trimEnd();
}

/** Where a token that sign-in made is presented. */
const SIGNED_IN_PATHS = /^\/(?:mcp$|svc\/)/;

/** The characters of a scope in RFC 6749. Consent never gives the rights of operators and approvers. */
const ASKABLE_SCOPE = /^(?!operator:|approver:)[\x21\x23-\x5b\x5d-\x7e]+$/;

/** In characters. Clients bound the headers of an answer, and the metadata lists all scopes. */
const SCOPES_LENGTH_MAX = 2_048;

function scopePart(scopes: readonly string[]): string[] {
  const askable = scopes.filter((scope) => ASKABLE_SCOPE.test(scope)).join(' ');
  return askable === '' || askable.length > SCOPES_LENGTH_MAX ? [] : [`scope="${askable}"`];
}

function retryAfterOf({ resolution }: Failure): string {
  const seconds = /^PT(\d+)S$/.exec(resolution.estimated_availability ?? '')?.[1];
  return seconds ?? String(RETRY_AFTER_SECONDS);
}
