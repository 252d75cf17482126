/**
 * Drawing: what the steps of a composed call take from what was reserved for the whole.
 *
 * A step is priced as it would be if it were called, and stops before it would take more than is
 * left. So however the steps turn out, the whole never costs more than was checked.
 *
 * @module
 */

import type { Capability } from '../../protocol/capability.ts';
import type { Failure } from '../../protocol/failure.ts';
import { failure } from '../failure.ts';
import { type Charge, priceOf } from '../invocation/budget.ts';
import { formatMinor } from '../values/money.ts';

/** What was reserved, and what the steps so far have taken. */
export interface Reservation {
  /** Nothing was reserved where nothing could be checked: the cost is then only told. */
  readonly reserved?: Charge | undefined;
  readonly drawn: bigint;
  /** Whether a budget stands behind it: then nothing is spent that nobody can check. */
  readonly isBudgeted: boolean;
}

export interface Draw {
  readonly failure?: Failure | undefined;
  /** The most that the step takes. */
  readonly price?: Charge | undefined;
}

/** Prices one step. `bound` is what its bindings pin. */
export function checkDraw(
  { name, cost }: Capability,
  { reserved, drawn, isBudgeted }: Reservation,
  bound?: Charge,
): Draw {
  if (!cost?.financial) return {};
  const { currency } = cost.financial;
  const left = reserved && { currency, amount: reserved.amount - drawn };
  const price = priceOf(cost, bound);
  if (!price || price.currency !== currency) {
    if (!isBudgeted) return { price: left };
    const detail = `Cannot run "${name}": nothing pins its ${cost.certainty} cost`;
    return { failure: failure('budget_not_enforceable', detail) };
  }
  if (!left || price.amount <= left.amount) return { price };
  const [needed, rest] = [price, left].map(({ amount }) => formatMinor(amount, currency));
  const detail = `Cannot run "${name}" for ${needed} ${currency}: of what was reserved for the whole, ${rest} is left`;
  return { failure: failure('budget_exceeded', detail) };
}
