/**
 * Debts against the folded log: what calls reported beyond their reservation, on every token above them.
 *
 * Entries carry what was reported in their personal fields. Where retention erased those, the rows may
 * owe more than what is left says, and never less.
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
  /** Compares, once everything was shown. */
  finish(check: RowCheck): void;
}

/** The entries that can tell of an overrun. */
const TELLING: readonly EntryType[] = ['invocation', 'settlement', 'compensation'];

export function createDebtCheck(expected: Expected): DebtCheck {
  const found = new Map<string, bigint>();
  return {
    debt({ token_id, currency, amount }) {
      found.set(keyOf(token_id, currency), amount);
    },
    finish(check) {
      const { erased, erasedPersonal } = expected;
      const isCut = TELLING.some((type) => erased.has(type) || erasedPersonal.has(type));
      const owed = owedOn(expected);
      for (const key of new Set([...owed.keys(), ...found.keys()])) {
        const [token_id = '', ...rest] = key.split(' ');
        const currency = rest.join(' ');
        const said = owed.get(key) ?? 0n;
        const told = isCurrency(currency) && said > minorMax(currency) ? minorMax(currency) : said;
        const row = found.get(key) ?? 0n;
        if (row === told) continue;
        if (isCut && row > told) {
          check.note('debts while entries that may tell of them were erased');
          continue;
        }
        const text = (amount: bigint) => shownMinor(amount, currency);
        check.report('debt', token_id, `it owes ${text(row)}, the log says ${text(told)}`);
      }
    },
  };
}

/** What every token owes for itself and all below it. */
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

/** No id of a token has a space. */
function keyOf(tokenId: string, currency: string): string {
  return `${tokenId} ${currency}`;
}
