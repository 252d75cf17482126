/**
 * Replies: an answer, a refusal or a lost answer, as a value.
 *
 * Checks every body against the schema of its operation.
 *
 * @module
 */

import { failure } from '../domain/failure.ts';
import { type JsonLimits, readJson } from '../domain/wire/json.ts';
import { type Failure, FailureAnswer } from '../protocol/failure.ts';
import type { InvokeAnswer, InvokeFailure, InvokeSuccess } from '../protocol/invocation.ts';
import { type AnswerOf, type OperationName, operations } from '../protocol/operations.ts';
import { NoAnswer, type WholeAnswer } from './exchange.ts';

/**
 * The answer of an operation that succeeded.
 *
 * @example
 * import { createService } from 'writ';
 * import type { SuccessOf } from 'writ/client';
 * import { expectAnswer, testService } from 'writ/testing';
 *
 * const desk = await testService(createService({ id: 'demo', capabilities: [] }));
 * const keys: SuccessOf<'jwks'> = expectAnswer(await desk.human('ann').client.ask('jwks', {}));
 * console.log(keys.keys.map(({ kid }) => kid));
 * await desk.close();
 */
export type SuccessOf<Name extends OperationName> = Name extends 'invoke'
  ? InvokeSuccess
  : AnswerOf<Name>;

/**
 * A call that succeeded.
 *
 * @example
 * import type { Succeeded } from 'writ/client';
 *
 * const twice: Succeeded<{ parcel_id: string }> = {
 *   ok: true,
 *   answer: { parcel_id: 'P-17' },
 *   replayed: true,
 * };
 * console.log(twice.replayed ? 'shipped before' : 'shipped now');
 */
export interface Succeeded<Answer> {
  readonly ok: true;
  readonly answer: Answer;
  /** The answer of an earlier call with the same idempotency key. */
  readonly replayed: boolean;
}

/**
 * A refusal, or a lost answer.
 *
 * @example
 * import { createClient, type Refused } from 'writ/client';
 *
 * const offline = () => Promise.reject(new Error('no network'));
 * const client = createClient({ url: 'http://127.0.0.1', retries: 0, fetch: offline });
 * const reply = await client.ask('discovery', {});
 * const wasHeard = ({ answer }: Refused) => answer !== undefined;
 * if (!reply.ok) console.log(reply.failure.type, wasHeard(reply));
 */
export interface Refused {
  readonly ok: false;
  readonly failure: Failure;
  /** The whole refusal; absent when no answer arrived and the client made the failure. */
  readonly answer?: FailureAnswer | InvokeFailure | undefined;
  /** Milliseconds of the `Retry-After` header. */
  readonly retryAfterMs?: number | undefined;
  /** The answer of an earlier call with the same idempotency key. */
  readonly replayed?: boolean | undefined;
  /** The idempotency key of the call; a call with the same key gets the same outcome. */
  readonly idempotencyKey?: string | undefined;
}

/**
 * What a call returns. `ok` is true for an answer and false for a refusal.
 *
 * @example
 * import type { Reply } from 'writ/client';
 *
 * function orElse<Answer>(reply: Reply<Answer>, otherwise: Answer): Answer {
 *   return reply.ok ? reply.answer : otherwise;
 * }
 * console.log(orElse({ ok: true, answer: 'paid', replayed: false }, 'unknown'));
 */
export type Reply<Answer> = Succeeded<Answer> | Refused;

/** Wider than the limits of a request: answers are pages and manifests. */
const ANSWER_LIMITS: JsonLimits = { bytes: 16 * 1024 * 1024, depth: 64, keys: 1_000_000 };

/** A year, in seconds: more than any caller waits, and within the range of timers and dates. */
const RETRY_AFTER_SECONDS_MAX = 31_536_000;

/** Throws `NoAnswer` when the body is not an answer: a proxy's page, or half a body. */
export function replyOf<Name extends OperationName>(
  name: Name,
  { status, headers, body }: WholeAnswer,
): Reply<SuccessOf<Name>> {
  const value = replyJson(body, status);
  if (status < 200 || status > 299) return readRefusal(value, status, headers);
  if (!operations[name].response.safeParse(value).success) {
    throw new NoAnswer(`status ${status} with a body that is not an answer of ${name}`);
  }
  // A stored failure replays under its own status, but the body alone decides.
  if (name === 'invoke' && !(value as InvokeAnswer).success) {
    return readRefusal(value, status, headers);
  }
  return { ok: true, answer: value as SuccessOf<Name>, replayed: isReplayed(headers) };
}

/** The failure for a lost answer. Only for a call without an effect is it certain that nothing happened. */
export function silence(name: OperationName, reason: string, hasEffect: boolean): Refused {
  return {
    ok: false,
    failure: hasEffect
      ? failure('outcome_unknown', `Cannot report the outcome of ${name}: ${reason}`)
      : failure('service_unavailable', `Cannot ask ${name}: ${reason}`),
  };
}

export function readRefusal(value: unknown, status: number, headers: Headers): Refused {
  if (!FailureAnswer.safeParse(value).success) {
    throw new NoAnswer(`status ${status} with a body that is not a failure`);
  }
  const answer = value as FailureAnswer;
  const [retryAfterMs, replayed] = [retryAfter(headers), isReplayed(headers)];
  return { ok: false, failure: answer.failure, answer, retryAfterMs, replayed };
}

/** Strict: refuses JSON that two parsers could read differently. */
export function replyJson(body: Uint8Array, status: number): unknown {
  const reading = readJson(body, ANSWER_LIMITS);
  if ('value' in reading) return reading.value;
  throw new NoAnswer(`status ${status} with a body that is not JSON`);
}

function isReplayed(headers: Headers): boolean {
  return headers.get('idempotent-replayed') === 'true';
}

/** Seconds, or a date; a date is compared with the service's `Date` header if present. */
function retryAfter(headers: Headers): number | undefined {
  const text = headers.get('retry-after') ?? '';
  if (/^\d+$/.test(text)) return Math.min(Number(text), RETRY_AFTER_SECONDS_MAX) * 1_000;
  const until = dateIn(text);
  if (until === undefined) return undefined;
  const ms = until - (dateIn(headers.get('date') ?? '') ?? Date.now());
  return Math.min(Math.max(ms, 0), RETRY_AFTER_SECONDS_MAX * 1_000);
}

/** Accepts only the HTTP form of a date, although platforms parse others too. */
function dateIn(text: string): number | undefined {
  const time = /^[A-Z][a-z]+, .* GMT$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}
