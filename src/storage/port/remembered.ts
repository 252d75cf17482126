/**
 * A bounded cache of values that are computed from a text.
 *
 * @module
 */

import { createRecent } from '../../domain/values/recent.ts';
import type { TokenRecord } from './records.ts';

/** `make` must depend only on its text. Holds at most `max` texts. */
export function remembered<Value>(
  max: number,
  make: (text: string) => Value,
): (text: string) => Value {
  const known = createRecent<string, Value>(max);
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const value = make(text);
    known.set(text, value);
    return value;
  };
}

/** Freezes a token's record, because several callers share it. */
export function shared(token: TokenRecord): TokenRecord {
  for (const part of [token.lineage, token.scope, token.purpose, token.conditions])
    Object.freeze(part);
  return Object.freeze(token);
}

/** Token records in the cache: more than are active at one time; each takes one to two KiB. */
export const TOKENS_REMEMBERED_MAX = 5_000;
