/**
 * Money and time on the sign-in pages: each has one look.
 *
 * @module
 */

import { formatMinor, toMinor } from '../../domain/values/money.ts';
import { visibleText } from '../../domain/wire/visible-text.ts';
import { escapeHtml } from '../../openapi/html.ts';

/** An amount with its currency. */
export function money(amount: number, currency: string): string {
  const code = visibleText(currency.slice(0, CODE_LENGTH));
  return `<span class="money">${escapeHtml(amountText(amount, currency))} <small>${escapeHtml(code)}</small></span>`;
}

/** An edited row may name any currency. */
const CODE_LENGTH = 3;

/** `1,250.00`. An amount that its currency does not have is shown as the number that it is. */
export function amountText(amount: number, currency: string): string {
  const minor = toMinor(amount, currency);
  if (minor === undefined) return String(amount);
  const digits = formatMinor(minor, currency);
  return digits.replace(/^\d+/, (whole) => whole.replace(/\B(?=(?:\d{3})+$)/g, ','));
}

/** The amounts in a sentence of ours, each in the look of money. */
export function moneyHtml(words: string): string {
  return escapeHtml(words).replace(
    /(\d[\d,]*(?:\.\d+)?)( [A-Z]{3}\b)?/g,
    (_, digits: string, code = '') =>
      `<span class="money">${digits}${code && ` <small>${code.trim()}</small>`}</span>`,
  );
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Below this, an end is near. */
const SOON_MS = 10 * MINUTE;

/** Relative to `now`, and exactly. */
export function time(at: Date, now: Date): string {
  const left = at.getTime() - now.getTime();
  const kind = left > 0 && left < SOON_MS ? 'time soon' : 'time';
  const exact = `<time datetime="${at.toISOString()}">${exactTime(at)}</time>`;
  return `<span class="${kind}">${relativeTime(left)} <small>${exact}</small></span>`;
}

const UNITS: readonly [ms: number, one: string, several: string][] = [
  [DAY, 'day', 'days'],
  [HOUR, 'h', 'h'],
  [MINUTE, 'min', 'min'],
  [SECOND, 's', 's'],
];

function relativeTime(left: number): string {
  const size = Math.abs(left);
  const [ms, one, several] = UNITS.find(([unit]) => size >= unit) ?? [];
  if (ms === undefined) return 'now';
  const many = Math.floor(size / ms);
  const words = `${many} ${many === 1 ? one : several}`;
  return left > 0 ? `in ${words}` : `${words} ago`;
}

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/** `Fri 20 Nov 2026, 18:00:00 UTC`. */
function exactTime(at: Date): string {
  const day = `${DAYS[at.getUTCDay()]} ${at.getUTCDate()} ${MONTHS[at.getUTCMonth()]}`;
  return `${day} ${at.getUTCFullYear()}, ${at.toISOString().slice(11, 19)} UTC`;
}
