/**
 * Tokens as links of a lineage, from the rows of both databases.
 *
 * The part of a token that never changes comes as one text. Equal texts share one frozen record, which is made once.
 *
 * @module
 */

import { amended } from '../../domain/values/amended.ts';
import type { BudgetState, LineageLink, TokenRecord } from '../port/records.ts';
import { remembered, shared, TOKENS_REMEMBERED_MAX } from '../port/remembered.ts';
import { ceilingOf, revokedAt } from '../port/row-forms.ts';
import type { Row, Table } from './table.ts';

type Budget = Pick<BudgetState, 'currency' | 'max'>;

export interface FixedToken {
  readonly token: TokenRecord;
  readonly budget: Budget | undefined;
}

/** Reads the row of a token with the currency and the ceiling of its budget, as JSON. */
export function fixedTokens({
  read,
}: Pick<Table<Omit<TokenRecord, 'budget'>>, 'read'>): (json: string) => FixedToken {
  return remembered(TOKENS_REMEMBERED_MAX, (json) => {
    const row: Row = JSON.parse(json);
    const { currency, max } = row;
    const budget =
      currency === null ? undefined : { currency: String(currency), max: BigInt(String(max)) };
    return { token: shared(withBudget(read(row), budget)), budget };
  });
}

export function withBudget(
  token: Omit<TokenRecord, 'budget'>,
  budget: Budget | undefined,
): TokenRecord {
  const ceiling = budget && {
    currency: budget.currency,
    max_amount: ceilingOf(budget.max, budget.currency),
  };
  return amended(token, { budget: ceiling });
}

/** What changes of a token and its budget. */
type Standing = Pick<LineageLink, 'revoked_at' | 'revoked_mac'> & {
  readonly [Amount in 'reserved' | 'consumed']: BudgetState[Amount] | undefined;
};

/** The columns of a budget are there together. */
export function linkFrom({ token, budget }: FixedToken, standing: Standing): LineageLink {
  const { revoked_at, revoked_mac, reserved, consumed } = standing;
  const { token_id, subject, expires_at } = token;
  return {
    token_id,
    subject,
    exclusive: token.concurrent_branches === 'exclusive',
    expires_at,
    revoked_at: revokedAt(token, revoked_at, revoked_mac),
    revoked_mac,
    budget:
      budget &&
      ({ token_id, currency: budget.currency, max: budget.max, reserved, consumed } as BudgetState),
    token,
  };
}
