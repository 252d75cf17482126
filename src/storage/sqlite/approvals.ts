/**
 * Approvals in SQLite: requests, votes, and the grant that a full quorum makes.
 *
 * One writer at a time: what a decision read from its request still holds when it writes. Unique keys enforce
 * it again: one request never has two grants or one approver twice.
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
import type { ActorEnded, ApprovalRecord, GrantRecord } from '../port/records.ts';
import { listedVotes } from '../port/row-forms.ts';
import {
  APPROVALS_LOOKED_AT_MAX,
  type ApprovalDecision,
  type ApprovalPage,
  type ApprovalQuery,
  type ApprovalStore,
  type Crowded,
  type Denial,
  type LatestApproval,
  type Question,
} from '../port/store.ts';
import type { Row } from '../tables/table.ts';
import type { Connection } from './connection.ts';
import { insertDeliveries } from './deliveries.ts';
import type { LogWriter } from './log/writer.ts';
import { usePasskey } from './passkeys.ts';
import { GRANTS, insert, REQUESTS, type Stored, timeOf, VOTES } from './rows.ts';
import { endedActor } from './tokens.ts';

export function requestApproval(
  connection: Connection,
  log: LogWriter,
  ...[request, entry, deliveries, asking]: Parameters<ApprovalStore['requestApproval']>
): ApprovalRecord | Crowded | ActorEnded {
  const ended = endedActor(connection, asking?.actor, request.created_at);
  if (ended) return ended;
  const asked = findPending(connection, request);
  if (asked) return asked;
  const exceeded = asking?.bounds && exceededBy(connection, request, asking.bounds);
  if (exceeded) return { exceeded };

  insert(connection, REQUESTS, request);
  insertDeliveries(connection, deliveries);
  log.append(entry);
  return request;
}

export function loadApproval(connection: Connection, id: string): ApprovalRecord | undefined {
  const row = connection.get<Row>(
    'SELECT * FROM approval_requests WHERE approval_request_id = ?',
    id,
  );
  return row && withApprovals(connection, row);
}

export function approvalState(
  connection: Connection,
  id: string,
): Awaited<ReturnType<ApprovalStore['approvalState']>> {
  const row = connection.get<Pick<Stored<ApprovalRecord>, 'status' | 'expires_at'>>(
    'SELECT status, expires_at FROM approval_requests WHERE approval_request_id = ?',
    id,
  );
  return row && { ...row, expires_at: timeOf(row.expires_at) };
}

export function waitingGrants(
  connection: Connection,
  ...[question, now, limit]: Parameters<ApprovalStore['waitingGrants']>
): GrantRecord[] {
  const rows = connection.all<Row>(
    WAITING,
    question.chain,
    question.capability,
    question.contract_version,
    question.parameters_digest,
    question.declaration_digest,
    now,
    question.session_id,
    limit,
  );
  return rows.map(GRANTS.read);
}

export const WAITING = `
  SELECT * FROM grants
  WHERE chain = ? AND capability = ? AND contract_version = ? AND parameters_digest = ?
    AND ifnull(declaration_digest, ?5) = ?5
    AND uses < max_uses AND expires_at > ?
    AND (grant_type <> 'session_bound' OR session_id = ?)
  ORDER BY expires_at, grant_id LIMIT ?`;

export function latestApproval(
  connection: Connection,
  question: Question,
): LatestApproval | undefined {
  const row = connection.get<Stored<LatestApproval>>(
    LATEST,
    question.chain,
    question.capability,
    question.contract_version,
    question.parameters_digest,
    question.declaration_digest,
    question.session_id,
  );
  return row && { ...row, expires_at: timeOf(row.expires_at), reason: row.reason ?? undefined };
}

export const LATEST = `
  SELECT approval_request_id, status, expires_at, reason FROM approval_requests
  WHERE chain = ? AND capability = ? AND contract_version = ? AND parameters_digest = ?
    AND ifnull(declaration_digest, ?5) = ?5
    AND session_id IS ?
  ORDER BY created_at DESC LIMIT 1`;

export function listApprovals(connection: Connection, query: ApprovalQuery): ApprovalPage {
  const { now, before, limit } = query;
  const end = [before?.created_at ?? Number.MAX_SAFE_INTEGER, before?.approval_request_id ?? ''];
  const floor = connection.get<{ created_at: bigint; approval_request_id: string }>(
    `SELECT created_at, approval_request_id FROM approval_requests
     WHERE (created_at, approval_request_id) < (?1, ?2)
     ORDER BY created_at DESC, approval_request_id DESC LIMIT 1 OFFSET ?3`,
    ...end,
    APPROVALS_LOOKED_AT_MAX - 1,
  );
  const rows = connection.all<Row>(
    `SELECT * FROM approval_requests
     WHERE (?2 IS NULL
         OR iif(status = 'pending' AND expires_at <= ?1, 'expired', status) = ?2)
       AND (?3 IS NULL OR capability IN (SELECT value FROM json_each(?3)))
       AND (created_at, approval_request_id) < (?4, ?5)
       AND (created_at, approval_request_id) >= (?6, ?7)
     ORDER BY created_at DESC, approval_request_id DESC LIMIT ?8`,
    now,
    query.status,
    query.capabilities && JSON.stringify(query.capabilities),
    ...end,
    floor?.created_at ?? Number.MIN_SAFE_INTEGER,
    floor?.approval_request_id ?? '',
    limit,
  );
  const requests = rows.map((row) => {
    const request = withApprovals(connection, row);
    return amended(request, { status: statusAt(request, now) });
  });
  const last = requests.length === limit ? requests.at(-1) : undefined;
  return { requests, next: last ?? (floor && { ...floor, created_at: timeOf(floor.created_at) }) };
}

export function approve(
  connection: Connection,
  log: LogWriter,
  decision: ApprovalDecision,
): Awaited<ReturnType<ApprovalStore['approve']>> {
  const { approval_request_id, approver, now, grant } = decision;
  const ended = endedActor(connection, decision.actor, now);
  if (ended) return ended;
  const request = readDecidable(connection, approval_request_id);
  const closed = closedAs(request, now);
  if (closed) return closed;
  if (isStaleVote(request, decision)) return 'stale';
  const misfit = misfitGrant(request, grant);
  if (misfit) throw new Error(`Cannot approve "${approval_request_id}": ${misfit}`);

  const { terms, credential_id, mac } = decision;
  if (!usePasskey(connection, approver, credential_id, now)) return 'stale';
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
  insert(connection, VOTES, vote);
  if (grant) completeQuorum(connection, decision, grant);
  insertDeliveries(connection, decision.deliveries);
  log.append(decision.entry);
  return grant ? 'approved' : 'counted';
}

export function deny(
  connection: Connection,
  log: LogWriter,
  denial: Denial,
): Awaited<ReturnType<ApprovalStore['deny']>> {
  const ended = endedActor(connection, denial.actor, denial.now);
  if (ended) return ended;
  const request = readDecidable(connection, denial.approval_request_id);
  const closed = closedAs(request, denial.now);
  if (closed) return closed;
  const { decided_by, credential_id } = denial;
  if (!usePasskey(connection, decided_by, credential_id, denial.now)) return 'stale';

  connection.run(
    `UPDATE approval_requests SET status = 'denied', decided_at = ?, decided_by = ?, reason = ?
     WHERE approval_request_id = ? AND status = 'pending'`,
    denial.now,
    denial.decided_by,
    denial.reason,
    denial.approval_request_id,
  );
  insertDeliveries(connection, denial.deliveries);
  log.append(denial.entry);
  return 'denied';
}

export function expireApprovals(
  connection: Connection,
  log: LogWriter,
  ...[now, limit, consequence]: Parameters<ApprovalStore['expireApprovals']>
): number {
  const rows = connection.all<Row>(
    `SELECT * FROM approval_requests WHERE status = 'pending' AND expires_at <= ?
     ORDER BY expires_at LIMIT ?`,
    now,
    limit,
  );
  for (const row of rows) {
    const request = withApprovals(connection, { ...row, status: 'expired' });
    connection.run(
      "UPDATE approval_requests SET status = 'expired' WHERE approval_request_id = ?",
      request.approval_request_id,
    );
    const { entry, deliveries } = consequence(request);
    insertDeliveries(connection, deliveries);
    log.append(entry);
  }
  return rows.length;
}

/** A pending request past its expiry does not count, even before it is marked as expired. */
function findPending(connection: Connection, request: ApprovalRecord): ApprovalRecord | undefined {
  const row = connection.get<Row>(
    ASKED,
    request.chain,
    request.capability,
    request.contract_version,
    request.parameters_digest,
    request.declaration_digest ?? '',
    request.session_id,
    request.created_at,
  );
  return row && withApprovals(connection, row);
}

