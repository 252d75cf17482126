/**
 * Days and moments as text, read strictly: engines accept nearly any text as a date.
 *
 * @module
 */

/** A calendar day that exists, as `YYYY-MM-DD`. */
export function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  // `Date.parse` turns 30 February into a day in March, so the day must survive the round trip.
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

/** RFC 3339 with a zone: a time without a zone is not an instant. */
export function isDateTime(text: string): boolean {
  const parts =
    /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/.exec(
      text,
    );
  return parts !== null && isDate(parts[1] as string);
}

/** Milliseconds since 1970, or `undefined` when the text is not an instant. */
export function parseMoment(text: string): number | undefined {
  return isDateTime(text) ? Date.parse(text) : undefined;
}
