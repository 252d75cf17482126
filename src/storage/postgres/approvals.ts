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
  statusAt,
} from '../../domain/authority/approval-request.ts';
import { amended } from '../../domain/values/amended.ts';
import type { ApprovalRecord } from '../port/records.ts';
import {
  APPROVALS_LOOKED_AT_MAX,
  type ApprovalDecision,
  type ApprovalPage,
  type ApprovalPlace,
  type ApprovalQuery,
  type ApprovalStore,
  type Crowded,
  type Denial,
  type LatestApproval,
  type Question,
} from '../port/store.ts';
import type { Row } from '../tables/table.ts';
import { endedActor } from './calls/actor.ts';
import type { Database, Session, Statement } from './connection.ts';
import { insertDeliveries } from './deliveries.ts';
import { enqueue } from './log/entries.ts';
import { usePasskey } from './passkeys.ts';
import { approvalOf, GRANTS, REQUESTS, VOTES } from './rows.ts';

type Approvals = Omit<
  ApprovalStore,
  | 'pendingApprovals'
  | 'pendingSides'
  | 'approvalsOf'
  | 'statesSince'
  | 'takeDeliveries'
  | 'finishDelivery'
  | 'listDeliveries'
>;

type ApprovalState = Pick<ApprovalRecord, 'status' | 'expires_at'>;

