/**
 * Approval requests and what became of them.
 *
 * Decisions on one request are made one after the other, under the lock of its row; that a request
 * yields one grant, and an approver counts once, are constraints as well.
 *
 * @module
 */

import type { ApprovalRecord, GrantRecord } from '../port/records.ts';
import {
  APPROVALS_LOOKED_AT_MAX,
  type ApprovalDecision,
  type ApprovalPage,
  type ApprovalPlace,
  type ApprovalQuery,
  type ApprovalStore,
  type Denial,
  type LatestApproval,
  type Question,
} from '../port/store.ts';
import { endedActor } from './calls/actor.ts';
import { GRANT_COLUMNS } from './calls/admission.ts';
import type { Database, Session, Statement } from './connection.ts';
import { insertDeliveries } from './deliveries.ts';
import { enqueue } from './log/entries.ts';
import { approvalOf, grantOf, type Row } from './rows.ts';

type Approvals = Omit<ApprovalStore, 'takeDeliveries' | 'finishDelivery' | 'listDeliveries'>;

type ApprovalState = Pick<ApprovalRecord, 'status' | 'expires_at'>;

export function createApprovals(database: Database): Approvals {
  return {
    requestApproval: (request, entry, deliveries, actor) =>
      database.transaction(async (session) => {
        const ended = await endedActor(session, actor, request.created_at);
        if (ended) return ended;
        const asked = await ask(session, request);
        if (asked) return asked;
        await insertDeliveries(session, deliveries);
        await enqueue(session, entry);
        return request;
      }),

    async loadApproval(approvalRequestId) {
      const [row] = await database.read<Row>(LOAD, [approvalRequestId]);
      return row && approvalOf(row);
    },

    async waitingGrants(question, now, limit) {
      const asked = [...questionValues(question), now, question.session_id, limit];
      return (await database.read<Row>(WAITING, asked)).map(grantOf);
    },

    async latestApproval(question) {
      const asked = [...questionValues(question), question.session_id ?? ''];
      const [row] = await database.read<LatestApproval>(LATEST, asked);
      return row && { ...row, reason: row.reason ?? undefined };
    },

    async approvalState(approvalRequestId) {
      const [row] = await database.read<ApprovalState>(STATE, [approvalRequestId]);
      return row;
    },

    listApprovals: (query) => list(database, query),

    approve: (decision) => database.transaction((session) => approve(session, decision)),

    deny: (denial) => database.transaction((session) => deny(session, denial)),

    expireApprovals: (now, limit, consequence) =>
      database.transaction(async (session) => {
        const rows = await session.run<Row>(EXPIRE, [now, limit]);
        for (const request of rows.map(approvalOf)) {
          const { entry, deliveries } = consequence(request);
          await insertDeliveries(session, deliveries);
          await enqueue(session, entry);
        }
        return rows.length;
      }),
  };
}

/**
 * Keeps the question, or returns the equal one that stands. Of two that ask at once the second waits
 * in the unique index for the first. A question that is over gives up its claim and stays as it is.
 */
async function ask(session: Session, request: ApprovalRecord): Promise<ApprovalRecord | undefined> {
  for (;;) {
    const inserted = await session.run(INSERT, requestValues(request));
    if (inserted.length > 0) return undefined;

    const { session_id = '' } = request;
    const [row] = await session.run<Row>(ASKED, [...questionValues(request), session_id]);
    if (row === undefined) continue;
    const asked = approvalOf(row);
    if (asked.expires_at > request.created_at) return asked;
    await session.run(ASKED_NO_MORE, [asked.approval_request_id]);
  }
}

/** What one query found, and the last request that it looked at, where there are more. */
interface Listed {
  readonly found: readonly Row[] | null;
  readonly floor: ApprovalPlace | null;
}

async function list(database: Database, query: ApprovalQuery): Promise<ApprovalPage> {
  const { now, status, capabilities, limit, before } = query;
  const place = [before?.created_at, before?.approval_request_id];
  const values = [now, status, capabilities, ...place, limit, APPROVALS_LOOKED_AT_MAX];
  const [row] = await database.read<Listed>(LIST, values);
  const requests = (row?.found ?? []).map(approvalOf);
  const floor = row?.floor && { ...row.floor, created_at: new Date(row.floor.created_at) };
  return { requests, next: requests.length === limit ? requests.at(-1) : (floor ?? undefined) };
}

