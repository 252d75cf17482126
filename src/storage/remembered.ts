/**
 * Remembers what was made of a text, for texts that come again and again.
 *
 * @module
 */

import type { TokenRecord } from './records.ts';

/** `make` depends on nothing but its text. Of more than `max` texts the first that came is forgotten. */
export function remembered<Value>(
  max: number,
  make: (text: string) => Value,
): (text: string) => Value {
  const known = new Map<string, Value>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const value = make(text);
    if (known.size >= max) known.delete(known.keys().next().value as string);
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
