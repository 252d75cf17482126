/**
 * Amounts as authors write them: money of a currency, and money that is rounded to what the currency has.
 *
 * Nothing here throws: an amount that cannot be charged stays as it is, and the service refuses it where it is used.
 *
 * @module
 */

import { exponentOf } from '../../protocol/currencies.ts';
import type { Money } from '../../protocol/primitives.ts';

/**
 * An amount in US dollars.
 *
 * @example
 * import { usd } from 'writ';
 *
 * console.log(usd(1.5)); // { currency: 'USD', amount: 1.5 }
 */
export function usd(amount: number): Money {
  return { currency: 'USD', amount };
}

/**
 * An amount in euros.
 *
 * @example
 * import { eur } from 'writ';
 *
 * console.log(eur(1.5)); // { currency: 'EUR', amount: 1.5 }
 */
export function eur(amount: number): Money {
  return { currency: 'EUR', amount };
}

/**
 * An amount in pounds sterling.
 *
 * @example
 * import { gbp } from 'writ';
 *
 * console.log(gbp(1.5)); // { currency: 'GBP', amount: 1.5 }
 */
export function gbp(amount: number): Money {
  return { currency: 'GBP', amount };
}

const ROUNDED = { up: Math.ceil, down: Math.floor, nearest: Math.round } as const;

/**
 * Rounds an amount to the decimals of its currency: cents for dollars, whole yen. `nearest` rounds a half up. What
 * binary numbers add beyond fifteen digits does not count, so 1.1 * 3 rounded up is 3.30.
 *
 * @example
 * import { type Price, round, usd } from 'writ';
 *
 * const fare: Price<{ km: number }> = ({ km }) => round(usd(5 + km * 1.999), 'up');
 */
export function round(money: Money, direction: keyof typeof ROUNDED): Money {
  const { amount, currency } = money;
  const exponent = exponentOf(currency);
  if (exponent === undefined || !Number.isFinite(amount)) return money;
  const units = ROUNDED[direction](shifted(Number(amount.toPrecision(15)), exponent));
  return { currency, amount: shifted(units, -exponent) };
}

/** Moves the decimal point in the shortest form of the number, which multiplying by 100 would change. */
function shifted(value: number, places: number): number {
  const [digits, power = '0'] = String(value).split('e');
  return Number(`${digits}e${Number(power) + places}`);
}