async function approve(
  session: Session,
  decision: ApprovalDecision,
): Promise<Awaited<ReturnType<ApprovalStore['approve']>>> {
  const { approval_request_id, approver, now, grant } = decision;
  const ended = await endedActor(session, decision.actor, now);
  if (ended) return ended;
  const request = await hold(session, approval_request_id);
  const closed = closedBy(request, now);
  if (closed) return closed;
  const { length } = request.approvals;
  const isRepeated = request.approvals.some((approval) => approval.approver === approver);
  if (isRepeated || length !== decision.approvalsSeen) return 'stale';
  if ((grant !== undefined) !== (length + 1 === request.approvals_required)) {
    const state = `${length + 1} of ${request.approvals_required} approvals`;
    throw new Error(`Cannot approve "${approval_request_id}": grant does not fit ${state}`);
  }

  const terms = decision.terms && JSON.stringify(decision.terms);
  await session.run(COUNT, [approval_request_id, length, approver, now, terms, decision.mac]);
  if (grant) {
    await session.run(GRANT, grantValues(grant));
    const values = ['approved', now, approver, null, grant.grant_id];
    await session.run(DECIDE, [approval_request_id, ...values]);
  }
  await insertDeliveries(session, decision.deliveries);
  await enqueue(session, decision.entry);
  return grant ? 'approved' : 'counted';
}

async function deny(
  session: Session,
  { approval_request_id, decided_by, actor, reason, now, entry, deliveries }: Denial,
): Promise<Awaited<ReturnType<ApprovalStore['deny']>>> {
  const ended = await endedActor(session, actor, now);
  if (ended) return ended;
  const closed = closedBy(await hold(session, approval_request_id), now);
  if (closed) return closed;

  await session.run(DECIDE, [approval_request_id, 'denied', now, decided_by, reason, null]);
  await insertDeliveries(session, deliveries);
  await enqueue(session, entry);
  return 'denied';
}

/** The request under its lock. Its approvals are read after the lock, so none is missing. */
async function hold(session: Session, approvalRequestId: string): Promise<ApprovalRecord> {
  await session.run(HOLD, [approvalRequestId]);
  const [row] = await session.run<Row>(LOAD, [approvalRequestId]);
  if (row === undefined) throw new Error(`Cannot decide "${approvalRequestId}": it is unknown`);
  return approvalOf(row);
}

function closedBy(request: ApprovalRecord, now: Date): 'decided' | 'expired' | undefined {
  if (request.status === 'approved' || request.status === 'denied') return 'decided';
  return request.status === 'expired' || request.expires_at <= now ? 'expired' : undefined;
}

function questionValues(question: Pick<ApprovalRecord, keyof Question>): unknown[] {
  const { chain, capability, contract_version, parameters_digest } = question;
  return [chain, capability, contract_version, parameters_digest];
}

function requestValues(request: ApprovalRecord): unknown[] {
  return [
    ...[request.approval_request_id, request.capability, request.contract_version],
    ...[request.scope, request.subject, request.root_principal, request.session_id],
    ...[request.invocation_id, JSON.stringify(request.parameters), request.parameters_digest],
    ...[request.preview && JSON.stringify(request.preview), request.preview_digest],
    ...[JSON.stringify(request.grant_policy), request.approvals_required, request.status],
    ...[request.created_at, request.expires_at, request.requested_through],
    ...[request.chain, request.mac],
  ];
}

function grantValues(grant: GrantRecord): unknown[] {
  return [
    ...[grant.grant_id, grant.approval_request_id, grant.capability, grant.contract_version],
    ...[grant.scope, grant.subject, grant.root_principal, JSON.stringify(grant.parameters)],
    ...[grant.parameters_digest, grant.preview_digest, grant.grant_type, grant.session_id],
    ...[grant.approved_by, grant.issued_at, grant.expires_at, grant.max_uses, grant.uses],
    ...[grant.signature, grant.approved_through, grant.chain, grant.mac],
  ];
}

/** The columns of a record but for its status, which may depend on the time. */
export const REQUEST_COLUMNS = `r.approval_request_id, r.capability, r.contract_version, r.scope,
  r.subject, r.root_principal, r.session_id, r.invocation_id, r.parameters, r.parameters_digest,
  r.preview, r.preview_digest, r.grant_policy, r.approvals_required, r.created_at, r.expires_at,
  r.decided_at, r.decided_by, r.reason, r.grant_id, r.requested_through, r.chain, r.mac,
  (SELECT jsonb_agg(jsonb_build_object('approver', a.approver, 'approved_at', a.approved_at,
    'terms', a.terms, 'place', a.place, 'mac', a.mac) ORDER BY a.place) FROM approvals a
    WHERE a.approval_request_id = r.approval_request_id) AS approvals`;

