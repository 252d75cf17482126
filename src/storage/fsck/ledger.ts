/**
 * Fsck of authority and money: compares every row with what the log says it must be.
 *
 * A signature or a MAC shows that the service once wrote a row. Only the log shows that the row is the
 * latest, that none is missing, and that a sum is right. Reservations of open calls have no entry yet and are
 * compared with the rows of those calls, so a store in use, or one whose process was just killed, can be
 * checked. Not found here: an open call removed together with its reservation, and rows and log replaced
 * together by an older state; the mark shows the latter.
 *
 * @module
 */

import type { StoredEntry } from '../../domain/log/entry.ts';
import type { LedgerSight } from '../port/ledger-store.ts';
import type { Store } from '../port/store.ts';
import { createBudgetCheck } from './budgets.ts';
import { closedCallFault } from './calls.ts';
import { createDebtCheck } from './debts.ts';
import { checkDeclaration } from './declarations.ts';
import { createExpected, foldEntry, grantOf } from './fold.ts';
import { checkIdentity, checkMissingIdentities } from './identities.ts';
import { checkMissingPasskeys, checkPasskey } from './passkeys.ts';
import {
  checkFreeze,
  checkGrant,
  checkMissing,
  checkRequest,
  checkToken,
  checkUnknownCall,
  createRowCheck,
  type LedgerPart,
} from './rows.ts';

export interface LedgerReport {
  readonly tokens: number;
  readonly budgets: number;
  readonly requests: number;
  readonly grants: number;
  readonly freezes: number;
  readonly openCalls: number;
  /** What could not be compared, and how often. */
  readonly notes: readonly string[];
}

export interface LedgerCheck {
  /** Takes the entries of the log, in order. */
  fold(entry: StoredEntry): void;
  /** Folds the entries from the place `from` on, and compares the rows of the same snapshot. */
  compare(store: Store, from: number): Promise<LedgerReport>;
}

export function createLedgerCheck(
  report: (what: LedgerPart, where: string, detail: string) => void,
): LedgerCheck {
  const expected = createExpected();
  return {
    fold: (entry) => foldEntry(expected, entry),
    async compare(store, from) {
      const notes = new Map<string, number>();
      const note = (sentence: string) => void notes.set(sentence, (notes.get(sentence) ?? 0) + 1);
      const count = { tokens: 0, budgets: 0, requests: 0, grants: 0, freezes: 0, openCalls: 0 };
      const budgets = createBudgetCheck(expected);
      const debts = createDebtCheck(expected);
      const check = createRowCheck(expected, { report, note });
      const see: LedgerSight = {
        entry: (entry) => foldEntry(expected, entry),
        erased: budgets.erased,
        openCall(call) {
          count.openCalls += 1;
          budgets.openCall(call);
          if (call.grant_id !== undefined) grantOf(expected.grants, call.grant_id).uses += 1;
        },
        unknownCall: (call) => checkUnknownCall(check, call),
        closedCall(call) {
          const fault = closedCallFault(expected.closed, call);
          if (fault) report('call', call.invocation_id, fault);
        },
        oldKey: (id) =>
          report('call', id, 'its idempotency key exists, and an operator has voided it'),
        token(state) {
          count.tokens += 1;
          if (state.budget) {
            count.budgets += 1;
            budgets.budget(state.budget);
          }
          checkToken(check, state);
        },
        debt: debts.debt,
        request(request) {
          count.requests += 1;
          checkRequest(check, request);
        },
        grant(grant) {
          count.grants += 1;
          checkGrant(check, grant);
        },
        freeze(freeze) {
          count.freezes += 1;
          checkFreeze(check, freeze);
        },
        passkey: (passkey) => checkPasskey(check, passkey),
        identity: (identity) => checkIdentity(check, identity),
        declaration: (declaration) => checkDeclaration(check, declaration),
        unreadable(what, id, reason) {
          check.seen[what].add(id);
          report(what, id, `it cannot be read: ${reason}`);
        },
      };
      await store.readLedger(from, see);
      checkMissing(check);
      checkMissingPasskeys(check);
      checkMissingIdentities(check);
      budgets.finish(check);
      debts.finish(check);
      return { ...count, notes: [...notes].map(([sentence, times]) => `${times} ${sentence}`) };
    },
  };
}
