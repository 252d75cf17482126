/**
 * Money: amounts travel as JSON numbers and are counted as whole minor units in a bigint.
 *
 * An amount is the shortest decimal form of its double, read digit by digit. Nothing is multiplied, so
 * nothing is rounded. Knows no exchange rates and adds no amounts of different currencies.
 *
 * Invariant: reading what was written gives the same minor units, for every amount up to the largest of its
 * currency.
 *
 * @module
 */

import { exponentOf, isCurrency } from '../../protocol/currencies.ts';

/** Minor units of an amount, or undefined when it is no amount of that currency. */
export function toMinor(amount: number, currency: string): bigint | undefined {
  const reading = readAmount(amount, currency);
  return typeof reading === 'bigint' ? reading : undefined;
}

/** Why `toMinor` does not read this amount, or undefined when it does. */
export function amountFault(amount: unknown, currency: unknown): string | undefined {
  const reading = readAmount(amount, currency);
  return typeof reading === 'string' ? reading : undefined;
}

/** The number for the wire. Throws on an amount that `toMinor` could not read back. */
export function fromMinor(minor: bigint, currency: string): number {
  if (minor < 0n || minor > minorMax(currency)) {
    const text = formatMinor(minor, currency);
    throw new RangeError(`Cannot write ${text} ${currency}: no exact number for it`);
  }
  // Both are exact doubles, so their quotient is the double nearest to the decimal amount.
  return Number(minor) / 10 ** knownExponent(currency);
}

/** Whether `fromMinor` can write the amount. Every amount that `toMinor` returns can be written. */
export function isWritable(minor: bigint, currency: string): boolean {
  return isCurrency(currency) && minor >= 0n && minor <= minorMax(currency);
}

/** The amount for people. Also formats an edited row whose amount or currency is impossible. */
export function shownMinor(minor: bigint, currency: string): string {
  if (!isCurrency(currency)) return `${minor} of ${quotedAmount(currency)}`;
  return `${formatMinor(minor, currency)} ${currency}`;
}

/** The amount with all decimals of its currency, for people: `25.00`, `1000` in yen. */
export function formatMinor(minor: bigint, currency: string): string {
  const exponent = knownExponent(currency);
  const sign = minor < 0n ? '-' : '';
  const digits = String(minor < 0n ? -minor : minor).padStart(exponent + 1, '0');
  if (exponent === 0) return sign + digits;
  return `${sign}${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`;
}

/**
 * The largest amount, in minor units. Up to here neighbouring amounts are neighbouring doubles or
 * further apart; beyond, two amounts would share one double and a sum could not be written exactly.
 */
export function minorMax(currency: string): bigint {
  const max = MINOR_MAX[knownExponent(currency)];
  if (max === undefined) throw new Error(`Cannot bound ${currency}: its exponent has no row`);
  return max;
}

/**
 * By exponent. A double in [2^k, 2^(k+1)) has a step of 2^(k-52); the last range whose step is
 * smaller than one minor unit ends at 2^46 for cents, 2^43 for thousandths, 2^39 for ten-thousandths.
 */
const MINOR_MAX: Readonly<Record<number, bigint>> = {
  0: BigInt(Number.MAX_SAFE_INTEGER),
  2: 2n ** 46n * 100n - 1n,
  3: 2n ** 43n * 1_000n - 1n,
  4: 2n ** 39n * 10_000n - 1n,
};

/** Minor units, or the reason there are none. */
function readAmount(amount: unknown, currency: unknown): bigint | string {
  if (!isCurrency(currency)) {
    return `Cannot read amount: ${quotedAmount(currency)} is not an ISO 4217 currency`;
  }
  if (typeof amount !== 'number') {
    return `Cannot read amount in ${currency}: it is of type ${typeof amount}`;
  }
  const why = whyNotCountable(amount, currency);
  if (why !== undefined) return `Cannot read amount ${quotedAmount(amount)} ${currency}: ${why}`;

  const [whole = '', fraction = ''] = String(amount).split('.');
  return BigInt(whole + fraction.padEnd(knownExponent(currency), '0'));
}

function whyNotCountable(amount: number, currency: string): string | undefined {
  if (!Number.isFinite(amount)) return 'it is not finite';
  if (amount < 0 || Object.is(amount, -0)) return 'it is negative';

  const max = minorMax(currency);
  if (amount > fromMinor(max, currency)) return `the largest is ${formatMinor(max, currency)}`;
  const exponent = knownExponent(currency);
  if (decimalsOf(amount) > exponent) return `${currency} has ${exponent} decimals`;
  return undefined;
}

/** Decimals of the shortest form. Doubles below 1e-6 are spelt with an exponent: 1.5e-7 has 8. */
function decimalsOf(amount: number): number {
  const [digits = '', power = '0'] = String(amount).split('e');
  const fraction = digits.split('.')[1] ?? '';
  return Math.max(0, fraction.length - Number(power));
}

function knownExponent(currency: string): number {
  const exponent = exponentOf(currency);
  if (exponent === undefined) {
    throw new Error(`Cannot count money in ${quotedAmount(currency)}: no ISO 4217 currency`);
  }
  return exponent;
}

/** Quotes a value for a message without repeating a long text. */
function quotedAmount(value: unknown): string {
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  if (typeof value !== 'string') return `a value of type ${typeof value}`;
  return value.length > 16 ? 'a long string' : JSON.stringify(value);
}
