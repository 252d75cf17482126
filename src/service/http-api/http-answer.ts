/**
 * Answers of HTTP APIs: what becomes the result of a capability, and which failure each other answer is.
 *
 * A caller never gets the body of a failed request. It gets a sentence of ours, with at most a short message of
 * the API that is marked as such. The credential of the request is removed from everything that the API wrote.
 *
 * @module
 */

import { readForeignObject } from '../../domain/wire/foreign.ts';
import { isObject, type JsonLimits, RESULT_LIMITS, readJson } from '../../domain/wire/json.ts';
import { redactedText } from '../../domain/wire/redaction.ts';
import { visibleText } from '../../domain/wire/visible-text.ts';
import {
  FailureDeclaration,
  type FailureType,
  type OwnFailureType,
} from '../../protocol/failure.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { type Advice, HandlerFailure, NoEffect } from '../author/handler.ts';
import type { OutboundAnswer } from '../outbound/outbound.ts';

/** The failure of every capability that calls an API: the API refused or misbehaved, and waiting does not help. */
export const UPSTREAM_FAILED = FailureDeclaration.parse({
  type: 'upstream_failed',
  description: 'the API behind the capability refused the request, or its answer cannot be used',
  retry: false,
  action: 'revalidate_state',
});

/** What the failure of a request depends on, besides the answer. */
export interface Asked {
  readonly isRead: boolean;
  /** Texts that no answer may repeat. */
  readonly secrets: readonly string[];
}

/** The result of an answer with a status of 200 to 299. Throws a failure when it cannot be used. */
export function apiResult({ status, headers, body }: OutboundAnswer, asked: Asked): JsonObject {
  const read = contentOf(headers['content-type'], body);
  const result = 'fault' in read ? read : readForeignObject(read.value, RESULT_LIMITS);
  if ('value' in result) return scrubbed(result.value, asked.secrets) as JsonObject;
  throw unusable(status, result.fault, asked);
}

/** The request succeeded at the API, and its answer cannot be used. */
export function unusable(status: number, why: string, { isRead }: Asked): Error {
  const detail = `Cannot use the answer of the API: ${why}`;
  if (isRead) return new NoEffect(detail, UPSTREAM_FAILED.type);
  const ended = `The API accepted the request (status ${status}), so it has had its effect: do not repeat it`;
  return new HandlerFailure(`${detail}. ${ended}`, UPSTREAM_FAILED.type);
}

/** The failure for an answer with any other status. */
export function apiRefusal(
  { status, headers, body }: Pick<OutboundAnswer, 'status'> & Partial<OutboundAnswer>,
  asked: Asked,
): Error {
  if (status >= 300 && status < 400) {
    return unknown(`the API answered with a redirect (${status}), which is not followed`, asked);
  }
  const wait = waitOf(headers?.['retry-after']);
  const row = status >= 400 && status < 500 ? (REFUSALS[status] ?? PARAMETERS) : undefined;
  if (!row || row === TIMEOUT) return lost(`the API failed (${status})`, asked, wait);
  const words = row.hasWords ? apiMessage(body, asked.secrets) : '';
  return new NoEffect(`Cannot complete the call: ${row.why} (${status})${words}`, row.type, wait);
}

/** The request or its answer was lost. A read may be tried again; the outcome of anything else is unknown. */
export function lost(why: string, asked: Asked, wait: Advice = {}): Error {
  return asked.isRead ? unavailable(why, wait) : unknown(why, asked);
}

/** Nothing happened, and a later try may succeed. */
export function unavailable(why: string, wait: Advice = {}): NoEffect {
  const detail = `Cannot complete the call: ${why}. Nothing happened`;
  return new NoEffect(detail, 'service_unavailable', wait);
}

function unknown(why: string, { isRead }: Asked): Error {
  if (isRead) return new NoEffect(`Cannot complete the call: ${why}`, UPSTREAM_FAILED.type);
  const detail = `Cannot report the outcome of the call: ${why}. It may have had its effect`;
  return new HandlerFailure(detail, 'outcome_unknown');
}

interface Refused {
  readonly type: FailureType | OwnFailureType;
  readonly why: string;
  /** Whether the failure quotes the message of the API. */
  readonly hasWords?: boolean;
}

