/**
 * Values that people type in options: amounts, durations, times, and pairs of a name and a value.
 *
 * @module
 */

import { parseDuration } from '../../domain/values/duration.ts';
import { isDate, parseMoment } from '../../domain/values/moment.ts';
import { amountFault, formatMinor, toMinor } from '../../domain/values/money.ts';
import type { Money } from '../../protocol/primitives.ts';

/** Reads an amount such as `500 USD`. Refuses one that a number cannot carry exactly. */
export function amountIn(text: string, option: string): Money {
  const [, digits, currency] = /^(\d{1,20}(?:\.\d{1,8})?) ?([A-Z]{3})$/.exec(text) ?? [];
  if (digits === undefined || currency === undefined) {
    throw new Error(`expected an amount such as "500 USD" after ${option}, not "${text}"`);
  }
  const amount = Number(digits);
  const fault = amountFault(amount, currency);
  if (fault !== undefined) throw new Error(fault);
  const plain = shortest(formatMinor(toMinor(amount, currency) ?? 0n, currency));
  if (plain !== shortest(digits)) throw new Error(`no number is exactly "${text}"`);
  return { currency, amount };
}

/** Without zeros that say nothing: `0500.10` and `500.1` are one amount. */
function shortest(digits: string): string {
  const [whole = '', fraction = ''] = digits.split('.');
  return `${whole.replace(/^0+(?=\d)/, '')}.${fraction.replace(/0+$/, '')}`;
}

/** The amount for people, such as `25.00 USD`. */
export function shownMoney({ currency, amount }: Money): string {
  const minor = toMinor(amount, currency);
  return minor === undefined
    ? `${amount} ${currency}`
    : `${formatMinor(minor, currency)} ${currency}`;
}

/** Milliseconds of a duration such as `2h`, `30m` or `P1D`. */
export function durationIn(text: string, option: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms > 0) return ms;
  throw new Error(`expected a duration such as "2h" or "30m" after ${option}, not "${text}"`);
}

/** A time in UTC, from a day, a time with a zone, or a duration from now. */
export function timeIn(text: string, option: string, now: Date): string {
  const ms = isDate(text) ? Date.parse(`${text}T00:00:00Z`) : parseMoment(text);
  const length = parseDuration(text);
  const time = ms ?? (length === undefined ? undefined : now.getTime() + length);
  // Beyond the last date of JavaScript there is no text for it.
  if (time !== undefined && Math.abs(time) < 8.64e15) return new Date(time).toISOString();
  const forms = 'a time such as "2030-01-31T09:00:00Z" or a duration such as "2h"';
  throw new Error(`expected ${forms} after ${option}, not "${text}"`);
}

/** A whole number from 0. */
export function countIn(text: string, option: string): number {
  if (/^(?:0|[1-9]\d{0,8})$/.test(text)) return Number(text);
  throw new Error(`expected a whole number after ${option}, not "${text}"`);
}

/** The pairs of options such as `--param seats=2`. Refuses a name that is given twice. */
export function pairsIn(texts: readonly string[], option: string): Map<string, string> {
  const pairs = new Map<string, string>();
  for (const text of texts) {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
    if (name === undefined || value === undefined) {
      throw new Error(`expected name=value after ${option}, not "${text}"`);
    }
    if (pairs.has(name)) throw new Error(`"${name}" is given twice with ${option}`);
    pairs.set(name, value);
  }
  return pairs;
}

/** A word as a POSIX shell reads it back. */
export function shellWord(word: string): string {
  return /^[A-Za-z0-9_./:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
