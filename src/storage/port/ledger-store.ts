/**
 * The part of the storage port for fsck: every row of authority and money in its current state.
 *
 * @module
 */

import type { StoredEntry } from '../../domain/log/entry.ts';
import type { DeclarationRecord } from './declaration-store.ts';
import type { IdentityRecord } from './identity-store.ts';
import type { StoredPasskey } from './passkey-store.ts';
import type {
  ApprovalRecord,
  BudgetState,
  FreezeRecord,
  GrantRecord,
  TokenRecord,
} from './records.ts';

/** Stories: [ledger](../stories/ledger.ts), [overruns](../stories/overruns.ts). */
export interface LedgerStore {
  /**
   * Passes everything to `see`, from one snapshot, one kind after the other in the order of its methods.
   * Entries come in order from the place `from`, followed by durable entries without a place; with the
   * entries before `from` they explain every row. A row that cannot be read goes to `unreadable`, and the
   * reading continues.
   *
   * Story: [ledger](../stories/ledger.ts).
   */
  readLedger(from: number, see: LedgerSight): Promise<void>;
}

/** Receives each row. */
export interface LedgerSight {
  entry(entry: StoredEntry): void;
  erased(erased: ErasedCalls): void;
  openCall(call: OpenCall): void;
  unknownCall(call: UnknownCall): void;
  /** Calls of unknown outcome, too. */
  closedCall(call: ClosedCall): void;
  /** The call of an idempotency key that was closed in a log which an operator ended. */
  oldKey(operationId: string): void;
  token(token: TokenState): void;
  debt(debt: Debt): void;
  request(request: ApprovalRecord): void;
  grant(grant: GrantRecord): void;
  freeze(freeze: FreezeRecord): void;
  passkey(passkey: StoredPasskey): void;
  identity(identity: IdentityRecord): void;
  declaration(declaration: DeclarationRecord): void;
  unreadable(
    what: 'token' | 'request' | 'grant' | 'freeze' | 'passkey' | 'identity' | 'declaration',
    id: string,
    reason: string,
  ): void;
}

/** Passes on one row. A row that was edited by hand may contain a value that the store cannot read. */
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

/** Entries without contents, and what their calls spent, by token. */
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

/** Settled as indeterminate, and not reconciled. */
export interface UnknownCall {
  readonly operation_id: string;
  readonly invocation_id: string;
  readonly token_id: string;
  readonly currency?: string | undefined;
  /** The charge, which a refund returns. */
  readonly amount: bigint;
  readonly consumed: bigint;
}

/** Settled: the entry says how. */
export interface ClosedCall {
  readonly invocation_id: string;
  readonly token_id: string;
  readonly entry_id: string;
  readonly outcome: string;
  readonly reserved: bigint;
  readonly consumed: bigint;
  readonly isReconciled: boolean;
}

export interface TokenState {
  readonly token: TokenRecord;
  /** The parent's row, where it exists. */
  readonly parent?: TokenRecord | undefined;
  readonly revoked_at?: Date | undefined;
  readonly budget?: BudgetState | undefined;
  /** The counter that delegation uses. */
  readonly children: number;
}

/** What a token owes in one currency. */
export interface Debt {
  readonly token_id: string;
  readonly currency: string;
  readonly amount: bigint;
}

/** The identity of a freeze as one text: its kind, and its target where there is one. */
export function freezeKey({ what, target }: { what: unknown; target: unknown }): string {
  return `${what} ${target}`.trimEnd();
}
