/**
 * Budget: compares the cost of a call with what the token and its ancestors have left.
 *
 * The specification's table decides which amount is checked. Budgets are cumulative: spent and reserved
 * amounts count. This check refuses early. The store checks again and alone decides when calls race.
 *
 * @module
 */

import type { Capability, Cost } from '../../protocol/capability.ts';
import { exponentOf } from '../../protocol/currencies.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { BudgetContext } from '../../protocol/invocation.ts';
import type { Money } from '../../protocol/primitives.ts';
import type { Authority } from '../authority/narrowing.ts';
import { failure } from '../failure.ts';
import { amountFault, formatMinor, fromMinor, toMinor } from '../values/money.ts';

/** The state of one token's budget. `reserved + consumed` never exceeds `max`. */
export interface BudgetState {
  readonly token_id: string;
  readonly currency: string;
  readonly max: bigint;
  readonly reserved: bigint;
  readonly consumed: bigint;
}

/** Minor units of one currency. */
export interface Charge {
  readonly currency: string;
  readonly amount: bigint;
}

export interface BudgetCheck {
  readonly failure?: Failure | undefined;
  /** The checked amount, which is to be reserved. Also present without a budget, for the record. */
  readonly charge?: Charge | undefined;
  readonly context?: BudgetContext | undefined;
}

/** The price that a required binding pins; `pending` while that binding is not read yet. */
export type BoundPrice = Charge | 'pending' | undefined;

/** Checks one call. `lineage` has the budgets from the root to the token, its own last. */
export function checkBudget(
  token: Authority,
  capability: Capability,
  lineage: readonly BudgetState[],
  bound?: BoundPrice,
): BudgetCheck {
  const { cost } = capability;
  if (!cost?.financial) return {};
  const { currency } = cost.financial;
  const { budget } = token;
  const charge = bound === 'pending' ? undefined : priceOf(cost, bound);
  if (!budget) return { charge };

  if (currency !== budget.currency) {
    const detail = `Cannot check the budget: "${capability.name}" costs ${currency}, the budget is in ${budget.currency}`;
    return { failure: failure('budget_currency_mismatch', detail, grantor(token)) };
  }
  if (bound === 'pending') return {};
  if (!charge || charge.currency !== currency) {
    const detail = `Cannot check the budget: no binding fixes the ${cost.certainty} cost of "${capability.name}"`;
    return { failure: failure('budget_not_enforceable', detail) };
  }
  // Nothing is reserved yet: if a later rule refuses the call, the budget stays as reported here.
  const context = budgetView(cost, charge, lineage);
  const tight = lineage.find((state) => remainingOf(state) < charge.amount);
  return { charge, context, failure: tight && exceeded(charge, tight, token) };
}

/** Also used when the store finds that a concurrent call took the amount first. */
export function exceeded(charge: Charge, tight: BudgetState, token: Authority): Failure {
  const text = (minor: bigint) => formatMinor(minor, charge.currency);
  const spent = tight.reserved + tight.consumed;
  const detail = `Cannot spend ${text(charge.amount)} ${charge.currency}: the budget is ${text(tight.max)}, ${text(spent)} is spent or reserved, ${text(remainingOf(tight))} remains`;
  return failure('budget_exceeded', detail, grantor(token));
}

/** The budget as a caller sees it: its own limit, and what the whole lineage leaves of it. */
export function budgetView(
  cost: Cost | undefined,
  charge: Charge | undefined,
  lineage: readonly BudgetState[],
): BudgetContext | undefined {
  const own = lineage.at(-1);
  if (!own) return undefined;
  const { currency, consumed, reserved } = own;
  const remaining = leastRemaining(lineage);
  return Object.assign(unsettledContext(cost, charge, own), {
    budget_spent: fromMinor(consumed, currency),
    budget_reserved: fromMinor(reserved, currency),
    budget_remaining: fromMinor(remaining > 0n ? remaining : 0n, currency),
  });
}