const INSERT: Statement = {
  name: 'insert_approval_request',
  text: `INSERT INTO approval_requests (approval_request_id, capability, contract_version, scope,
      subject, root_principal, session_id, invocation_id, parameters, parameters_digest, preview,
      preview_digest, grant_policy, approvals_required, status, created_at, expires_at,
      requested_through, chain, mac)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
      $20)
    ON CONFLICT (chain, capability, contract_version, parameters_digest,
      (coalesce(session_id, ''))) WHERE is_asked DO NOTHING
    RETURNING approval_request_id`,
};

const ASKED: Statement = {
  name: 'asked',
  text: `SELECT ${REQUEST_COLUMNS}, r.status FROM approval_requests r
    WHERE r.is_asked AND r.chain = $1 AND r.capability = $2 AND r.contract_version = $3
      AND r.parameters_digest = $4 AND coalesce(r.session_id, '') = $5
    FOR UPDATE`,
};

export const WAITING: Statement = {
  name: 'waiting_grants',
  text: `SELECT ${GRANT_COLUMNS} FROM grants
    WHERE chain = $1 AND capability = $2 AND contract_version = $3 AND parameters_digest = $4
      AND uses < max_uses AND expires_at > $5
      AND (grant_type <> 'session_bound' OR session_id = $6)
    ORDER BY expires_at, grant_id LIMIT $7`,
};

export const LATEST: Statement = {
  name: 'latest_approval',
  text: `SELECT approval_request_id, status, expires_at, reason FROM approval_requests
    WHERE chain = $1 AND capability = $2 AND contract_version = $3 AND parameters_digest = $4
      AND coalesce(session_id, '') = $5
    ORDER BY created_at DESC LIMIT 1`,
};

const ASKED_NO_MORE: Statement = {
  name: 'asked_no_more',
  text: 'UPDATE approval_requests SET is_asked = false WHERE approval_request_id = $1',
};

const LOAD: Statement = {
  name: 'load_approval',
  text: `SELECT ${REQUEST_COLUMNS}, r.status FROM approval_requests r
    WHERE r.approval_request_id = $1`,
};

const STATE: Statement = {
  name: 'approval_state',
  text: 'SELECT status, expires_at FROM approval_requests WHERE approval_request_id = $1',
};

const HOLD: Statement = {
  name: 'hold_approval',
  text: 'SELECT FROM approval_requests WHERE approval_request_id = $1 FOR UPDATE',
};

const STATUS_AT = `CASE WHEN r.status = 'pending' AND r.expires_at <= $1 THEN 'expired'
  ELSE r.status END`;

const LIST: Statement = {
  name: 'list_approvals',
  text: `WITH looked AS MATERIALIZED (
      SELECT created_at, approval_request_id FROM approval_requests
      WHERE (created_at, approval_request_id)
        < (coalesce($4::timestamptz, 'infinity'), coalesce($5::text, ''))
      ORDER BY created_at DESC, approval_request_id DESC LIMIT $7::integer
    ), found AS (
      SELECT ${REQUEST_COLUMNS}, ${STATUS_AT} AS status
      FROM looked JOIN approval_requests r USING (approval_request_id)
      WHERE ($2::text IS NULL OR ${STATUS_AT} = $2)
        AND ($3::text[] IS NULL OR r.capability = ANY ($3))
      ORDER BY r.created_at DESC, r.approval_request_id DESC LIMIT $6
    )
    SELECT
      (SELECT jsonb_agg(to_jsonb(found) ORDER BY created_at DESC, approval_request_id DESC)
        FROM found) AS found,
      (SELECT to_jsonb(looked) FROM looked
        ORDER BY created_at DESC, approval_request_id DESC
        LIMIT 1 OFFSET $7::integer - 1) AS floor`,
};

const COUNT: Statement = {
  name: 'count_approval',
  text: `INSERT INTO approvals (approval_request_id, place, approver, approved_at, terms, mac)
    VALUES ($1, $2, $3, $4, $5, $6)`,
};

const GRANT: Statement = {
  name: 'insert_grant',
  text: `INSERT INTO grants (${GRANT_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
    $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`,
};

const DECIDE: Statement = {
  name: 'decide_approval',
  text: `UPDATE approval_requests SET status = $2, decided_at = $3, decided_by = $4, reason = $5,
    grant_id = $6, is_asked = false WHERE approval_request_id = $1`,
};

/** Those that another process is about to move or to decide are left to it. */
const EXPIRE: Statement = {
  name: 'expire_approvals',
  text: `WITH due AS (
      SELECT approval_request_id FROM approval_requests
      WHERE status = 'pending' AND expires_at <= $1
      ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
    )
    UPDATE approval_requests r SET status = 'expired', is_asked = false
    FROM due WHERE r.approval_request_id = due.approval_request_id
    RETURNING ${REQUEST_COLUMNS}, r.status`,
};
