/**
 * Remembers what was made of a text, for texts that come again and again.
 *
 * @module
 */

import { createRecent } from '../../domain/values/recent.ts';
import type { TokenRecord } from './records.ts';

/** `make` depends on nothing but its text. Of the texts at most `max` are remembered. */
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

/** A token's record that several callers get: none of them can change it for the others. */
export function shared(token: TokenRecord): TokenRecord {
  for (const part of [token.lineage, token.scope, token.purpose]) Object.freeze(part);
  return Object.freeze(token);
}

/** Tokens whose records are remembered: more than are busy at one time; each takes one to two KiB. */
export const TOKENS_REMEMBERED_MAX = 5_000;
