/**
 * Money: tabular digits, bold, the code of the currency after the amount.
 *
 * @module
 */

import { amountWords } from '../../domain/sign-in/consent-words.ts';
import type { Money } from '../../protocol/primitives.ts';

export function Amount({ of }: { readonly of: Money }) {
  return (
    <span class="money">
      {digitsOf(of)} <small>{of.currency}</small>
    </span>
  );
}

/** "250.00 USD". What is left of a budget may be negative. */
export function plain({ currency, amount }: Money): string {
  return amount < 0 ? `−${amountWords(-amount, currency)}` : amountWords(amount, currency);
}

/** "250.00", beside another amount of the same currency. */
export function digitsOf(money: Money): string {
  return plain(money).slice(0, -money.currency.length - 1);
}
