/**
 * Approval requests and their decisions.
 *
 * Decisions on one request run one after the other, under the lock of its row. Constraints enforce again that
 * a request has one grant and that an approver counts once.
 *
 * @module
 */

import {
  closedAs,
  type ExceededBound,
  exceededBound,
  isStaleVote,
  misfitGrant,
  type OpenBounds,
  type OpenRequests,
} from '../../domain/authority/approval-request.ts';
import { amended } from '../../domain/values/amended.ts';
import type { Steps } from '../../steps.ts';
import type { ApprovalRecord } from '../port/records.ts';
import { listedVotes, type VoteFacts } from '../port/row-forms.ts';
import type { ApprovalStore, LatestApproval, Question } from '../port/store.ts';
import type { Sql, SqlReader, Value } from '../sql/sql.ts';
import {
  columns,
  either,
  fragment,
  insertion,
  lockOnRow,
  part,
  rowsOf,
  type Shape,
  statement,
  withLists,
} from '../sql/statement.ts';
import { DELIVERIES, GRANTS, REQUESTS, VOTES } from '../tables/approvals.ts';
import { HOLD_ROOT } from './locks.ts';
import { usePasskey } from './passkeys.ts';

type Answer<Name extends keyof ApprovalStore> = Steps<Awaited<ReturnType<ApprovalStore[Name]>>>;

/** Requests of one root principal are inserted one after the other, so each finds an equal question and counts those before it. */
export function* requestApproval(
  sql: Sql,
  ...[request, entry, deliveries, asking]: Parameters<ApprovalStore['requestApproval']>
): Answer<'requestApproval'> {
  const ended = yield* sql.endedActor(asking?.actor, request.created_at);
  if (ended) return ended;
  yield* sql.lock(HOLD_ROOT, request.root_principal);
  const pending = yield* findPending(sql, request);
  if (pending) return pending;
  const exceeded = asking?.bounds && (yield* exceededBy(sql, request, asking.bounds));
  if (exceeded) return { exceeded };
  yield* sql.insert(INSERT, [request]);
  yield* sql.insert(INSERT_DELIVERIES, deliveries);
  yield* sql.append(entry);
  return request;
}

/** The open request of the same question. On PostgreSQL an expired one gives up its row of the unique index. */
function* findPending(sql: Sql, request: ApprovalRecord): Steps<ApprovalRecord | undefined> {
  const rows = yield* sql.all(ASKED, ...questionValues(request), request.session_id ?? '');
  for (const { approval_request_id: id, ...asked } of rows) {
    if (!closedAs(asked, request.created_at)) return yield* loadApproval(sql, id);
    yield* sql.run(ASKED_NO_MORE, id);
  }
  return undefined;
}

function* exceededBy(
  sql: Sql,
  { root_principal, created_at, delegate, kept_bytes }: ApprovalRecord,
  bounds: OpenBounds,
): Steps<ExceededBound | undefined> {
  const open = yield* sql.one(OPEN, root_principal, created_at, delegate);
  if (!open) throw new Error('Cannot count open requests: the database returned no row');
  return exceededBound(open, kept_bytes, bounds);
}

export function* loadApproval(sql: SqlReader, id: string): Answer<'loadApproval'> {
  const row = yield* sql.one(LOAD, id);
  return row && approvalOf(row);
}

export function* approvalState(sql: SqlReader, id: string): Answer<'approvalState'> {
  return yield* sql.one(STATE, id);
}

export function* waitingGrants(
  sql: SqlReader,
  ...[question, now, limit]: Parameters<ApprovalStore['waitingGrants']>
): Answer<'waitingGrants'> {
  return yield* sql.all(WAITING, ...questionValues(question), now, question.session_id, limit);
}

export function* latestApproval(sql: SqlReader, question: Question): Answer<'latestApproval'> {
  return yield* sql.one(LATEST, ...questionValues(question), question.session_id ?? '');
}

