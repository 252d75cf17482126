/**
 * Lists of approval requests in SQLite: the pending ones by expiry, and those of one requester.
 *
 * @module
 */

import { statusAt } from '../../domain/authority/approval-request.ts';
import { amended } from '../../domain/values/amended.ts';
import type { ApprovalRecord } from '../port/records.ts';
import {
  type ApprovalPage,
  type AskedState,
  type AskerQuery,
  PENDING_LOOKED_AT_MAX,
  type PendingPage,
  type PendingPlace,
  type PendingQuery,
  type PendingSide,
  pendingAfter,
  type StatesQuery,
} from '../port/store.ts';
import type { Row } from '../tables/table.ts';
import { withApprovals } from './approvals.ts';
import type { Connection } from './connection.ts';
import { REQUESTS, type Stored, timeOf } from './rows.ts';

export function pendingApprovals(
  connection: Connection,
  query: PendingQuery,
): PendingPage<ApprovalRecord> {
  return pending(connection, query, PENDING, (row) => withApprovals(connection, row));
}

export function pendingSides(
  connection: Connection,
  query: PendingQuery,
): PendingPage<PendingSide> {
  return pending(connection, query, PENDING_SIDES, REQUESTS.read);
}

function pending<Item extends PendingPlace>(
  connection: Connection,
  query: PendingQuery,
  list: string,
  read: (row: Row) => Item,
): PendingPage<Item> {
  const { expires_at, approval_request_id } = pendingAfter(query);
  const floor = connection.get<Stored<PendingPlace>>(
    PENDING_FLOOR,
    expires_at,
    approval_request_id,
    PENDING_LOOKED_AT_MAX - 1,
  );
  const requests = connection
    .all<Row>(
      list,
      expires_at,
      approval_request_id,
      floor?.expires_at ?? Number.MAX_SAFE_INTEGER,
      floor?.approval_request_id ?? '',
      JSON.stringify(query.capabilities),
      query.limit,
    )
    .map(read);
  const last = requests.length === query.limit ? requests.at(-1) : undefined;
  return { requests, next: last ?? (floor && { ...floor, expires_at: timeOf(floor.expires_at) }) };
}

/** The last request that one query looks at, where there are as many. */
export const PENDING_FLOOR = `
  SELECT expires_at, approval_request_id FROM approval_requests
  WHERE status = 'pending' AND (expires_at, approval_request_id) > (?, ?)
  ORDER BY expires_at, approval_request_id LIMIT 1 OFFSET ?`;

/** The plus keeps SQLite from choosing the index by capability and sorting what it finds. */
const PENDING_FROM = `FROM approval_requests
  WHERE status = 'pending' AND (expires_at, approval_request_id) > (?1, ?2)
    AND (expires_at, approval_request_id) <= (?3, ?4)
    AND +capability IN (SELECT value FROM json_each(?5))
  ORDER BY expires_at, approval_request_id LIMIT ?6`;

export const PENDING = `SELECT * ${PENDING_FROM}`;

const PENDING_SIDES = `SELECT approval_request_id, capability, subject, root_principal,
  requested_through, approvals_required, expires_at ${PENDING_FROM}`;

export function approvalsOf(connection: Connection, query: AskerQuery): ApprovalPage {
  const { now, before } = query;
  const rows = connection.all<Row>(
    query.approved ? APPROVED_OF : ASKED_OF,
    query.chain,
    query.capability,
    before?.created_at ?? Number.MAX_SAFE_INTEGER,
    before?.approval_request_id ?? '',
    query.limit,
  );
  const requests = rows.map((row) => {
    const request = withApprovals(connection, row);
    return amended(request, { status: statusAt(request, now) });
  });
  return { requests, next: requests.length === query.limit ? requests.at(-1) : undefined };
}

const askedOf = (also: string) => `
  SELECT * FROM approval_requests
  WHERE chain = ? AND capability = ? AND (created_at, approval_request_id) < (?, ?) ${also}
  ORDER BY created_at DESC, approval_request_id DESC LIMIT ?`;

export const ASKED_OF = askedOf('');
export const APPROVED_OF = askedOf("AND status = 'approved'");

export function statesSince(connection: Connection, query: StatesQuery): AskedState[] {
  const rows = connection.all<Stored<Pick<ApprovalRecord, keyof AskedState | 'expires_at'>>>(
    STATES_SINCE,
    query.chain,
    query.capability,
    query.since,
    query.limit,
  );
  return rows.map(({ approval_request_id, status, expires_at }) => ({
    approval_request_id,
    status: statusAt({ status, expires_at: timeOf(expires_at) }, query.now),
  }));
}

export const STATES_SINCE = `
  SELECT approval_request_id, status, expires_at FROM approval_requests
  WHERE chain = ? AND capability = ? AND created_at >= ?
  ORDER BY created_at DESC, approval_request_id DESC LIMIT ?`;
