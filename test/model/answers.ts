/**
 * What the model knows of a call after its checks, and what an answer to it shows.
 *
 * @module
 */

import type { CallAct } from './acts.ts';
import { type Facts, type Money, wireMoney } from './catalog.ts';
import type { Answer, Budget } from './history.ts';
import type { Taken } from './steps.ts';

/** What the checks found: a failure, a stored answer, or that the call may be admitted. */
export interface Checked {
  readonly failure?: string;
  readonly answer?: Answer;
  readonly facts?: Facts;
  readonly charge?: Money | undefined;
  /** The budgets as the checks saw them. */
  readonly budgets: readonly Budget[];
  /** Whether the price was compared with them. */
  readonly isCompared?: boolean;
}

export type Passed = Checked & { readonly facts: Facts };

export function leftOf({ amount, reserved, spent }: Budget): number {
  return amount - reserved - spent;
}

export function refusal(act: CallAct, found: Checked, failure: string, more: Answer = {}): Taken {
  return { answer: { failure, ...more, ...about(act, found) } };
}

/** What every answer to a call shows: which call it is, and the budget of its token. */
export function about({ label }: CallAct, { budgets, facts, charge, isCompared }: Checked): Answer {
  const own = budgets.at(-1);
  if (!own) return { invocation: label };
  const wire = (amount: number) => wireMoney({ ...own, amount }).amount;
  const left = Math.min(...budgets.map(leftOf));
  const budget = {
    budget_max: wire(own.amount),
    budget_currency: own.currency,
    cost_check_amount: isCompared && charge ? wire(charge.amount) : 0,
    cost_certainty: facts?.cost?.certainty ?? 'fixed',
    budget_spent: wire(own.spent),
    budget_reserved: wire(own.reserved),
    budget_remaining: wire(Math.max(0, left)),
  };
  return { invocation: label, budget };
}
