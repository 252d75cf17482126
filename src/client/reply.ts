/**
 * Replies: what came back, as a value. A refusal is one too, and so is silence.
 *
 * Everything that arrives is held against the operation's row before it is believed to be an answer.
 *
 * @module
 */

import { failure } from '../domain/failure.ts';
import { type JsonLimits, readJson } from '../domain/wire/json.ts';
import { type Failure, FailureAnswer } from '../protocol/failure.ts';
import type { InvokeAnswer, InvokeFailure, InvokeSuccess } from '../protocol/invocation.ts';
import { type AnswerOf, type OperationName, operations } from '../protocol/operations.ts';
import { NoAnswer, type WholeAnswer } from './exchange.ts';

/** What an operation answers when it does what was asked. */
export type SuccessOf<Name extends OperationName> = Name extends 'invoke'
  ? InvokeSuccess
  : AnswerOf<Name>;

export interface Succeeded<Answer> {
  readonly ok: true;
  readonly answer: Answer;
  /** The answer of an earlier call with the same idempotency key. */
  readonly replayed: boolean;
}

export interface Refused {
  readonly ok: false;
  readonly failure: Failure;
  /** The whole refusal; nothing where no answer came and the failure is the client's own word. */
  readonly answer?: FailureAnswer | InvokeFailure | undefined;
  /** Milliseconds after which the service wants to be asked again. */
  readonly retryAfterMs?: number | undefined;
  /** The answer of an earlier call with the same idempotency key. */
  readonly replayed?: boolean | undefined;
  /** The key of the call: the same one asks for the outcome of the same call. */
  readonly idempotencyKey?: string | undefined;
}

export type Reply<Answer> = Succeeded<Answer> | Refused;

/** Wider than what a service takes in: answers are pages, and manifests. */
const ANSWER_LIMITS: JsonLimits = { bytes: 16 * 1024 * 1024, depth: 64, keys: 1_000_000 };

/** A year: longer than anybody waits, and a number that every clock can take. */
const RETRY_AFTER_SECONDS_MAX = 31_536_000;

/** Throws `NoAnswer` when it is none: a proxy's page, or half a body. */
export function replyOf<Name extends OperationName>(
  name: Name,
  { status, headers, body }: WholeAnswer,
): Reply<SuccessOf<Name>> {
  const value = jsonOf(body, status);
  if (status < 200 || status > 299) return refusalOf(value, status, headers);
  if (!operations[name].response.safeParse(value).success) {
    throw new NoAnswer(`status ${status} and what is no answer of ${name}`);
  }
  // A stored failure replays under its own status, but the body alone decides.
  if (name === 'invoke' && !(value as InvokeAnswer).success) {
    return refusalOf(value, status, headers);
  }
  return { ok: true, answer: value as SuccessOf<Name>, replayed: isReplayed(headers) };
}

/** The client's own word for silence. Only a call without an effect can be said to have had none. */
export function silence(name: OperationName, reason: string, hasEffect: boolean): Refused {
  return {
    ok: false,
    failure: hasEffect
      ? failure('outcome_unknown', `Cannot say what became of ${name}: ${reason}`)
      : failure('service_unavailable', `Cannot ask ${name}: ${reason}`),
  };
}

export function refusalOf(value: unknown, status: number, headers: Headers): Refused {
  if (!FailureAnswer.safeParse(value).success) {
    throw new NoAnswer(`status ${status} and what is no failure of a service`);
  }
  const answer = value as FailureAnswer;
  const [retryAfterMs, replayed] = [retryAfter(headers), isReplayed(headers)];
  return { ok: false, failure: answer.failure, answer, retryAfterMs, replayed };
}

/** Parsed strictly: two readings of one answer must not differ. */
export function jsonOf(body: Uint8Array, status: number): unknown {
  const reading = readJson(body, ANSWER_LIMITS);
  if ('value' in reading) return reading.value;
  throw new NoAnswer(`status ${status} and a body that is no JSON`);
}

function isReplayed(headers: Headers): boolean {
  return headers.get('idempotent-replayed') === 'true';
}

/** Seconds, or a date by the service's own clock where it says what time it is. */
function retryAfter(headers: Headers): number | undefined {
  const text = headers.get('retry-after') ?? '';
  if (/^\d+$/.test(text)) return Math.min(Number(text), RETRY_AFTER_SECONDS_MAX) * 1_000;
  const until = dateIn(text);
  if (until === undefined) return undefined;
  const ms = until - (dateIn(headers.get('date') ?? '') ?? Date.now());
  return Math.min(Math.max(ms, 0), RETRY_AFTER_SECONDS_MAX * 1_000);
}

/** A date as HTTP writes it; other texts that a platform takes for one are none. */
function dateIn(text: string): number | undefined {
  const time = /^[A-Z][a-z]+, .* GMT$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}
