/**
 * Reads tokens in SQLite: the immutable part as one text, the rest beside it.
 *
 * Every call reads the whole row of its token; most find the same text as the call before. Equal texts share
 * one frozen record, which is made once.
 *
 * @module
 */

import { amended } from '../../domain/values/amended.ts';
import type { BudgetState, LineageLink, TokenRecord } from '../port/records.ts';
import { remembered, shared, TOKENS_REMEMBERED_MAX } from '../port/remembered.ts';
import { ceilingOf, revokedAt } from '../port/row-forms.ts';
import type { Row } from '../tables/table.ts';
import type { Connection } from './connection.ts';
import { TOKENS, timeOf } from './rows.ts';

/** A token as it stands in one snapshot. */
export interface HeldToken {
  readonly token: TokenRecord;
  readonly link: LineageLink;
  /** Rarely true; when false, a call skips the query for freezes. */
  readonly anyFreeze: boolean;
}

/** Tokens that this snapshot has already read. */
export type TokensSeen = Map<string, HeldToken | undefined>;

export function readHeld(
  connection: Connection,
  tokenId: string,
  seen?: TokensSeen,
): HeldToken | undefined {
  const before = seen?.get(tokenId);
  if (before) return before;
  const row = connection.get<TokenRow>(TOKEN, tokenId);
  const held = row && heldOf(row);
  seen?.set(tokenId, held);
  return held;
}

interface TokenRow {
  readonly fixed: string;
  readonly revoked_at: bigint | null;
  readonly revoked_mac: string | null;
  readonly reserved: bigint | null;
  readonly consumed: bigint | null;
  readonly any_freeze: bigint;
}

/** The amount is text in the JSON, because it may exceed what a JSON number holds. */
const TOKEN = `
  SELECT json_object(${TOKENS.columns.map((name) => `'${name}', t.${name}`).join(', ')},
      'currency', b.currency, 'max', CAST(b.max AS TEXT)) AS fixed,
    t.revoked_at, t.revoked_mac, b.reserved, b.consumed, EXISTS (SELECT 1 FROM freezes) AS any_freeze
  FROM tokens t LEFT JOIN budgets b USING (token_id) WHERE t.token_id = ?`;

function heldOf(row: TokenRow): HeldToken {
  const { fixed, revoked_at, revoked_mac, reserved, consumed, any_freeze } = row;
  const { token, budget } = fixedOf(fixed);
  return {
    token,
    link: {
      token_id: token.token_id,
      subject: token.subject,
      expires_at: token.expires_at,
      revoked_at: revokedAt(
        token,
        revoked_at === null ? undefined : timeOf(revoked_at),
        revoked_mac,
      ),
      revoked_mac: revoked_mac ?? undefined,
      exclusive: token.concurrent_branches === 'exclusive',
      budget: budget && stateOf(token.token_id, budget, { reserved, consumed }),
      token,
    },
    anyFreeze: any_freeze !== 0n,
  };
}

function stateOf(
  token_id: string,
  { currency, max }: FixedBudget,
  { reserved, consumed }: Pick<TokenRow, 'reserved' | 'consumed'>,
): BudgetState {
  return { token_id, currency, max, reserved: reserved as bigint, consumed: consumed as bigint };
}

interface FixedBudget {
  readonly currency: string;
  readonly max: bigint;
}

interface Fixed {
  readonly token: TokenRecord;
  readonly budget: FixedBudget | undefined;
}

const fixedOf = remembered(TOKENS_REMEMBERED_MAX, parsed);

function parsed(text: string): Fixed {
  const row: Row = JSON.parse(text);
  const currency = row.currency as string | null;
  const budget = currency === null ? undefined : { currency, max: BigInt(row.max as string) };
  const token = amended(TOKENS.read(row), {
    budget: budget && {
      currency: budget.currency,
      max_amount: ceilingOf(budget.max, budget.currency),
    },
  });
  return { token: shared(token), budget };
}
