/**
 * The part of the storage port that adds MACs to rows of an older program, and reads all authenticated rows.
 *
 * @module
 */

import type { ApprovalRecord, LineageLink } from './records.ts';
import { type RowKind, type RowOf, votesOf } from './row-forms.ts';

export interface RowStore {
  /**
   * Adds MACs to rows without one, in one step, one process at a time. `decide` receives the state of the
   * store's rows; its result is stored: the new seal and, where `macOf` is given, a MAC for every row of
   * `ADOPTED_TABLES` without one. A row for which `macOf` returns nothing stays without. When `decide` throws,
   * nothing changes.
   */
  sealRows(decide: (state: RowState) => RowSealing | undefined): Promise<void>;

  /** A page of the rows of one table in the order of their keys, and where the next page begins. */
  scanRows(table: RowTable, after: string | undefined, limit: number): Promise<RowPage>;
}

export interface RowState {
  /** Stored when the rows got their MACs; absent in a store whose rows never had any. */
  readonly seal?: string | undefined;
  /** True when no row that carries authority was ever stored. */
  readonly isEmpty: boolean;
}

export interface RowSealing {
  readonly seal: string;
  readonly macOf?: ((row: StoredRow) => string | undefined) | undefined;
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

/** Tables that versions without MACs wrote, too. */
export const ADOPTED_TABLES = [
  'tokens',
  'freezes',
  'bindings',
  'approval_requests',
  'grants',
] as const;

export const ROW_TABLES = [
  ...ADOPTED_TABLES,
  'sessions',
  'accounts',
  'consents',
  'passkeys',
  'connected_accounts',
  'identities',
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

/** Rows in one read and one sealing statement. */
export const ROW_PAGE = 500;
