/**
 * Lists of approval requests: all of them, the pending ones by expiry, and those of one requester.
 *
 * A query looks at a bounded number of requests. Its page has what it found among them, and as `floor` the last one that it
 * looked at, where there are more.
 *
 * @module
 */

import { statusAt } from '../../domain/authority/approval-request.ts';
import { amended } from '../../domain/values/amended.ts';
import type { Steps } from '../../steps.ts';
import type { ApprovalRecord } from '../port/records.ts';
import {
  APPROVALS_LOOKED_AT_MAX,
  type ApprovalPage,
  type ApprovalPlace,
  type ApprovalQuery,
  type AskedState,
  type AskerQuery,
  PENDING_LOOKED_AT_MAX,
  type PendingPage,
  type PendingQuery,
  type PendingSide,
  pendingAfter,
  type StatesQuery,
} from '../port/store.ts';
import type { SqlReader } from '../sql/sql.ts';
import {
  columns,
  either,
  type Fragment,
  NOTHING,
  part,
  rowsOf,
  type Shape,
  statement,
  withLists,
} from '../sql/statement.ts';
import { REQUESTS } from '../tables/approvals.ts';
import { approvalOf, REQUEST, REQUEST_COLUMNS } from './approvals.ts';

export function* listApprovals(sql: SqlReader, query: ApprovalQuery): Steps<ApprovalPage> {
  const { now, status, capabilities, limit, before } = query;
  const values = [now, status, capabilities, ...placeOf(before), limit, APPROVALS_LOOKED_AT_MAX];
  const page = yield* sql.one(LIST, ...values);
  const requests = (page?.found ?? []).map(approvalOf).map((request) => currentAt(request, now));
  return { requests, next: requests.length === limit ? requests.at(-1) : page?.floor[0] };
}

export function* pendingApprovals(
  sql: SqlReader,
  query: PendingQuery,
): Steps<PendingPage<ApprovalRecord>> {
  const page = yield* sql.one(PENDING, ...pendingValues(query));
  const requests = (page?.found ?? []).map(approvalOf);
  return { requests, next: requests.length === query.limit ? requests.at(-1) : page?.floor[0] };
}

export function* pendingSides(
  sql: SqlReader,
  query: PendingQuery,
): Steps<PendingPage<PendingSide>> {
  const page = yield* sql.one(PENDING_SIDES, ...pendingValues(query));
  const requests = page?.found ?? [];
  return { requests, next: requests.length === query.limit ? requests.at(-1) : page?.floor[0] };
}

function pendingValues(query: PendingQuery) {
  const { expires_at, approval_request_id } = pendingAfter(query);
  const { capabilities, limit } = query;
  return [expires_at, approval_request_id, capabilities, limit, PENDING_LOOKED_AT_MAX];
}

export function* approvalsOf(sql: SqlReader, query: AskerQuery): Steps<ApprovalPage> {
  const { now, chain, capability, approved, limit, before } = query;
  const statement = approved ? APPROVED_OF : ASKED_OF;
  const rows = yield* sql.all(statement, chain, capability, ...placeOf(before), limit);
  const requests = rows.map(approvalOf).map((request) => currentAt(request, now));
  return { requests, next: requests.length === limit ? requests.at(-1) : undefined };
}

export function* statesSince(
  sql: SqlReader,
  { now, chain, capability, since, limit }: StatesQuery,
): Steps<readonly AskedState[]> {
  const rows = yield* sql.all(STATES_SINCE, chain, capability, since, limit);
  return rows.map((row) => ({
    approval_request_id: row.approval_request_id,
    status: statusAt(row, now),
  }));
}

function currentAt(request: ApprovalRecord, now: Date): ApprovalRecord {
  return amended(request, { status: statusAt(request, now) });
}

function placeOf(before: ApprovalPlace | undefined): [Date, string] {
  return [before?.created_at ?? FAR_FUTURE, before?.approval_request_id ?? ''];
}

const FAR_FUTURE = new Date(Date.UTC(200_000, 0));

const NEWEST_FIRST = 'ORDER BY created_at DESC, approval_request_id DESC';

/** As `statusAt` of `domain/authority/approval-request.ts`. */
const STATUS_AT = `CASE WHEN r.status = 'pending' AND r.expires_at <= $1 THEN 'expired'
  ELSE r.status END`;

const PAGE = withLists(NOTHING, {
  found: REQUEST,
  floor: part(REQUESTS, 'created_at', 'approval_request_id'),
});

/**
 * SQLite stops at the last request of the page. PostgreSQL joins what it looked at; the offset keeps the planner from
 * reading the whole table.
 */
const LOOKED_AT = either({
  sqlite: `approval_requests AS r
      WHERE (r.created_at, r.approval_request_id) < ($4, $5)
        AND (r.created_at, r.approval_request_id)
          >= (coalesce((SELECT created_at FROM floor), -9e15),
            coalesce((SELECT approval_request_id FROM floor), ''))`,
  postgres: `looked, LATERAL (SELECT * FROM approval_requests a
        WHERE a.approval_request_id = looked.approval_request_id OFFSET 0) r
      WHERE true`,
});