/** Without the name SQLite takes the index by capability and expiry, which has the requests of all principals. */
const ASKED = `
  SELECT * FROM approval_requests INDEXED BY approval_requests_asked
  WHERE status = 'pending' AND chain = ? AND capability = ? AND contract_version = ?
    AND parameters_digest = ? AND ifnull(declaration_digest, ?5) = ?5
    AND session_id IS ? AND expires_at > ?
  LIMIT 1`;

function exceededBy(
  connection: Connection,
  { root_principal, created_at, delegate, kept_bytes = 0 }: ApprovalRecord,
  bounds: OpenBounds,
): ExceededBound | undefined {
  const open = connection.get<Stored<OpenRequests>>(OPEN, root_principal, created_at, delegate);
  if (!open) throw new Error('Cannot count open requests: SQLite returned no row');
  const { chain, chainBytes, root, rootBytes } = open;
  const counts = {
    chain: Number(chain),
    chainBytes: Number(chainBytes),
    root: Number(root),
    rootBytes: Number(rootBytes),
  };
  return exceededBound(counts, kept_bytes, bounds);
}

/** Reads the index alone. It has at most as many rows of a root principal as may be open. */
const OPEN = `
  SELECT count(*) AS root, total(kept_bytes) AS rootBytes,
    count(*) FILTER (WHERE delegate = ?3) AS chain,
    total(kept_bytes) FILTER (WHERE delegate = ?3) AS chainBytes
  FROM approval_requests INDEXED BY approval_requests_waiting
  WHERE status = 'pending' AND root_principal = ?1 AND expires_at > ?2`;

export function withApprovals(connection: Connection, row: Row): ApprovalRecord {
  const request = REQUESTS.read(row);
  const votes = connection.all<Row>(
    'SELECT * FROM approvals WHERE approval_request_id = ? ORDER BY place',
    request.approval_request_id,
  );
  return amended(request, { approvals: listedVotes(votes.map(VOTES.read)) });
}

function readDecidable(connection: Connection, id: string): ApprovalRecord {
  const request = loadApproval(connection, id);
  if (!request) throw new Error(`Cannot decide approval request "${id}": it does not exist`);
  return request;
}

function completeQuorum(
  connection: Connection,
  { approval_request_id, approver, now }: ApprovalDecision,
  grant: GrantRecord,
): void {
  insert(connection, GRANTS, grant);
  connection.run(
    `UPDATE approval_requests
     SET status = 'approved', decided_at = ?, decided_by = ?, grant_id = ?
     WHERE approval_request_id = ? AND status = 'pending'`,
    now,
    approver,
    grant.grant_id,
    approval_request_id,
  );
}
