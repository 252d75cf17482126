/**
 * Days and moments as text, strictly: engines read nearly any text as a date.
 *
 * @module
 */

/** A calendar day that exists, as `YYYY-MM-DD`. */
export function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  // Date.parse rolls 30 February over into March, so the day has to come back as it went in.
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

/** RFC 3339 with a zone: a time without one names no instant. */
export function isDateTime(text: string): boolean {
  const parts =
    /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/.exec(
      text,
    );
  return parts !== null && isDate(parts[1] as string);
}

/** Milliseconds since 1970, or undefined when the text names no instant. */
export function parseMoment(text: string): number | undefined {
  return isDateTime(text) ? Date.parse(text) : undefined;
}