export function* approve(
  sql: Sql,
  ...[decision]: Parameters<ApprovalStore['approve']>
): Answer<'approve'> {
  const { approval_request_id, approver, now, grant } = decision;
  const ended = yield* sql.endedActor(decision.actor, now);
  if (ended) return ended;
  const request = yield* hold(sql, approval_request_id);
  const closed = closedAs(request, now);
  if (closed) return closed;
  if (isStaleVote(request, decision)) return 'stale';
  const misfit = misfitGrant(request, grant);
  if (misfit) throw new Error(`Cannot approve "${approval_request_id}": ${misfit}`);

  const { terms, credential_id, mac } = decision;
  if (!(yield* usePasskey(sql, approver, credential_id, now))) return 'stale';
  if (grant) {
    const decided = ['approved', now, approver, null, grant.grant_id] as const;
    if (!(yield* sql.one(DECIDE, approval_request_id, ...decided))) return 'decided';
  }
  const place = request.approvals.length;
  const vote = {
    approval_request_id,
    place,
    approver,
    approved_at: now,
    terms,
    credential_id,
    mac,
  };
  yield* sql.insert(COUNT, [vote]);
  if (grant) yield* sql.insert(GRANT, [grant]);
  yield* sql.insert(INSERT_DELIVERIES, decision.deliveries);
  yield* sql.append(decision.entry);
  return grant ? 'approved' : 'counted';
}

export function* deny(sql: Sql, ...[denial]: Parameters<ApprovalStore['deny']>): Answer<'deny'> {
  const { approval_request_id, decided_by, actor, reason, now } = denial;
  const ended = yield* sql.endedActor(actor, now);
  if (ended) return ended;
  const closed = closedAs(yield* hold(sql, approval_request_id), now);
  if (closed) return closed;
  if (!(yield* usePasskey(sql, decided_by, denial.credential_id, now))) return 'stale';

  const decided = ['denied', now, decided_by, reason, null] as const;
  if (!(yield* sql.one(DECIDE, approval_request_id, ...decided))) return 'decided';
  yield* sql.insert(INSERT_DELIVERIES, denial.deliveries);
  yield* sql.append(denial.entry);
  return 'denied';
}

/** The request under its lock. Its votes are read after the lock, so none is missing. */
function* hold(sql: Sql, id: string): Steps<ApprovalRecord> {
  yield* sql.lock(HOLD, id);
  const request = yield* loadApproval(sql, id);
  if (!request) throw new Error(`Cannot decide approval request "${id}": it does not exist`);
  return request;
}

export function* expireApprovals(
  sql: Sql,
  ...[now, limit, consequence]: Parameters<ApprovalStore['expireApprovals']>
): Answer<'expireApprovals'> {
  const due = yield* sql.all(HOLD_DUE, now, limit);
  if (due.length === 0) return [];
  const ids = due.map(({ approval_request_id }) => approval_request_id);
  const requests = (yield* sql.all(EXPIRE, ids)).map(approvalOf);
  requests.sort((one, other) => one.expires_at.getTime() - other.expires_at.getTime());
  const made = requests.map(consequence);
  yield* sql.insert(
    INSERT_DELIVERIES,
    made.flatMap(({ deliveries }) => deliveries),
  );
  for (const { entry } of made) yield* sql.append(entry);
  return requests;
}

type RequestRow = Omit<ApprovalRecord, 'approvals'> & { readonly approvals: readonly VoteFacts[] };

export function approvalOf(row: RequestRow): ApprovalRecord {
  return amended(row, { approvals: listedVotes(row.approvals) });
}

function questionValues(question: Pick<ApprovalRecord, keyof Question>): Value[] {
  const { chain, capability, contract_version, parameters_digest, declaration_digest } = question;
  return [chain, capability, contract_version, parameters_digest, declaration_digest];
}

/** A request with its votes. */
export const REQUEST: Shape<RequestRow> = withLists(REQUESTS, { approvals: VOTES });
export const REQUEST_COLUMNS = requestColumns('r');

function requestColumns(alias: string) {
  return fragment`${columns(REQUESTS, alias)},
    (SELECT ${rowsOf(VOTES, 'a', 'a.place')} FROM approvals a
      WHERE a.approval_request_id = ${alias}.approval_request_id) AS approvals`;
}

const LOAD = statement('load_approval', REQUEST)`
  SELECT ${REQUEST_COLUMNS} FROM approval_requests r WHERE r.approval_request_id = $1`;

const STATE = statement('approval_state', part(REQUESTS, 'status', 'expires_at'))`
  SELECT status, expires_at FROM approval_requests WHERE approval_request_id = $1`;

const QUESTION = `chain = $1 AND capability = $2 AND contract_version = $3
    AND parameters_digest = $4 AND declaration_digest = $5`;