export function createApprovals(database: Database): Approvals {
  const inTurn = createTurns();
  return {
    requestApproval: (request, entry, deliveries, asking) =>
      inTurn(request.root_principal, () =>
        database.transaction(async (session) => {
          const ended = await endedActor(session, asking?.actor, request.created_at);
          if (ended) return ended;
          const answer = await ask(session, request, asking?.bounds);
          if (answer) return answer;
          await insertDeliveries(session, deliveries);
          await enqueue(session, entry);
          return request;
        }),
      ),

    async loadApproval(approvalRequestId) {
      const [row] = await database.read<Row>(LOAD, [approvalRequestId]);
      return row && approvalOf(row);
    },

    async waitingGrants(question, now, limit) {
      const asked = [...questionValues(question), now, question.session_id, limit];
      return (await database.read<Row>(WAITING, asked)).map(GRANTS.read);
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
 * Runs the work of one key in order. The database lets requests of one root principal in one after the other; of
 * this process only the next one waits there, so that the others hold no connection.
 */
function createTurns() {
  const last = new Map<string, Promise<unknown>>();
  return async <Result>(key: string, work: () => Promise<Result>): Promise<Result> => {
    const mine = (last.get(key) ?? Promise.resolve()).then(work, work);
    last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (last.get(key) === mine) last.delete(key);
    }
  };
}

/**
 * Inserts the request, or returns the equal pending one or the bound that is exceeded. Requests of one root
 * principal are counted and inserted one after the other, so each counts those before it. An expired request gives up its place in the unique index and is otherwise
 * unchanged.
 */
async function ask(
  session: Session,
  request: ApprovalRecord,
  bounds: OpenBounds | undefined,
): Promise<ApprovalRecord | Crowded | undefined> {
  const { session_id = '' } = request;
  await session.run(HOLD_ROOT, [request.root_principal]);
  for (;;) {
    // Read first: a request of an older version has no digest, so it does not conflict with the new one.
    const rows = await session.run<Row>(ASKED, [...questionValues(request), session_id]);
    for (const asked of rows.map(approvalOf)) {
      if (!closedAs(asked, request.created_at)) return asked;
      await session.run(ASKED_NO_MORE, [asked.approval_request_id]);
    }
    const exceeded = bounds && (await exceededBy(session, request, bounds));
    if (exceeded) return { exceeded };
    const inserted = await session.run(INSERT, [REQUESTS.rows([request])]);
    if (inserted.length > 0) return undefined;
  }
}

async function exceededBy(
  session: Session,
  { root_principal, created_at, delegate, kept_bytes = 0 }: ApprovalRecord,
  bounds: OpenBounds,
): Promise<ExceededBound | undefined> {
  const values = [root_principal, created_at, delegate];
  const [open] = await session.run<OpenRequests>(OPEN, values);
  if (!open) throw new Error('Cannot count open requests: the server returned no row');
  return exceededBound(open, kept_bytes, bounds);
}

/** The requests that one query found, and the last one it examined, where there are more. */
interface Listed {
  readonly found: readonly Row[] | null;
  readonly floor: ApprovalPlace | null;
}

async function list(database: Database, query: ApprovalQuery): Promise<ApprovalPage> {
  const { now, status, capabilities, limit, before } = query;
  const place = [before?.created_at, before?.approval_request_id];
  const values = [now, status, capabilities, ...place, limit, APPROVALS_LOOKED_AT_MAX];
  const [row] = await database.read<Listed>(LIST, values);
  const requests = (row?.found ?? []).map((found) => {
    const request = approvalOf(found);
    return amended(request, { status: statusAt(request, now) });
  });
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
  const closed = closedAs(request, now);
  if (closed) return closed;
  if (isStaleVote(request, decision)) return 'stale';
  const misfit = misfitGrant(request, grant);
  if (misfit) throw new Error(`Cannot approve "${approval_request_id}": ${misfit}`);

  const { terms, credential_id, mac } = decision;
  if (!(await usePasskey(session, approver, credential_id, now))) return 'stale';
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
  await session.run(COUNT, [VOTES.rows([vote])]);
  if (grant) {
    await session.run(GRANT, [GRANTS.rows([grant])]);
    const values = ['approved', now, approver, null, grant.grant_id];
    await session.run(DECIDE, [approval_request_id, ...values]);
  }
  await insertDeliveries(session, decision.deliveries);
  await enqueue(session, decision.entry);
  return grant ? 'approved' : 'counted';
}

async function deny(
  session: Session,
  denial: Denial,
): Promise<Awaited<ReturnType<ApprovalStore['deny']>>> {
  const { approval_request_id, decided_by, actor, reason, now, entry, deliveries } = denial;
  const ended = await endedActor(session, actor, now);
  if (ended) return ended;
  const closed = closedAs(await hold(session, approval_request_id), now);
  if (closed) return closed;
  if (!(await usePasskey(session, decided_by, denial.credential_id, now))) return 'stale';

  await session.run(DECIDE, [approval_request_id, 'denied', now, decided_by, reason, null]);
  await insertDeliveries(session, deliveries);
  await enqueue(session, entry);
  return 'denied';
}

/** The request under its lock. Its votes are read after the lock, so none is missing. */
async function hold(session: Session, approvalRequestId: string): Promise<ApprovalRecord> {
  await session.run(HOLD, [approvalRequestId]);
  const [row] = await session.run<Row>(LOAD, [approvalRequestId]);
  if (row === undefined) throw new Error(`Cannot decide "${approvalRequestId}": it does not exist`);
  return approvalOf(row);
}

function questionValues(question: Pick<ApprovalRecord, keyof Question>): unknown[] {
  const { chain, capability, contract_version, parameters_digest, declaration_digest } = question;
  return [chain, capability, contract_version, parameters_digest, declaration_digest ?? ''];
}

/** A request with its votes, as `approvalOf` reads it. */
export const REQUEST_COLUMNS = `${REQUESTS.list('r')},
  (SELECT jsonb_agg(to_jsonb(a) ORDER BY a.place) FROM approvals a
    WHERE a.approval_request_id = r.approval_request_id) AS approvals`;

const INSERT: Statement = {
  name: 'insert_approval_request',
  text: `${REQUESTS.insert(1)}
    ON CONFLICT (chain, capability, contract_version, parameters_digest,
      (coalesce(session_id, '')), (coalesce(declaration_digest, ''))) WHERE is_asked DO NOTHING
    RETURNING is_asked`,
};

const ASKED: Statement = {
  name: 'asked',
  text: `SELECT ${REQUEST_COLUMNS} FROM approval_requests r
    WHERE r.is_asked AND r.chain = $1 AND r.capability = $2 AND r.contract_version = $3
      AND r.parameters_digest = $4 AND coalesce(r.declaration_digest, $5) = $5
      AND coalesce(r.session_id, '') = $6
    FOR UPDATE`,
};

/** A number that no other program locks in this database. */
const ROOT = 0x77_72_61_70;

/** Comes after the gate of the actor, and before every row. */
const HOLD_ROOT: Statement = {
  name: 'hold_root',
  text: `SELECT pg_advisory_xact_lock(${ROOT}, hashtext($1))`,
};

/** Reads at most as many rows of the index as may be open for a root principal. */
const OPEN: Statement = {
  name: 'open_requests',
  text: `SELECT count(*)::integer AS root,
      coalesce(sum(kept_bytes), 0)::float8 AS "rootBytes",
      (count(*) FILTER (WHERE delegate = $3))::integer AS chain,
      coalesce(sum(kept_bytes) FILTER (WHERE delegate = $3), 0)::float8 AS "chainBytes"
    FROM approval_requests
    WHERE status = 'pending' AND root_principal = $1 AND expires_at > $2`,
};

export const WAITING: Statement = {
  name: 'waiting_grants',
  text: `SELECT ${GRANTS.list()} FROM grants
    WHERE chain = $1 AND capability = $2 AND contract_version = $3 AND parameters_digest = $4
      AND coalesce(declaration_digest, $5) = $5 AND uses < max_uses AND expires_at > $6
      AND (grant_type <> 'session_bound' OR session_id = $7)
    ORDER BY expires_at, grant_id LIMIT $8`,
};

export const LATEST: Statement = {
  name: 'latest_approval',
  text: `SELECT approval_request_id, status, expires_at, reason FROM approval_requests
    WHERE chain = $1 AND capability = $2 AND contract_version = $3 AND parameters_digest = $4
      AND coalesce(declaration_digest, $5) = $5 AND coalesce(session_id, '') = $6
    ORDER BY created_at DESC LIMIT 1`,
};

const ASKED_NO_MORE: Statement = {
  name: 'asked_no_more',
  text: 'UPDATE approval_requests SET is_asked = false WHERE approval_request_id = $1',
};

const LOAD: Statement = {
  name: 'load_approval',
  text: `SELECT ${REQUEST_COLUMNS} FROM approval_requests r
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

/** As `statusAt` of `domain/authority/approval-request.ts`. */
const STATUS_AT = `CASE WHEN r.status = 'pending' AND r.expires_at <= $1 THEN 'expired'
  ELSE r.status END`;

/** The offset keeps the planner from reading the whole table for the rows that were looked at. */
const LIST: Statement = {
  name: 'list_approvals',
  text: `WITH looked AS MATERIALIZED (
      SELECT created_at, approval_request_id FROM approval_requests
      WHERE (created_at, approval_request_id)
        < (coalesce($4::timestamptz, 'infinity'), coalesce($5::text, ''))
      ORDER BY created_at DESC, approval_request_id DESC LIMIT $7::integer
    ), found AS (
      SELECT ${REQUEST_COLUMNS}
      FROM looked, LATERAL (SELECT * FROM approval_requests a
        WHERE a.approval_request_id = looked.approval_request_id OFFSET 0) r
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
  text: VOTES.insert(1),
};

const GRANT: Statement = {
  name: 'insert_grant',
  text: GRANTS.insert(1),
};

const DECIDE: Statement = {
  name: 'decide_approval',
  text: `UPDATE approval_requests SET status = $2, decided_at = $3, decided_by = $4, reason = $5,
    grant_id = $6, is_asked = false WHERE approval_request_id = $1`,
};

/** Skips those that another process is expiring or deciding. */
const EXPIRE: Statement = {
  name: 'expire_approvals',
  text: `WITH due AS (
      SELECT approval_request_id FROM approval_requests
      WHERE status = 'pending' AND expires_at <= $1
      ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
    )
    UPDATE approval_requests r SET status = 'expired', is_asked = false
    FROM due WHERE r.approval_request_id = due.approval_request_id
    RETURNING ${REQUEST_COLUMNS}`,
};
