/**
 * Lent tokens: finds the tokens of people, which a handler gets for requests to other services, in what it hands over.
 *
 * Looks for the exact text. Only calls that used an account are searched. A handler that changes a token, such as by
 * another encoding, is not found out: this is a guard against services that echo their requests, not against authors.
 *
 * @module
 */

import { foreignMember, isForeignError, readForeignObject } from '../../domain/wire/foreign.ts';
import type { JsonLimits } from '../../domain/wire/json.ts';
import type { FailureType } from '../../protocol/failure.ts';
import { HandlerFailure, NoEffect } from '../author/handler.ts';

/** What a handler hands over contains a token that it was lent. */
export const LENT = 'it contains the token of a person';

/** Whether a text, or a value that was read as JSON, contains one of the tokens. No token has a character that JSON escapes. */
export function containsLent(lent: readonly string[], value: unknown): boolean {
  if (lent.length === 0 || value === undefined) return false;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return lent.some((token) => text.includes(token));
}

/** Causes of an error that are looked at: as many as the log writes. */
const CAUSES_MAX = 4;

const ADVICE_LIMITS: JsonLimits = { bytes: 16_384, depth: 4, keys: 32 };

/** Whether an error shows one of the tokens in a part that is answered or logged. */
export function isErrorWithLent(
  lent: readonly string[],
  error: unknown,
  below: number = CAUSES_MAX,
): boolean {
  if (!isForeignError(error) || below < 0) return false;
  const texts = ['message', 'stack', 'name', 'code', 'type'].map((each) =>
    foreignMember(error, each),
  );
  if (texts.some((text) => typeof text === 'string' && containsLent(lent, text))) return true;
  const advice = readForeignObject(foreignMember(error, 'advice') ?? {}, ADVICE_LIMITS);
  if ('value' in advice && containsLent(lent, advice.value)) return true;
  const together = foreignMember(error, 'errors');
  const others = Array.from({ length: CAUSES_MAX }, (_, index) =>
    foreignMember(together, String(index)),
  );
  return [foreignMember(error, 'cause'), ...others].some((each) =>
    isErrorWithLent(lent, each, below - 1),
  );
}

const HIDDEN = 'Cannot show the failure of the call: its text contains the token of a person';

/** What a handler threw, or the same kind of failure without its text. */
export function withoutLent(lent: readonly string[], thrown: unknown): unknown {
  if (lent.length === 0 || !isErrorWithLent(lent, thrown)) return thrown;
  const type = foreignMember(thrown, 'type');
  if (typeof type === 'string' && !containsLent(lent, type)) {
    if (NoEffect.is(thrown)) return new NoEffect(HIDDEN, type as FailureType);
    if (HandlerFailure.is(thrown)) return new HandlerFailure(HIDDEN, type as FailureType);
  }
  return new Error(HIDDEN);
}
