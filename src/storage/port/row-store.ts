/**
 * The part of the storage port that keeps the seal of the rows, and reads all authenticated rows.
 *
 * @module
 */

import type { ApprovalRecord, LineageLink } from './records.ts';
import { type RowKind, type RowOf, votesOf } from './row-forms.ts';

/** Story: [rows](../stories/rows.ts). */
export interface RowStore {
  /**
   * Stores the seal that `decide` returns for the state of the store's rows, in one step, one process at a time. When
   * `decide` throws or returns nothing, nothing changes.
   */
  sealRows(decide: (state: RowState) => string | undefined): Promise<void>;

  /** A page of the rows of one table in the order of their keys, and where the next page begins. */
  scanRows(table: RowTable, after: string | undefined, limit: number): Promise<RowPage>;
}

export interface RowState {
  /** Absent in a store with which no service has started. */
  readonly seal?: string | undefined;
  /** True when no row that carries authority was ever stored. */
  readonly isEmpty: boolean;
}

/** One row, or the part of one that has a MAC of its own. */
export type StoredRow = {
  readonly [Kind in RowKind]: {
    readonly kind: Kind;
    readonly id: string;
    readonly row: RowOf<Kind>;
    readonly mac?: string | undefined;
  };
}[RowKind];

export const ROW_TABLES = [
  'tokens',
  'freezes',
  'bindings',
  'approval_requests',
  'grants',
  'sessions',
  'accounts',
  'consents',
  'passkeys',
  'connected_accounts',
  'identities',
  'invitations',
] as const;
export type RowTable = (typeof ROW_TABLES)[number];

export interface RowPage {
  readonly rows: readonly StoredRow[];
  readonly next?: string | undefined;
}

/** A token, and its revocation where it is revoked. */
export function tokenRows({ token, revoked_at, revoked_mac }: LineageLink): StoredRow[] {
  const { token_id, mac } = token;
  const kept: StoredRow = { kind: 'token', id: token_id, row: token, mac };
  if (!revoked_at) return [kept];
  const row = { token_id, revoked_at };
  return [kept, { kind: 'revocation', id: token_id, row, mac: revoked_mac }];
}

/** A request, and each of its votes. */
export function requestRows(request: ApprovalRecord): StoredRow[] {
  const { approval_request_id: id, mac } = request;
  const votes = votesOf(request).map(
    (vote): StoredRow => ({
      kind: 'vote',
      id: `${id} ${vote.approver}`,
      row: vote,
      mac: vote.mac,
    }),
  );
  return [{ kind: 'approval', id, row: request, mac }, ...votes];
}

/** Rows in one read. */
export const ROW_PAGE = 500;
