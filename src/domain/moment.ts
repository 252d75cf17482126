/**
 * A moment in the form that we write: ISO 8601 with a zone. Engines read nearly any text as a date.
 *
 * @module
 */

const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$/;

/** Milliseconds since 1970, or undefined when the text is no such moment. */
export function parseMoment(text: string): number | undefined {
  const milliseconds = ISO.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}
