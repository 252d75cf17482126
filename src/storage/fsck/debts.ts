/**
 * Compares debts with the folded log: what calls reported beyond their reservation, on every token above
 * them.
 *
 * Entries have the reported cost in their personal fields. Where retention erased those, the rows may owe
 * more than the remaining entries say, and never less.
 *
 * @module
 */

import { minorMax, shownMinor } from '../../domain/values/money.ts';
import type { EntryType } from '../../protocol/audit.ts';
import { isCurrency } from '../../protocol/currencies.ts';
import type { Debt } from '../port/ledger-store.ts';
import type { Expected } from './fold.ts';
import { lineageOf, type RowCheck } from './rows.ts';

export interface DebtCheck {
  debt(debt: Debt): void;
  /** Compares, after the last row. */
  finish(check: RowCheck): void;
}

/** The entry types that can report an overrun. */
const OVERRUN_TYPES: readonly EntryType[] = ['invocation', 'settlement', 'compensation'];

export function createDebtCheck(expected: Expected): DebtCheck {
  const found = new Map<string, bigint>();
  return {
    debt({ token_id, currency, amount }) {
      found.set(keyOf(token_id, currency), amount);
    },
    finish(check) {
      const { erased, erasedPersonal } = expected;
      const isCut = OVERRUN_TYPES.some((type) => erased.has(type) || erasedPersonal.has(type));
      const owed = owedOn(expected);
      for (const key of new Set([...owed.keys(), ...found.keys()])) {
        const [token_id = '', ...rest] = key.split(' ');
        const currency = rest.join(' ');
        const sum = owed.get(key) ?? 0n;
        const logged = isCurrency(currency) && sum > minorMax(currency) ? minorMax(currency) : sum;
        const row = found.get(key) ?? 0n;
        if (row === logged) continue;
        if (isCut && row > logged) {
          check.note('debts, because entries that may explain them were erased');
          continue;
        }
        const text = (amount: bigint) => shownMinor(amount, currency);
        check.report('debt', token_id, `it owes ${text(row)}, the log says ${text(logged)}`);
      }
    },
  };
}

/** What every token owes for itself and for its descendants. */
function owedOn(expected: Expected): Map<string, bigint> {
  const owed = new Map<string, bigint>();
  for (const [tokenId, { owes }] of expected.tokens) {
    for (const [currency, amount] of owes ?? []) {
      for (const id of lineageOf(expected, tokenId)) {
        const key = keyOf(id, currency);
        owed.set(key, (owed.get(key) ?? 0n) + amount);
      }
    }
  }
  return owed;
}

/** No token id contains a space. */
function keyOf(tokenId: string, currency: string): string {
  return `${tokenId} ${currency}`;
}
