/**
 * Grants: what an approver may give, what is signed, and whether a grant fits a call.
 *
 * A grant is bound to everything the approver saw. Whether a use is left when calls race is decided in
 * the store; here the caller is told which part does not fit.
 *
 * @module
 */

import type { Grant, GrantRequest } from '../protocol/approval.ts';
import type { Failure, GrantPolicy, GrantType } from '../protocol/failure.ts';
import type { JsonObject } from '../protocol/primitives.ts';
import { ownApprover } from './approver.ts';
import { digestOf } from './canonical.ts';
import { failure } from './failure.ts';

/** A grant as it is kept. */
export interface GrantFacts {
  readonly grant_id: string;
  readonly approval_request_id: string;
  readonly capability: string;
  readonly contract_version: string;
  readonly scope: readonly string[];
  readonly subject: string;
  readonly root_principal: string;
  readonly parameters: JsonObject;
  readonly parameters_digest: string;
  readonly preview_digest?: string | undefined;
  readonly grant_type: GrantType;
  readonly session_id?: string | undefined;
  readonly approved_by: readonly string[];
  /** Everyone the authority to approve passed through; not part of what is signed. */
  readonly approved_through: readonly string[];
  readonly issued_at: Date;
  readonly expires_at: Date;
  readonly max_uses: number;
  readonly uses: number;
}

export type GrantTerms = Pick<GrantFacts, 'grant_type' | 'session_id' | 'expires_at' | 'max_uses'>;

/** What a grant of this request gives. Values above the policy are refused, never shortened. */
export function grantTerms(
  policy: GrantPolicy,
  asked: Pick<GrantRequest, 'grant_type'> & Partial<GrantRequest>,
  now: Date,
): { readonly terms: GrantTerms } | { readonly failure: Failure } {
  const { grant_type, session_id } = asked;
  const seconds = asked.expires_in_seconds ?? policy.expires_in_seconds;
  const max_uses = asked.max_uses ?? (grant_type === 'one_time' ? 1 : policy.max_uses);
  const expires_at = new Date(now.getTime() + Math.floor(seconds * 1_000));
  const why = [
    !policy.allowed_grant_types.includes(grant_type) && `type "${grant_type}" is not allowed`,
    seconds > policy.expires_in_seconds &&
      `${seconds} seconds are more than ${policy.expires_in_seconds}`,
    expires_at <= now && `${seconds} seconds are less than a millisecond`,
    max_uses > policy.max_uses && `${max_uses} uses are more than ${policy.max_uses}`,
    grant_type === 'one_time' && max_uses !== 1 && 'a one_time grant has one use',
    grant_type === 'one_time' && session_id !== undefined && 'a one_time grant has no session',
    grant_type === 'session_bound' &&
      session_id === undefined &&
      'a session_bound grant names its session',
  ].find((found) => found !== false);
  if (why) return { failure: failure('grant_policy_violation', `Cannot grant: ${why}`) };
  return { terms: { grant_type, session_id, expires_at, max_uses } };
}

/** What the signature covers: the grant as it travels, without the signature. */
export function unsignedGrant(grant: GrantFacts): Omit<Grant, 'signature'> {
  return {
    grant_id: grant.grant_id,
    approval_request_id: grant.approval_request_id,
    capability: grant.capability,
    contract_version: grant.contract_version,
    scope: [...grant.scope],
    requester: { subject: grant.subject, root_principal: grant.root_principal },
    parameters_digest: grant.parameters_digest,
    preview_digest: grant.preview_digest ?? null,
    grant_type: grant.grant_type,
    session_id: grant.session_id ?? null,
    approved_by: [...grant.approved_by],
    issued_at: grant.issued_at.toISOString(),
    expires_at: grant.expires_at.toISOString(),
    max_uses: grant.max_uses,
  };
}

/** The call that a grant is presented with, and what only the service can tell about the grant. */
export interface Continuation {
  readonly capability: string;
  readonly contract_version: string;
  readonly scope: readonly string[];
  readonly parametersDigest: string;
  readonly subject: string;
  readonly root_principal: string;
  readonly session_id?: string | undefined;
  /** Everyone the calling token passed through. */
  readonly through: readonly string[];
  readonly now: Date;
  readonly isSigned: boolean;
  /** An approver that may not approve this any more. */
  readonly formerApprover?: string | undefined;
}

/** Spec, the list of continuation failures: the first part of a grant that does not fit the call. */
export function unusableGrant(
  id: string,
  grant: GrantFacts | undefined,
  call: Continuation,
): Failure | undefined {
  const why = grant && grant.root_principal === call.root_principal ? misfit(grant, call) : UNKNOWN;
  if (why === undefined) return undefined;
  return failure('approval_grant_invalid', `Cannot use grant "${id}": ${why}`);
}

/** A grant of another root principal is answered like one that does not exist. */
const UNKNOWN = 'there is no such grant';

function misfit(grant: GrantFacts, call: Continuation): string | undefined {
  const own = ownApprover(grant, call.through);
  const checks: [fits: boolean, why: string][] = [
    [grant.subject === call.subject, 'it was given to another requester'],
    [grant.capability === call.capability, `it is for "${grant.capability}"`],
    [
      grant.contract_version === call.contract_version,
      `it was approved for contract version ${grant.contract_version}`,
    ],
    [isSameSet(grant.scope, call.scope), 'it was approved for another scope'],
    [call.isSigned && isWhole(grant), 'its signature does not verify'],
    [grant.expires_at > call.now, `it expired at ${grant.expires_at.toISOString()}`],
    [grant.uses < grant.max_uses, `all ${grant.max_uses} uses are taken`],
    [grant.parameters_digest === call.parametersDigest, 'it was approved for other parameters'],
    [
      grant.grant_type !== 'session_bound' || grant.session_id === call.session_id,
      'it is bound to another session',
    ],
    [
      call.formerApprover === undefined,
      `its approver ${call.formerApprover} may not approve it any more`,
    ],
    [own === undefined, `its approver ${own} stands on the side of the caller`],
  ];
  return checks.find(([fits]) => !fits)?.[1];
}

/** The signature covers the digest; the parameters that will run must be what the digest says. */
function isWhole({ parameters, parameters_digest }: GrantFacts): boolean {
  return digestOf(parameters) === parameters_digest;
}

function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((each) => other.includes(each));
}
