/**
 * Tokens and budgets as the calls of one transaction see them.
 *
 * Many calls that share a transaction also share a token. Its row is read once for all of them, and what they
 * reserve and spend becomes one change of each budget. The file is locked for writing meanwhile, so nothing else
 * changes these rows. Any other transition reads and writes the rows themselves: `flush` comes before it.
 *
 * @module
 */

import type { BudgetState } from '../../port/records.ts';
import type { Connection } from '../connection.ts';
import type { HeldToken, TokensSeen } from '../token-rows.ts';
import { readLineage, readLineageIds } from '../tokens.ts';

export interface BatchTokens {
  /** The tokens from the root down, without those that do not exist. */
  lineageOf(tokenId: string): readonly HeldToken[];
  /** The ids of the same tokens, as the row of the token lists them. */
  idsOf(tokenId: string): readonly string[];
  /** A budget with the changes that are not written yet. */
  standing(budget: BudgetState): BudgetState;
  /** Changes a budget of this currency, where the token has one. */
  move(tokenId: string, currency: string, change: BudgetChange): void;
  /** Writes the changes. What is asked later is read again. */
  flush(): void;
  /** Drops the changes: their transaction, or their transition, was undone. */
  forget(): void;
}

export interface BudgetChange {
  readonly reserved: bigint;
  readonly consumed: bigint;
}

interface Pending {
  readonly currency: string;
  reserved: bigint;
  consumed: bigint;
}

export function createBatchTokens(connection: Connection): BatchTokens {
  const seen: TokensSeen = new Map();
  const ids = new Map<string, readonly string[]>();
  const pending = new Map<string, Pending>();

  function flush(): void {
    for (const [tokenId, { currency, reserved, consumed }] of pending) {
      if (reserved === 0n && consumed === 0n) continue;
      connection.run(MOVE, reserved, consumed, tokenId, currency);
    }
    forget();
  }

  function forget(): void {
    pending.clear();
    seen.clear();
    ids.clear();
  }

  return {
    lineageOf: (tokenId) => readLineage(connection, tokenId, seen),
    idsOf(tokenId) {
      const before = ids.get(tokenId);
      if (before) return before;
      const list = readLineageIds(connection, tokenId);
      ids.set(tokenId, list);
      return list;
    },
    standing(budget) {
      const change = pending.get(budget.token_id);
      if (change?.currency !== budget.currency) return budget;
      const { token_id, currency, max } = budget;
      const reserved = budget.reserved + change.reserved;
      const consumed = budget.consumed + change.consumed;
      // The table refuses such a budget, and no later change of the transaction may make it fit.
      if (reserved < 0n || consumed < 0n)
        throw new Error(`Cannot change the budget of token "${token_id}": it would be negative`);
      return { token_id, currency, max, reserved, consumed };
    },
    move(tokenId, currency, { reserved, consumed }) {
      let change = pending.get(tokenId);
      if (change && change.currency !== currency) {
        flush();
        change = undefined;
      }
      if (!change) {
        change = { currency, reserved: 0n, consumed: 0n };
        pending.set(tokenId, change);
      }
      change.reserved += reserved;
      change.consumed += consumed;
    },
    flush,
    forget,
  };
}

const MOVE = `UPDATE budgets SET reserved = reserved + ?, consumed = consumed + ?
  WHERE token_id = ? AND currency = ?`;
