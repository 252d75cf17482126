/**
 * Approvers: who may decide an approval request, beyond holding the scope for it.
 *
 * Whoever the requesting token passed through stands on the requester's side and never approves;
 * of them only the root principal may, in person, unless the policy separates it too. A token carries
 * whatever name its issuer wrote, so an approver is judged by everyone its authority passed through.
 *
 * @module
 */

import { matchesPrincipal, parsePrincipal } from './principal.ts';

/** The private part of a policy that says who may approve. */
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

/** Who approves: the principal that answers for it, and everyone the authority passed through. */
export interface ApprovingSide {
  readonly root_principal: string;
  readonly through: readonly string[];
}

/** Why this approver may not decide this request, in words; nothing when it may. */
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
  // One person could hold tokens of several names, so a quorum counts only those who come in person.
  if (request.approvals_required > 1 && !inPerson) {
    return 'where several approvals are required, delegated tokens may not approve';
  }
  return undefined;
}

/**
 * Who approved and stands on the side of a caller that comes with the grant. Asked again at each use,
 * of the caller's own lineage, so that it does not rest on what was kept with the request alone.
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

/** An agent approves only where the policy names it. */
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
