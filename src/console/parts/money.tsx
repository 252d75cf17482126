/**
 * Money: tabular digits, bold, the code of the currency after the amount.
 *
 * @module
 */

import { digitsOf } from '../../domain/decision/values.ts';
import type { Money } from '../../protocol/primitives.ts';

export function Amount({ of }: { readonly of: Money }) {
  return (
    <span class="money">
      {digitsOf(of)} <small>{of.currency}</small>
    </span>
  );
}