/**
 * The four fields of the specification, for a call whose charge may not be settled. An amount that was not
 * compared with the budget is 0. A call without a declared cost has a fixed cost of 0.
 */
export function unsettledContext(
  cost: Cost | undefined,
  charge: Charge | undefined,
  { max, currency }: BudgetState,
): BudgetContext {
  return {
    budget_max: fromMinor(max, currency),
    budget_currency: currency,
    cost_check_amount: fromMinor(charge?.amount ?? 0n, currency),
    cost_certainty: cost?.certainty ?? 'fixed',
  };
}

/**
 * The final charge of a call: the cost that its handler reported, at most the checked amount. `excess` is
 * true when the handler reported more, or an amount that was not checked. The call is then charged as
 * checked, and the caller of this function must report the excess.
 */
export function settledCost(
  { cost }: Capability,
  checked: Charge | undefined,
  reported: Charge | undefined,
): { readonly cost: Charge | undefined; readonly excess: boolean } {
  if (!reported) return { cost: checked ?? largestCost(cost), excess: false };
  const currency = checked?.currency ?? cost?.financial?.currency;
  const within = reported.currency === currency && (!checked || reported.amount <= checked.amount);
  return within ? { cost: reported, excess: false } : { cost: checked, excess: true };
}

/**
 * Spec, "Invoke": an answer has `cost_actual` if the capability has a financial cost. Where nothing fixed the price, no
 * budget was checked and the handler reported nothing, that is the largest amount that was declared.
 */
function largestCost(cost: Capability['cost']): Charge | undefined {
  const { currency, range_max, typical, range_min } = cost?.financial ?? {};
  const amount = range_max ?? typical ?? range_min;
  return currency === undefined || amount === undefined
    ? undefined
    : chargeFrom({ currency, amount });
}

export function remainingOf({ max, reserved, consumed }: BudgetState): bigint {
  return max - reserved - consumed;
}

/** What may still be spent under a token: the least over its lineage. */
export function leastRemaining(lineage: readonly BudgetState[]): bigint {
  return lineage.map(remainingOf).reduce((least, each) => (each < least ? each : least));
}

/** An amount from an author's code. One that cannot be read is a defect of that code. */
export function chargeFrom({ currency, amount }: Money): Charge {
  const minor = toMinor(amount, currency);
  if (minor === undefined) throw new Error(amountFault(amount, currency));
  return { currency, amount: minor };
}

/** Spec, "Budget enforcement": the table, one case per row. Also prices the steps of a composed call. */
export function priceOf(cost: Cost, bound: Charge | undefined): Charge | undefined {
  const { currency, amount, upper_bound } = cost.financial as NonNullable<Cost['financial']>;
  if (cost.certainty === 'estimated') return bound;
  const declared = cost.certainty === 'fixed' ? amount : upper_bound;
  const minor = declared === undefined ? undefined : toMinor(declared, currency);
  return minor === undefined ? undefined : { currency, amount: minor };
}

/** Why an amount cannot be the price of a call by what its cost declares, or `undefined`. */
export function priceFault(
  { currency, range_min = 0, range_max }: NonNullable<Cost['financial']>,
  amount: number,
): string | undefined {
  const [minor, least] = [toMinor(amount + 0, currency), toMinor(range_min, currency) ?? 0n];
  const most = range_max === undefined ? undefined : toMinor(range_max, currency);
  const isLess = minor !== undefined && minor < least;
  const isMore = minor !== undefined && most !== undefined && minor > most;
  if (minor !== undefined && !isLess && !isMore) return undefined;
  const range = range_max === undefined ? `at least ${range_min}` : `${range_min} to ${range_max}`;
  const decimals = `with at most ${exponentOf(currency) ?? 0} decimals`;
  return `it would cost ${amount} ${currency}; expected ${range} ${currency} ${decimals}`;
}

function grantor({ root_principal }: Authority) {
  return { grantable_by: root_principal };
}