/** As the indexes are written. */
const OF_SESSION = either({
  sqlite: "session_id IS nullif($6, '')",
  postgres: "coalesce(session_id, '') = $6",
});

export const WAITING = statement('waiting_grants', GRANTS)`
  SELECT ${columns(GRANTS)} FROM grants
  WHERE ${QUESTION} AND uses < max_uses AND expires_at > $6
    AND (grant_type <> 'session_bound' OR session_id = $7)
  ORDER BY expires_at, grant_id LIMIT $8`;

const LATEST_APPROVAL: Shape<LatestApproval> = part(
  REQUESTS,
  'approval_request_id',
  'status',
  'expires_at',
  'reason',
);
export const LATEST = statement('latest_approval', LATEST_APPROVAL)`
  SELECT ${columns(LATEST_APPROVAL)} FROM approval_requests
  WHERE ${QUESTION} AND ${OF_SESSION} ORDER BY created_at DESC LIMIT 1`;

const REQUEST_ID = part(REQUESTS, 'approval_request_id');
const ASKED_STATE = part(REQUESTS, 'approval_request_id', 'status', 'expires_at');

/** Without the name SQLite takes the index by capability and expiry, which has the requests of all principals. */
export const ASKED = statement('asked', ASKED_STATE)`
  SELECT ${columns(ASKED_STATE)} FROM approval_requests
    ${either({ sqlite: 'INDEXED BY approval_requests_asked' })}
  WHERE ${either({ sqlite: "status = 'pending'", postgres: 'is_asked' })}
    AND ${QUESTION} AND ${OF_SESSION} FOR UPDATE`;

/** On PostgreSQL a unique index of the questions that are asked refuses a second one. */
const INSERT = insertion('insert_approval_request', REQUESTS);
const IS_ASKED_NO_MORE = either({ postgres: ', is_asked = false' });

const ASKED_NO_MORE = statement('asked_no_more')`${either({
  postgres: 'UPDATE approval_requests SET is_asked = false WHERE approval_request_id = $1',
})}`;

const OPEN_REQUESTS: Shape<OpenRequests> = {
  fields: { root: 'integer', rootBytes: 'integer', chain: 'integer', chainBytes: 'integer' },
};
const SUM = either({ sqlite: 'total', postgres: 'sum' });

/** Reads the index alone. It has at most as many rows of a root principal as may be open. */
export const OPEN = statement('open_requests', OPEN_REQUESTS)`
  SELECT count(*) AS root, coalesce(${SUM}(kept_bytes), 0)::float8 AS "rootBytes",
    count(*) FILTER (WHERE delegate = $3) AS chain,
    coalesce(${SUM}(kept_bytes) FILTER (WHERE delegate = $3), 0)::float8 AS "chainBytes"
  FROM approval_requests ${either({ sqlite: 'INDEXED BY approval_requests_waiting' })}
  WHERE status = 'pending' AND root_principal = $1 AND expires_at > $2`;

const HOLD = lockOnRow({
  name: 'hold_approval',
  table: 'approval_requests',
  key: 'approval_request_id',
});

const COUNT = insertion('count_approval', VOTES);
const GRANT = insertion('insert_grant', GRANTS);
const INSERT_DELIVERIES = insertion('insert_deliveries', DELIVERIES);

const DECIDE = statement('decide_approval', REQUEST_ID)`
  UPDATE approval_requests SET status = $2, decided_at = $3, decided_by = $4, reason = $5,
    grant_id = $6 ${IS_ASKED_NO_MORE} WHERE approval_request_id = $1 AND status = 'pending'
  RETURNING approval_request_id`;

/** Skips those that another process is expiring or deciding. */
export const HOLD_DUE = statement('hold_due_approvals', REQUEST_ID)`
  SELECT approval_request_id FROM approval_requests
  WHERE status = 'pending' AND expires_at <= $1
  ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED`;

/** Returns every vote: the rows are locked before. In RETURNING SQLite knows no alias. */
export const EXPIRE = statement('expire_approvals', REQUEST)`
  UPDATE approval_requests SET status = 'expired' ${IS_ASKED_NO_MORE}
  WHERE approval_request_id = ANY ($1::text[])
  RETURNING ${requestColumns('approval_requests')}`;
