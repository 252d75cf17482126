/**
 * Lists of approval requests: the pending ones by expiry, and those of one requester.
 *
 * @module
 */

import { statusAt } from '../../domain/authority/approval-request.ts';
import { amended } from '../../domain/values/amended.ts';
import type { ApprovalRecord } from '../port/records.ts';
import {
  type ApprovalStore,
  type AskedState,
  PENDING_LOOKED_AT_MAX,
  type PendingPage,
  type PendingPlace,
  type PendingQuery,
  pendingAfter,
} from '../port/store.ts';
import type { Row } from '../tables/table.ts';
import { REQUEST_COLUMNS } from './approvals.ts';
import type { Database, Statement } from './connection.ts';
import { approvalOf, REQUESTS } from './rows.ts';

type ApprovalLists = Pick<
  ApprovalStore,
  'pendingApprovals' | 'pendingSides' | 'approvalsOf' | 'statesSince'
>;

export function createApprovalLists(database: Database): ApprovalLists {
  return {
    pendingApprovals: (query) => pending(database, query, PENDING, approvalOf),
    pendingSides: (query) => pending(database, query, PENDING_SIDES, REQUESTS.read),

    async approvalsOf({ now, chain, capability, approved, limit, before }) {
      const place = [before?.created_at, before?.approval_request_id];
      const statement = approved ? APPROVED_OF : ASKED_OF;
      const rows = await database.read<Row>(statement, [chain, capability, ...place, limit]);
      const requests = rows.map((row) => {
        const request = approvalOf(row);
        return amended(request, { status: statusAt(request, now) });
      });
      return { requests, next: requests.length === limit ? requests.at(-1) : undefined };
    },

    async statesSince({ now, chain, capability, since, limit }) {
      const rows = await database.read<AskedState & Pick<ApprovalRecord, 'expires_at'>>(
        STATES_SINCE,
        [chain, capability, since, limit],
      );
      return rows.map((row) => ({
        approval_request_id: row.approval_request_id,
        status: statusAt(row, now),
      }));
    },
  };
}

/** The requests that one query found, and the last one it examined, where there are more. */
interface Listed {
  readonly found: readonly Row[] | null;
  readonly floor: PendingPlace | null;
}

async function pending<Item extends PendingPlace>(
  database: Database,
  query: PendingQuery,
  list: Statement,
  read: (row: Row) => Item,
): Promise<PendingPage<Item>> {
  const { capabilities, limit } = query;
  const { expires_at, approval_request_id } = pendingAfter(query);
  const values = [expires_at, approval_request_id, capabilities, limit, PENDING_LOOKED_AT_MAX];
  const [row] = await database.read<Listed>(list, values);
  const requests = (row?.found ?? []).map(read);
  const floor = row?.floor && { ...row.floor, expires_at: new Date(row.floor.expires_at) };
  return { requests, next: requests.length === limit ? requests.at(-1) : (floor ?? undefined) };
}

const pendingWith = (columns: string) => `WITH looked AS MATERIALIZED (
    SELECT expires_at, approval_request_id, capability FROM approval_requests
    WHERE status = 'pending'
      AND (expires_at, approval_request_id) > ($1::timestamptz, $2::text)
    ORDER BY expires_at, approval_request_id LIMIT $5::integer
  ), chosen AS MATERIALIZED (
    SELECT approval_request_id FROM looked WHERE capability = ANY ($3::text[])
    ORDER BY expires_at, approval_request_id LIMIT $4
  ), found AS (
    SELECT ${columns} FROM chosen JOIN approval_requests r USING (approval_request_id)
  )
  SELECT
    (SELECT jsonb_agg(to_jsonb(found) ORDER BY expires_at, approval_request_id)
      FROM found) AS found,
    (SELECT jsonb_build_object('expires_at', expires_at, 'approval_request_id', approval_request_id)
      FROM looked ORDER BY expires_at, approval_request_id
      LIMIT 1 OFFSET $5::integer - 1) AS floor`;

export const PENDING: Statement = {
  name: 'pending_approvals',
  text: pendingWith(REQUEST_COLUMNS),
};

const PENDING_SIDES: Statement = {
  name: 'pending_sides',
  text: pendingWith(`r.approval_request_id, r.capability, r.subject, r.root_principal,
    r.requested_through, r.approvals_required, r.expires_at`),
};

const askedOf = (those: string) => `SELECT ${REQUEST_COLUMNS} FROM approval_requests r
  WHERE ${those} AND (r.created_at, r.approval_request_id)
    < (coalesce($3::timestamptz, 'infinity'), coalesce($4::text, ''))
  ORDER BY r.created_at DESC, r.approval_request_id DESC LIMIT $5`;

/** As the index by requester is written. */
const ASKER = "chain || ' ' || capability = $1::text || ' ' || $2::text";

export const ASKED_OF: Statement = { name: 'approvals_of', text: askedOf(ASKER) };

export const APPROVED_OF: Statement = {
  name: 'approved_of',
  text: askedOf("r.chain = $1 AND r.capability = $2 AND r.status = 'approved'"),
};

export const STATES_SINCE: Statement = {
  name: 'states_since',
  text: `SELECT approval_request_id, status, expires_at FROM approval_requests
    WHERE ${ASKER} AND created_at >= $3
    ORDER BY created_at DESC, approval_request_id DESC LIMIT $4`,
};
