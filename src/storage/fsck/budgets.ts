/**
 * Compares budgets with the folded log: what is spent and what is reserved on every token of each lineage.
 *
 * Spent is the cost in the entries of calls below a token, less refunds. Reserved is what the open calls
 * below it hold; those have no entry yet. Where the entry of a call was erased, the store's own record of the
 * call counts.
 *
 * @module
 */

import { shownMinor } from '../../domain/values/money.ts';
import type { ErasedCalls, OpenCall } from '../port/ledger-store.ts';
import type { BudgetState } from '../port/records.ts';
import { type Expected, mayLackReconciliation } from './fold.ts';
import { lineageOf, type RowCheck } from './rows.ts';

export interface BudgetCheck {
  openCall(call: OpenCall): void;
  erased(erased: ErasedCalls): void;
  budget(budget: BudgetState): void;
  /** Compares, after the last row. */
  finish(check: RowCheck): void;
}

/** The sums of the calls under one token. */
interface Sums {
  readonly spent: bigint;
  readonly reserved: bigint;
  /** The part of `spent` with an unknown outcome, whose refund may be in an erased entry. */
  readonly perhapsRefunded: bigint;
}

const NOTHING: Sums = { spent: 0n, reserved: 0n, perhapsRefunded: 0n };

export function createBudgetCheck(expected: Expected): BudgetCheck {
  const budgets: BudgetState[] = [];
  const own = new Map<string, Sums>();
  let erasedEntries = 0;
  const add = (id: string, change: Partial<Sums>) => own.set(id, sumOf(own.get(id), change));

  return {
    openCall: ({ token_id, reserved }) => void add(token_id, { reserved }),
    erased({ entries, spent }) {
      erasedEntries = entries;
      for (const { token_id, amount } of spent) add(token_id, { spent: amount });
    },
    budget: (budget) => void budgets.push(budget),
    finish(check) {
      const folded = [...expected.erased.values()].reduce((sum, each) => sum + each, 0);
      if (folded !== erasedEntries) {
        check.note('comparison of budgets: retention erased entries meanwhile, so check again');
        return;
      }
      for (const [id, { spent }] of expected.tokens) add(id, { spent });
      for (const { tokenId, amount } of perhapsRefunded(expected)) {
        add(tokenId, { perhapsRefunded: amount });
      }
      const sums = withDescendants(expected, own);
      for (const budget of budgets) compare(check, budget, sums.get(budget.token_id) ?? NOTHING);
    },
  };
}

/** Each token with everything that was spent below it. */
function withDescendants(expected: Expected, own: ReadonlyMap<string, Sums>): Map<string, Sums> {
  const sums = new Map<string, Sums>();
  for (const [tokenId, sum] of own) {
    for (const id of lineageOf(expected, tokenId)) sums.set(id, sumOf(sums.get(id), sum));
  }
  return sums;
}

function sumOf(
  sum: Sums = NOTHING,
  { spent = 0n, reserved = 0n, perhapsRefunded = 0n }: Partial<Sums>,
): Sums {
  return {
    spent: sum.spent + spent,
    reserved: sum.reserved + reserved,
    perhapsRefunded: sum.perhapsRefunded + perhapsRefunded,
  };
}

/** Calls of unknown outcome, where the entry of their refund may be erased. */
function perhapsRefunded(expected: Expected) {
  return mayLackReconciliation(expected) ? [...expected.unknown.values()] : [];
}

function compare(check: RowCheck, budget: BudgetState, sums: Sums): void {
  const { token_id, currency, consumed, reserved } = budget;
  const { spent, reserved: held, perhapsRefunded } = sums;
  const text = (amount: bigint) => shownMinor(amount, currency);
  if (consumed > spent || consumed < spent - perhapsRefunded) {
    const least = perhapsRefunded > 0n ? `${text(spent - perhapsRefunded)} to ` : '';
    const both = `it says that ${text(consumed)} are spent, the log says ${least}${text(spent)}`;
    check.report('budget', token_id, both);
  }
  if (reserved !== held) {
    const both = `it says that ${text(reserved)} are reserved, the open calls hold ${text(held)}`;
    check.report('budget', token_id, both);
  }
}
