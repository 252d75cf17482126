/**
 * Approvals in the simulated store: requests, votes, and the grant that the last vote makes.
 *
 * @module
 */

import {
  exceededBound,
  type OpenRequests,
} from '../../../src/domain/authority/approval-request.ts';
import type {
  ActorEnded,
  ApprovalRecord,
  ApprovalVote,
  GrantRecord,
} from '../../../src/storage/port/records.ts';
import type {
  ApprovalDecision,
  ApprovalStore,
  Crowded,
  Denial,
  LatestApproval,
  Question,
} from '../../../src/storage/port/store.ts';
import { isSession } from './admission.ts';
import { copyOf } from './copy.ts';
import type { MemoryDatabase } from './database.ts';
import { insertDeliveries } from './deliveries.ts';
import { usePasskey } from './passkeys.ts';
import { timeOrder } from './table.ts';
import { endedActor } from './tokens.ts';

export function requestApproval(
  database: MemoryDatabase,
  ...[request, entry, deliveries, asking]: Parameters<ApprovalStore['requestApproval']>
): ApprovalRecord | Crowded | ActorEnded {
  const ended = endedActor(database, asking?.actor, request.created_at);
  if (ended) return ended;
  const asked = pendingFor(database, request);
  if (asked) return copyOf(asked);
  const open = openFor(database, request);
  const exceeded = asking?.bounds && exceededBound(open, request.kept_bytes ?? 0, asking.bounds);
  if (exceeded) return { exceeded };

  database.requests.insert(request.approval_request_id, copyOf(request));
  insertDeliveries(database, deliveries);
  database.log.append(entry);
  return copyOf(request);
}

function openFor({ requests }: MemoryDatabase, request: ApprovalRecord): OpenRequests {
  const open = Array.from(requests.values()).filter((each) => {
    return (
      each.root_principal === request.root_principal &&
      stateAt(each, request.created_at) === 'pending'
    );
  });
  const own = open.filter(({ delegate }) => delegate === request.delegate);
  const bytesOf = (all: readonly ApprovalRecord[]) =>
    all.reduce((sum, { kept_bytes = 0 }) => sum + kept_bytes, 0);
  const bytes = { chainBytes: bytesOf(own), rootBytes: bytesOf(open) };
  return { chain: own.length, root: open.length, ...bytes };
}

function pendingFor(
  { requests }: MemoryDatabase,
  request: ApprovalRecord,
): ApprovalRecord | undefined {
  const { chain, created_at } = request;
  if (chain === undefined) return undefined;
  const question = { ...request, chain, declaration_digest: request.declaration_digest ?? '' };
  for (const each of requests.values()) {
    if (stateAt(each, created_at) !== 'pending' || !isAnswerTo(each, question)) continue;
    if (each.session_id === request.session_id) return each;
  }
  return undefined;
}

/** Whether a request or a grant belongs to a question, apart from its session. */
function isAnswerTo(kept: ApprovalRecord | GrantRecord, question: Question): boolean {
  return (
    kept.chain === question.chain &&
    kept.capability === question.capability &&
    kept.contract_version === question.contract_version &&
    kept.parameters_digest === question.parameters_digest &&
    // One without a digest was made for any declaration of its version.
    (kept.declaration_digest ?? question.declaration_digest) === question.declaration_digest
  );
}

/** A pending request is expired from its expiry on. */
export function stateAt(
  { status, expires_at }: Pick<ApprovalRecord, 'status' | 'expires_at'>,
  now: Date,
): ApprovalRecord['status'] {
  return status === 'pending' && expires_at <= now ? 'expired' : status;
}

export function loadApproval({ requests }: MemoryDatabase, id: string): ApprovalRecord | undefined {
  return copyOf(requests.get(id));
}

export function approvalState(
  { requests }: MemoryDatabase,
  id: string,
): Awaited<ReturnType<ApprovalStore['approvalState']>> {
  const request = requests.get(id);
  return request && { status: request.status, expires_at: copyOf(request.expires_at) };
}

export function waitingGrants(
  { grants }: MemoryDatabase,
  ...[question, now, limit]: Parameters<ApprovalStore['waitingGrants']>
): GrantRecord[] {
  return Array.from(grants.values())
    .filter((grant) => isAnswerTo(grant, question))
    .filter(({ uses, max_uses, expires_at }) => uses < max_uses && expires_at > now)
    .filter(({ grant_type, session_id }) => {
      return grant_type !== 'session_bound' || isSession(session_id, question.session_id);
    })
    .sort((one, other) => {
      return timeOrder(one.expires_at, other.expires_at, [one.grant_id, other.grant_id]);
    })
    .slice(0, limit)
    .map(copyOf);
}