const PARAMETERS = quotingApi('invalid_parameters', 'the API refuses the parameters');
const CREDENTIAL: Refused = {
  type: UPSTREAM_FAILED.type,
  why: 'the API refuses the credential of this service for it; an operator has to look',
};
const ABSENT = quotingApi('not_found', 'the API has no such record');
const STATE = quotingApi(
  UPSTREAM_FAILED.type,
  'the API refuses it in the present state of the record',
);
/** A proxy may give up on a request that its server has taken. */
const TIMEOUT: Refused = { type: 'outcome_unknown', why: '' };

/** Statuses from 400 to 499 that are not about the parameters. */
const REFUSALS: Readonly<Record<number, Refused>> = {
  401: CREDENTIAL,
  403: CREDENTIAL,
  404: ABSENT,
  407: CREDENTIAL,
  408: TIMEOUT,
  409: STATE,
  410: ABSENT,
  412: STATE,
  423: STATE,
  424: STATE,
  425: { type: 'service_unavailable', why: 'the API asks to wait' },
  429: { type: 'rate_limited', why: 'the API is over its rate limit' },
};

/** A refusal whose message of the API helps the caller. One about a credential is for its operator. */
function quotingApi(type: Refused['type'], why: string): Refused {
  return { type, why, hasWords: true };
}

/** In seconds. A longer time is of no use to an agent. */
const WAIT_MAX = 3_600;

/** Only the form in seconds: a date depends on the clock of the API. */
function waitOf(retryAfter: string | undefined): Advice {
  if (retryAfter === undefined || !/^\d{1,9}$/.test(retryAfter)) return {};
  return { estimated_availability: `PT${Math.min(Number(retryAfter), WAIT_MAX)}S` };
}

/** Bounds the body of a refusal that is searched for a message. */
const REFUSAL_LIMITS: JsonLimits = { bytes: 16_384, depth: 16, keys: 500 };

/** In UTF-16 units. */
const WORDS_LENGTH_MAX = 300;

/** Where APIs put their message. `error` may also be an object with a message. */
const WORD_MEMBERS = ['detail', 'message', 'title', 'error_description', 'error'];

/** A short message of the API, in quotes and named as such; empty where there is none. */
function apiMessage(body: Buffer | undefined, secrets: readonly string[]): string {
  const read = readJson(body ?? Buffer.alloc(0), REFUSAL_LIMITS);
  if (!('value' in read) || !isObject(read.value)) return '';
  const { error } = read.value;
  const inner = isObject(error) ? error.message : undefined;
  const words = [...WORD_MEMBERS.map((name) => (read.value as JsonObject)[name]), inner].find(
    (each) => typeof each === 'string' && each.trim() !== '',
  );
  if (words === undefined) return '';
  const short = redactedText(scrubbed(words, secrets), WORDS_LENGTH_MAX);
  return `. The API writes: ${JSON.stringify(visibleText(short.replace(/…$/, '...')))}`;
}

/** The content of an answer as an object, or the end of a sentence about it. */
function contentOf(
  type: string | undefined,
  body: Buffer,
): { readonly value: JsonObject } | { readonly fault: string } {
  if (body.length === 0) return { value: {} };
  const media = (type ?? 'application/json').split(';')[0]?.trim().toLowerCase() ?? '';
  if (/^text\/[\w.+-]{1,64}$/.test(media)) return plainTextContent(body);
  if (!/^application\/(?:[\w.+-]{1,64}\+)?json$/.test(media)) {
    return { fault: 'it is neither JSON nor text' };
  }
  const read = readJson(body, RESULT_LIMITS);
  if ('fault' in read) return { fault: 'it is not the JSON that this service reads' };
  return { value: isObject(read.value) ? read.value : { result: read.value } };
}

function plainTextContent(
  body: Buffer,
): { readonly value: JsonObject } | { readonly fault: string } {
  try {
    return { value: { text: new TextDecoder('utf-8', { fatal: true }).decode(body) } };
  } catch {
    return { fault: 'its text is not UTF-8' };
  }
}

/** The value without the secrets. An upstream may repeat what it was given. Only for JSON with a bounded depth. */
export function scrubbed<Value>(value: Value, secrets: readonly string[]): Value;
export function scrubbed(value: unknown, secrets: readonly string[]): unknown {
  if (secrets.length === 0) return value;
  if (typeof value === 'string')
    return secrets.reduce((text, each) => text.replaceAll(each, SECRET), value);
  if (typeof value === 'number') return secrets.includes(String(value)) ? SECRET : value;
  if (Array.isArray(value)) return value.map((each) => scrubbed(each, secrets));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      scrubbed(name, secrets),
      scrubbed(member, secrets),
    ]),
  );
}

const SECRET = '[secret]';
