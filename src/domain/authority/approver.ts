/**
 * Approvers: which principals may decide an approval request, beyond holding the scope for it.
 *
 * Every principal in the lineage of the requesting token is on the requester's side and may not approve.
 * The root principal is the exception: it may approve in person, unless the policy separates it too. The
 * issuer of a token chooses its subject, so the rules look at every principal in the approver's lineage.
 *
 * @module
 */

import { matchesPrincipal, parsePrincipal } from './principal.ts';

/** The private part of an approval policy: who may approve. */
export interface ApproverPolicy {
  readonly separation?: 'root' | undefined;
  readonly approvers?: readonly string[] | undefined;
}

export interface RequestingSide {
  readonly subject: string;
  readonly root_principal: string;
  readonly requested_through: readonly string[];
  readonly approvals_required: number;
}

/** The approver: its root principal, and every principal in its lineage. */
export interface ApprovingSide {
  readonly root_principal: string;
  readonly through: readonly string[];
}

/** The reason why this approver may not decide this request, or `undefined` when it may. */
export function barredApprover(
  request: RequestingSide,
  approver: ApprovingSide,
  policy: ApproverPolicy = {},
): string | undefined {
  const names = [approver.root_principal, ...approver.through];
  const inPerson = approver.through.every((name) => name === approver.root_principal);
  if (names.some((name) => isBarredAgent(name, policy))) return 'agents may not approve';
  if (names.some((name) => isRequesting(request, name))) {
    return 'requesters may not approve their own request';
  }
  if (policy.separation === 'root' && names.includes(request.root_principal)) {
    return 'the root principal of the requester may not approve';
  }
  if (approver.root_principal === request.root_principal && !inPerson) {
    return 'a token delegated by the root principal of the requester may not approve';
  }
  // One person can hold tokens under several names, so a quorum counts only approvers in person.
  if (request.approvals_required > 1 && !inPerson) {
    return 'where several approvals are required, delegated tokens may not approve';
  }
  return undefined;
}

/**
 * An approver of the grant that is also on the side of the caller. Checked at each use against the caller's
 * own lineage, so that the rule does not depend on the stored request alone.
 */
export function ownApprover(
  grant: {
    readonly root_principal: string;
    readonly approved_by: readonly string[];
    readonly approved_through: readonly string[];
  },
  through: readonly string[],
): string | undefined {
  const approving = [...grant.approved_by, ...grant.approved_through];
  return approving.find((name) => name !== grant.root_principal && through.includes(name));
}

/** An agent may approve only where the policy names it. */
export function isBarredAgent(principal: string, { approvers = [] }: ApproverPolicy): boolean {
  if (parsePrincipal(principal)?.class !== 'agent') return false;
  return !approvers.some((pattern) => matchesPrincipal(pattern, principal));
}

function isRequesting(
  { subject, root_principal, requested_through }: RequestingSide,
  name: string,
): boolean {
  return name === subject || (name !== root_principal && requested_through.includes(name));
}
