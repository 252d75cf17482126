/**
 * Approval requests: whether one is still open, and what the next vote makes of it.
 *
 * A store decides under its lock with these rules; the service asks the same ones before it signs.
 *
 * @module
 */

import type { ApprovalStatus } from '../../protocol/approval.ts';

interface Lifetime {
  readonly status: ApprovalStatus;
  readonly expires_at: Date;
}

interface Votes {
  readonly approval_request_id: string;
  readonly approvals: readonly { readonly approver: string }[];
  readonly approvals_required: number;
}

/** A pending request is expired from its expiry on, whether or not its row was changed yet. */
export function statusAt({ status, expires_at }: Lifetime, now: Date): ApprovalStatus {
  return status === 'pending' && expires_at <= now ? 'expired' : status;
}

/** Why a request takes no decision any more. */
export function closedAs(request: Lifetime, now: Date): 'decided' | 'expired' | undefined {
  const status = statusAt(request, now);
  if (status === 'pending') return undefined;
  return status === 'expired' ? 'expired' : 'decided';
}

/** Whether a vote was cast on other votes than there are now, or by an approver who voted already. */
export function isStaleVote(
  { approvals }: Votes,
  { approver, approvalsSeen }: { readonly approver: string; readonly approvalsSeen: number },
): boolean {
  return approvals.length !== approvalsSeen || isVoter(approvals, approver);
}

export function isVoter(approvals: Votes['approvals'], approver: string): boolean {
  return approvals.some((approval) => approval.approver === approver);
}

/** Whether one more vote is enough. A request with more votes than it needs is complete with the next. */
export function completesQuorum({ approvals, approvals_required }: Votes): boolean {
  return approvals.length + 1 >= approvals_required;
}

/** Why this grant, or the lack of one, does not go with the next vote: a defect of the service. */
export function misfitGrant(
  request: Votes,
  grant: { readonly approval_request_id: string } | undefined,
): string | undefined {
  const { approval_request_id, approvals, approvals_required } = request;
  if (completesQuorum(request) !== (grant !== undefined)) {
    return `grant does not fit ${approvals.length + 1} of ${approvals_required} approvals`;
  }
  if (grant && grant.approval_request_id !== approval_request_id) {
    return `grant is for "${grant.approval_request_id}"`;
  }
  return undefined;
}
