/**
 * Durations: how long something lasts, in whole milliseconds.
 *
 * Reads ISO 8601 (`PT15M`, `P1DT12H`, `P2W`, `PT0.5S`) and the short forms people type (`24h`, `500ms`).
 * Refuses years and months, which have no fixed length. Knows no clock and no calendar; a day is 24 hours.
 *
 * @module
 */

/** Milliseconds, or `undefined` when the text is no duration. Zero is a duration: callers check bounds. */
export function parseDuration(text: string): number | undefined {
  if (text.length > DURATION_LENGTH_MAX) return undefined;
  const short = SHORT.exec(text);
  const milliseconds = short ? fromShort(short) : fromIso(text);
  return Number.isSafeInteger(milliseconds) ? milliseconds : undefined;
}

export function isDuration(text: unknown): text is string {
  return typeof text === 'string' && parseDuration(text) !== undefined;
}

/** The shortest ISO 8601 form in days, hours, minutes and seconds. `parseDuration` reads it back. */
export function formatDuration(milliseconds: number): string {
  if (!Number.isSafeInteger(milliseconds) || milliseconds < 0) {
    throw new RangeError(`Cannot write duration ${milliseconds}: not a count of milliseconds`);
  }
  const days = part(Math.floor(milliseconds / DAY), 'D');
  const hours = part(Math.floor((milliseconds % DAY) / HOUR), 'H');
  const minutes = part(Math.floor((milliseconds % HOUR) / MINUTE), 'M');
  const time = hours + minutes + part((milliseconds % MINUTE) / SECOND, 'S');
  if (days + time === '') return 'PT0S';
  return time === '' ? `P${days}` : `P${days}T${time}`;
}

/** Characters. The longest duration in range needs fewer; longer texts are not looked at. */
const DURATION_LENGTH_MAX = 64;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: SECOND, m: MINUTE, h: HOUR, d: DAY };

const SHORT = /^([0-9]+)(ms|s|m|h|d)$/;

const WEEKS = /^P([0-9]+)W$/;

/** The look-aheads refuse `P`, `PT` and `P1DT`: a designator must be followed by a number. */
const PARTS =
  /^P(?=[0-9T])(?:([0-9]+)D)?(?:T(?=[0-9])(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)(?:\.([0-9]{1,3}))?S)?)?$/;

function fromShort([, count = '', unit = '']: RegExpExecArray): number {
  return Number(count) * (UNITS[unit] ?? Number.NaN);
}

/** NaN when the text is no ISO 8601 duration of fixed length. */
function fromIso(text: string): number {
  const weeks = WEEKS.exec(text)?.[1];
  if (weeks !== undefined) return Number(weeks) * 7 * DAY;

  const parts = PARTS.exec(text);
  if (!parts) return Number.NaN;
  const [, days = '0', hours = '0', minutes = '0', seconds = '0', fraction = ''] = parts;
  return (
    Number(days) * DAY +
    Number(hours) * HOUR +
    Number(minutes) * MINUTE +
    Number(seconds) * SECOND +
    Number(fraction.padEnd(3, '0'))
  );
}

function part(count: number, designator: string): string {
  return count === 0 ? '' : `${count}${designator}`;
}
