/**
 * Approval requests: how many may be open, whether one is still open, and what the next vote makes of it.
 *
 * A store decides under its lock with these rules; the service asks the same ones before it signs.
 *
 * @module
 */

import type { ApprovalStatus } from '../../protocol/approval.ts';
import { utf8 } from '../wire/hash.ts';

interface Lifetime {
  readonly status: ApprovalStatus;
  readonly expires_at: Date;
}

interface Votes {
  readonly approval_request_id: string;
  readonly approvals: readonly { readonly approver: string }[];
  readonly approvals_required: number;
}

/** Bounds on open requests. No chain gets more than half of its root's requests and bytes. */
export interface OpenBounds {
  /** Requests of one chain, where everything below a first delegation is one chain. */
  readonly chain: number;
  /** Requests of one root principal. */
  readonly root: number;
  /** Bytes that are kept for the requests of one root principal. */
  readonly bytes: number;
}

/** What is open already, and the bytes of the new request. */
export interface OpenRequests {
  readonly chain: number;
  readonly chainBytes: number;
  readonly root: number;
  readonly rootBytes: number;
}

/** The bound that one more request would exceed. */
export interface ExceededBound {
  readonly of: 'chain' | 'root';
  readonly unit: 'requests' | 'bytes';
  /** Requests that wait for a decision. */
  readonly waiting: number;
  readonly most: number;
}

export function exceededBound(
  open: OpenRequests,
  bytes: number,
  bounds: OpenBounds,
): ExceededBound | undefined {
  const half = (bound: number) => Math.floor(bound / 2);
  const chain = { of: 'chain', waiting: open.chain } as const;
  const root = { of: 'root', waiting: open.root } as const;
  const most = Math.min(bounds.chain, half(bounds.root));
  if (open.chain >= most) return { ...chain, unit: 'requests', most };
  if (open.root >= bounds.root) return { ...root, unit: 'requests', most: bounds.root };
  if (open.chainBytes + bytes > half(bounds.bytes)) {
    return { ...chain, unit: 'bytes', most: half(bounds.bytes) };
  }
  if (open.rootBytes + bytes > bounds.bytes) return { ...root, unit: 'bytes', most: bounds.bytes };
  return undefined;
}

/** In bytes: what a request keeps of the caller's choice. */
export function keptBytes({
  parameters,
  preview,
  note,
}: {
  readonly parameters: unknown;
  readonly preview?: unknown;
  readonly note?: string | undefined;
}): number {
  return utf8(JSON.stringify([parameters, preview, note])).length;
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
