/**
 * Input types: which values a declared type admits.
 *
 * Eight names are enforced; every other name is the author's own hint, and any value passes.
 *
 * @module
 */

import { isDate, isDateTime } from '../values/moment.ts';
import { isObject } from '../wire/json.ts';

type TypeCheck = (value: unknown) => boolean;

const TYPES = new Map<string, TypeCheck>([
  ['string', (value) => typeof value === 'string'],
  ['integer', (value) => Number.isSafeInteger(value)],
  ['number', (value) => typeof value === 'number' && Number.isFinite(value)],
  ['boolean', (value) => typeof value === 'boolean'],
  ['date', (value) => typeof value === 'string' && isDate(value)],
  ['datetime', (value) => typeof value === 'string' && isDateTime(value)],
  ['array', (value) => Array.isArray(value)],
  ['object', isObject],
]);

/** Why the value is not of the type, or `undefined`. */
export function wrongType(type: string, value: unknown): string | undefined {
  const admits = TYPES.get(type);
  if (!admits || admits(value)) return undefined;
  return `${excerpt(value)} is not of type "${type}"`;
}

/** Enough of a value to recognise it in a message. */
const EXCERPT_LENGTH_MAX = 60;

function excerpt(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  if (text.length <= EXCERPT_LENGTH_MAX) return text;
  // A pair that the cut went through would leave half a character, which no strict reader accepts.
  return `${text.slice(0, EXCERPT_LENGTH_MAX).replace(/\p{Surrogate}$/u, '')}…`;
}
