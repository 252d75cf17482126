/**
 * The part of the storage port that fsck needs: every row of authority and money, as it stands now.
 *
 * @module
 */

import type { StoredEntry } from '../../domain/log/entry.ts';
import type {
  ApprovalRecord,
  BudgetState,
  FreezeRecord,
  GrantRecord,
  TokenRecord,
} from './records.ts';

export interface LedgerStore {
  /**
   * Shows everything to `see`, from one snapshot and in the order of its methods, each kind whole
   * before the next. Entries come from the place `from` on, in their order, and after them those that
   * are durable and wait for their place: so what the rows say, the entries shown and those before
   * `from` say too. A row that cannot be read goes to `unreadable`; the others are shown all the same.
   */
  readLedger(from: number, see: LedgerSight): Promise<void>;
}

/** What each row is given to. */
export interface LedgerSight {
  entry(entry: StoredEntry): void;
  erased(erased: ErasedCalls): void;
  openCall(call: OpenCall): void;
  unknownCall(call: UnknownCall): void;
  /** The call of an idempotency key that was closed in a log which an operator ended. */
  oldKey(operationId: string): void;
  token(token: TokenState): void;
  debt(debt: Debt): void;
  request(request: ApprovalRecord): void;
  grant(grant: GrantRecord): void;
  freeze(freeze: FreezeRecord): void;
  unreadable(what: 'token' | 'request' | 'grant' | 'freeze', id: string, reason: string): void;
}

/** Shows one row. A value that was edited by hand need not be one that the store can read. */
export function showRow(
  see: LedgerSight,
  [what, id]: [what: Parameters<LedgerSight['unreadable']>[0], id: string],
  show: () => void,
): void {
  try {
    show();
  } catch (error) {
    see.unreadable(what, id, error instanceof Error ? error.message : String(error));
  }
}

/** Entries without contents, and what the calls they are of have spent, by token. */
export interface ErasedCalls {
  readonly entries: number;
  readonly spent: readonly { readonly token_id: string; readonly amount: bigint }[];
}

/** Admitted and not closed. */
export interface OpenCall {
  readonly operation_id: string;
  readonly token_id: string;
  readonly reserved: bigint;
  readonly grant_id?: string | undefined;
}

/** Closed as of unknown outcome, and not reconciled. */
export interface UnknownCall {
  readonly operation_id: string;
  readonly invocation_id: string;
  readonly token_id: string;
  readonly currency?: string | null | undefined;
  /** What it was charged, and what is given back if it turns out to have had no effect. */
  readonly amount: bigint;
  readonly consumed: bigint;
}

export interface TokenState {
  readonly token: TokenRecord;
  /** The row that it was made from, where it names one that is there. */
  readonly parent?: TokenRecord | undefined;
  readonly revoked_at?: Date | undefined;
  readonly budget?: BudgetState | undefined;
  /** As delegation counts them. */
  readonly children: number;
}

/** What a token owes in one currency. */
export interface Debt {
  readonly token_id: string;
  readonly currency: string;
  readonly amount: bigint;
}

/** What is frozen, as one text: the kind, and the target where there is one. */
export function freezeKey({ what, target }: { what: unknown; target: unknown }): string {
  return `${what} ${target}`.trimEnd();
}