export function latestApproval(
  { requests }: MemoryDatabase,
  question: Question,
): LatestApproval | undefined {
  // Of two requests of one instant the one that was asked later is the newest.
  const [latest] = Array.from(requests.values())
    .filter((request) => isAnswerTo(request, question))
    .filter(({ session_id }) => session_id === question.session_id)
    .reverse()
    .sort((one, other) => other.created_at.getTime() - one.created_at.getTime());
  if (!latest) return undefined;
  const { approval_request_id, status, expires_at, reason } = latest;
  return { approval_request_id, status, expires_at: copyOf(expires_at), reason };
}

export function newerFirst(one: ApprovalRecord, other: ApprovalRecord): number {
  const ids = [other.approval_request_id, one.approval_request_id] as const;
  return timeOrder(other.created_at, one.created_at, ids);
}

export function approve(
  database: MemoryDatabase,
  decision: ApprovalDecision,
): Awaited<ReturnType<ApprovalStore['approve']>> {
  const { approver, now, grant, credential_id } = decision;
  const ended = endedActor(database, decision.actor, now);
  if (ended) return ended;
  const request = decidable(database, decision);
  if (typeof request === 'string') return request;
  const { approvals, approvals_required, approval_request_id } = request;
  const hasVoted = approvals.some((vote) => vote.approver === approver);
  if (hasVoted || approvals.length !== decision.approvalsSeen) return 'stale';
  const isLast = approvals.length + 1 >= approvals_required;
  const isOwn = !grant || grant.approval_request_id === approval_request_id;
  if (isLast !== (grant !== undefined) || !isOwn) {
    throw new Error(`Cannot approve "${approval_request_id}": the grant does not fit the vote`);
  }
  if (!usePasskey(database, approver, credential_id, now)) return 'stale';

  const { terms, mac } = decision;
  const vote: ApprovalVote = copyOf({ approver, approved_at: now, terms, credential_id, mac });
  const voted = { ...request, approvals: [...approvals, vote] };
  if (grant) database.grants.insert(grant.grant_id, copyOf(grant));
  database.requests.put(approval_request_id, grant ? approvedBy(voted, decision, grant) : voted);
  insertDeliveries(database, decision.deliveries);
  database.log.append(decision.entry);
  return grant ? 'approved' : 'counted';
}

function approvedBy(
  request: ApprovalRecord,
  { approver, now }: ApprovalDecision,
  { grant_id }: GrantRecord,
): ApprovalRecord {
  const decided_at = copyOf(now);
  return { ...request, status: 'approved', decided_at, decided_by: approver, grant_id };
}

export function deny(
  database: MemoryDatabase,
  denial: Denial,
): Awaited<ReturnType<ApprovalStore['deny']>> {
  const { now, decided_by, reason, credential_id } = denial;
  const ended = endedActor(database, denial.actor, now);
  if (ended) return ended;
  const request = decidable(database, denial);
  if (typeof request === 'string') return request;
  if (!usePasskey(database, decided_by, credential_id, now)) return 'stale';

  database.requests.put(request.approval_request_id, {
    ...request,
    status: 'denied',
    decided_at: copyOf(now),
    decided_by,
    reason,
  });
  insertDeliveries(database, denial.deliveries);
  database.log.append(denial.entry);
  return 'denied';
}

/** The request while it is pending, or why it takes no decision. */
function decidable(
  { requests }: MemoryDatabase,
  { approval_request_id, now }: Pick<Denial, 'approval_request_id' | 'now'>,
): ApprovalRecord | 'decided' | 'expired' {
  const request = requests.get(approval_request_id);
  if (!request) throw new Error(`Cannot decide "${approval_request_id}": there is no such request`);
  const status = stateAt(request, now);
  if (status === 'pending') return request;
  return status === 'expired' ? 'expired' : 'decided';
}

export function expireApprovals(
  database: MemoryDatabase,
  ...[now, limit, consequence]: Parameters<ApprovalStore['expireApprovals']>
): number {
  const due = Array.from(database.requests.values())
    .filter((request) => request.status === 'pending' && request.expires_at <= now)
    .sort(sooner)
    .slice(0, limit);
  for (const request of due) {
    const expired: ApprovalRecord = { ...request, status: 'expired' };
    database.requests.put(request.approval_request_id, expired);
    const { entry, deliveries } = consequence(copyOf(expired));
    insertDeliveries(database, deliveries);
    database.log.append(entry);
  }
  return due.length;
}

/** The next to expire first. */
export function sooner(
  one: Pick<ApprovalRecord, 'expires_at' | 'approval_request_id'>,
  other: Pick<ApprovalRecord, 'expires_at' | 'approval_request_id'>,
): number {
  const ids = [one.approval_request_id, other.approval_request_id] as const;
  return timeOrder(one.expires_at, other.expires_at, ids);
}
