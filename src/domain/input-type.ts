/**
 * Input types: which values a declared type admits.
 *
 * Eight names are enforced; every other name is the author's own hint, and any value passes.
 *
 * @module
 */

import { isObject } from './json.ts';

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

/** A calendar day that exists, as `YYYY-MM-DD`. */
function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  // Date.parse rolls 30 February over into March, so the day has to come back as it went in.
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

/** RFC 3339 with a zone: a time without one names no instant. */
function isDateTime(text: string): boolean {
  const parts =
    /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/.exec(
      text,
    );
  return parts !== null && isDate(parts[1] as string);
}

/** Enough of a value to recognise it in a message. */
const EXCERPT_LENGTH_MAX = 60;

function excerpt(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  if (text.length <= EXCERPT_LENGTH_MAX) return text;
  // A pair that the cut went through would leave half a character, which no strict reader accepts.
  return `${text.slice(0, EXCERPT_LENGTH_MAX).replace(/\p{Surrogate}$/u, '')}…`;
}