export const LIST = statement('list_approvals', PAGE)`
  WITH looked AS ${either({ postgres: 'MATERIALIZED' })} (
    SELECT created_at, approval_request_id FROM approval_requests
    WHERE (created_at, approval_request_id) < ($4::timestamptz, $5::text)
    ${NEWEST_FIRST} LIMIT $7::integer
  ), floor AS (
    SELECT created_at, approval_request_id FROM looked
    ${NEWEST_FIRST} LIMIT 1 OFFSET $7::integer - 1
  ), found AS (
    SELECT ${REQUEST_COLUMNS} FROM ${LOOKED_AT}
      AND ($2::text IS NULL OR ${STATUS_AT} = $2)
      AND ($3::text[] IS NULL OR r.capability = ANY ($3))
    ORDER BY r.created_at DESC, r.approval_request_id DESC LIMIT $6
  )
  SELECT
    (SELECT ${rowsOf(REQUEST, 'found', 'found.created_at DESC, found.approval_request_id DESC')}
      FROM found) AS found,
    (SELECT ${rowsOf(PAGE.lists.floor, 'floor', 'floor.created_at')} FROM floor) AS floor`;

const SOONEST_FIRST = 'ORDER BY expires_at, approval_request_id';

const PENDING_AFTER = `approval_requests
      WHERE status = 'pending' AND (expires_at, approval_request_id) > ($1::timestamptz, $2::text)`;

const LOOKED_AT_PENDING = either({
  postgres: `looked AS MATERIALIZED (
      SELECT expires_at, approval_request_id, capability FROM ${PENDING_AFTER}
      ${SOONEST_FIRST} LIMIT $5::integer
    ),`,
});

/**
 * Of the requests that the query looks at those of its capabilities, found in the index alone. Without the name and the plus
 * SQLite takes the index by capability and sorts what it finds.
 */
const PENDING_AMONG = either({
  sqlite: `approval_requests AS r INDEXED BY approval_requests_pending
      WHERE r.status = 'pending' AND (r.expires_at, r.approval_request_id) > ($1, $2)
        AND (r.expires_at, r.approval_request_id)
          <= (coalesce((SELECT expires_at FROM floor), 9e15),
            coalesce((SELECT approval_request_id FROM floor), ''))
        AND +r.capability = ANY ($3)`,
  postgres: `(SELECT approval_request_id FROM looked WHERE capability = ANY ($3::text[])
        ${SOONEST_FIRST} LIMIT $4) chosen
      JOIN approval_requests r USING (approval_request_id)`,
});

function pendingPage<Item>(name: string, item: Shape<Item>, list: Fragment) {
  const page = withLists(NOTHING, {
    found: item,
    floor: part(REQUESTS, 'expires_at', 'approval_request_id'),
  });
  return statement(name, page)`
    WITH ${LOOKED_AT_PENDING} floor AS (
      SELECT expires_at, approval_request_id
      FROM ${either({ sqlite: PENDING_AFTER, postgres: 'looked' })}
      ${SOONEST_FIRST} LIMIT 1 OFFSET $5::integer - 1
    ), found AS (
      SELECT ${list} FROM ${PENDING_AMONG}
      ORDER BY r.expires_at, r.approval_request_id LIMIT $4
    )
    SELECT
      (SELECT ${rowsOf(item, 'found', 'found.expires_at, found.approval_request_id')}
        FROM found) AS found,
      (SELECT ${rowsOf(page.lists.floor, 'floor', 'floor.expires_at')} FROM floor) AS floor`;
}

export const PENDING = pendingPage('pending_approvals', REQUEST, REQUEST_COLUMNS);

const SIDE: Shape<PendingSide> = part(
  REQUESTS,
  'approval_request_id',
  'capability',
  'subject',
  'root_principal',
  'requested_through',
  'approvals_required',
  'expires_at',
);
const PENDING_SIDES = pendingPage('pending_sides', SIDE, columns(SIDE, 'r'));

/** As the index by requester is written. */
const ASKER = either({
  sqlite: 'chain = $1 AND capability = $2',
  postgres: "chain || ' ' || capability = $1::text || ' ' || $2::text",
});

function askedOf(name: string, those: Fragment) {
  return statement(name, REQUEST)`
    SELECT ${REQUEST_COLUMNS} FROM approval_requests r
    WHERE ${those} AND (r.created_at, r.approval_request_id) < ($3::timestamptz, $4::text)
    ORDER BY r.created_at DESC, r.approval_request_id DESC LIMIT $5`;
}

export const ASKED_OF = askedOf('approvals_of', ASKER);
export const APPROVED_OF = askedOf(
  'approved_of',
  "r.chain = $1 AND r.capability = $2 AND r.status = 'approved'",
);

const REQUEST_STATE = part(REQUESTS, 'approval_request_id', 'status', 'expires_at');
export const STATES_SINCE = statement('states_since', REQUEST_STATE)`
  SELECT ${columns(REQUEST_STATE)} FROM approval_requests
  WHERE ${ASKER} AND created_at >= $3
  ${NEWEST_FIRST} LIMIT $4`;
