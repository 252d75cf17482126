/**
 * Grants: which terms an approver may set, which fields are signed, and whether a grant fits a call.
 *
 * A grant is bound to everything the approver saw. This module names the part of a grant that does not fit.
 * The store decides whether a use is left when calls race.
 *
 * @module
 */

import type { Grant, GrantRequest, GrantTerms } from '../../protocol/approval.ts';
import type { Failure, GrantPolicy, GrantType } from '../../protocol/failure.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { failure } from '../failure.ts';
import { digestOf } from '../wire/canonical.ts';
import { ownApprover } from './approver.ts';

export type { GrantTerms };

/** A stored grant. */
export interface GrantFacts {
  readonly grant_id: string;
  readonly approval_request_id: string;
  readonly capability: string;
  readonly contract_version: string;
  /** The digest of the approved declaration. */
  readonly declaration_digest: string;
  readonly scope: readonly string[];
  readonly subject: string;
  readonly root_principal: string;
  /** The chain that the grant belongs to. */
  readonly chain: string;
  readonly parameters: JsonObject;
  readonly parameters_digest: string;
  readonly preview_digest?: string | undefined;
  readonly grant_type: GrantType;
  readonly session_id?: string | undefined;
  readonly approved_by: readonly string[];
  /** Every principal in the lineage of the approvers. The signature does not cover it. */
  readonly approved_through: readonly string[];
  readonly issued_at: Date;
  readonly expires_at: Date;
  readonly max_uses: number;
  readonly uses: number;
}

/**
 * The terms of a grant for this request. Values above the policy are refused, never shortened.
 *
 * `proposed` are the terms of the first approver, where there is one: every further approver agrees to
 * exactly those. A further approver may omit lifetime and uses, and then accepts the proposed ones. The
 * proposed values never exceed those of the policy, which are the defaults otherwise.
 */
export function grantTerms(
  policy: GrantPolicy,
  request: Pick<GrantRequest, 'grant_type'> & Partial<GrantRequest>,
  proposed?: GrantTerms,
): { readonly terms: GrantTerms } | { readonly failure: Failure } {
  const { grant_type, session_id = null } = request;
  const lifetime = policy.expires_in_seconds;
  const seconds = request.expires_in_seconds ?? proposed?.expires_in_seconds ?? lifetime;
  const uses = proposed?.max_uses ?? (grant_type === 'one_time' ? 1 : policy.max_uses);
  const max_uses = request.max_uses ?? uses;
  // Whole milliseconds: the times of the grant have that precision.
  const expires_in_seconds = Math.floor(seconds * 1_000) / 1_000;
  const terms = { grant_type, session_id, expires_in_seconds, max_uses };
  const why = [
    !policy.allowed_grant_types.includes(grant_type) && `type "${grant_type}" is not allowed`,
    seconds > lifetime && `${seconds} seconds are more than ${lifetime}`,
    expires_in_seconds <= 0 && `${seconds} seconds are less than a millisecond`,
    max_uses > policy.max_uses && `${max_uses} uses are more than ${policy.max_uses}`,
    grant_type === 'one_time' && max_uses !== 1 && 'a one_time grant has one use',
    grant_type === 'one_time' && session_id !== null && 'a one_time grant has no session',
    grant_type === 'session_bound' &&
      session_id === null &&
      'a session_bound grant names its session',
    proposed !== undefined &&
      digestOf(terms) !== digestOf(proposed) &&
      `the first approver proposed ${termsWords(proposed)}; the others approve these terms or none`,
  ].find((found) => found !== false);
  if (why) return { failure: failure('grant_policy_violation', `Cannot grant: ${why}`) };
  return { terms };
}

function termsWords({ grant_type, session_id, expires_in_seconds, max_uses }: GrantTerms): string {
  const session = session_id === null ? '' : `, session "${session_id}"`;
  const uses = max_uses === 1 ? '1 use' : `${max_uses} uses`;
  return `type "${grant_type}"${session}, ${expires_in_seconds} seconds, ${uses}`;
}

/** The terms of an issued grant. */
function termsOf(grant: GrantFacts): GrantTerms {
  const { grant_type, session_id = null, issued_at, expires_at, max_uses } = grant;
  const expires_in_seconds = (expires_at.getTime() - issued_at.getTime()) / 1_000;
  return { grant_type, session_id, expires_in_seconds, max_uses };
}

/** The fields that the signature covers: the grant as it travels, without the signature. */
export function unsignedGrant(grant: GrantFacts): Omit<Grant, 'signature'> {
  const { subject, root_principal, chain } = grant;
  return {
    grant_id: grant.grant_id,
    approval_request_id: grant.approval_request_id,
    capability: grant.capability,
    contract_version: grant.contract_version,
    declaration_digest: grant.declaration_digest,
    scope: [...grant.scope],
    requester: { subject, root_principal, chain },
    parameters_digest: grant.parameters_digest,
    preview_digest: grant.preview_digest ?? null,
    grant_type: grant.grant_type,
    session_id: grant.session_id ?? null,
    approved_by: [...grant.approved_by],
    issued_at: grant.issued_at.toISOString(),
    expires_at: grant.expires_at.toISOString(),
    max_uses: grant.max_uses,
    terms_digest: digestOf(termsOf(grant)),
  };
}

/** The call that presents a grant, and facts about the grant that only the service knows. */
export interface Continuation {
  readonly capability: string;
  readonly contract_version: string;
  readonly declarationDigest: string;
  readonly scope: readonly string[];
  readonly parametersDigest: string;
  readonly chain: string;
  readonly session_id?: string | undefined;
  /** Every principal in the lineage of the calling token. */
  readonly through: readonly string[];
  readonly now: Date;
  readonly isSigned: boolean;
  /** An approver who is no longer allowed to approve this. */
  readonly formerApprover?: string | undefined;
}

/** Spec, the list of continuation failures: the first part of a grant that does not fit the call. */
export function unusableGrant(
  id: string,
  grant: GrantFacts | undefined,
  call: Continuation,
): Failure | undefined {
  const why = grant?.chain === call.chain ? misfit(grant, call) : UNKNOWN;
  if (why === undefined) return undefined;
  return failure('approval_grant_invalid', `Cannot use grant "${id}": ${why}`);
}

/** A grant of another chain gets the same answer as one that does not exist. */
const UNKNOWN = 'there is no such grant';

function misfit(grant: GrantFacts, call: Continuation): string | undefined {
  const own = ownApprover(grant, call.through);
  const checks: [fits: boolean, why: string][] = [
    [grant.capability === call.capability, `it is for "${grant.capability}"`],
    [
      grant.contract_version === call.contract_version,
      `it was approved for contract version ${grant.contract_version}`,
    ],
    [
      grant.declaration_digest === call.declarationDigest,
      `the declaration of "${grant.capability}" has changed since it was approved`,
    ],
    [isSameSet(grant.scope, call.scope), 'it was approved for another scope'],
    [call.isSigned && isWhole(grant), 'its signature does not verify'],
    [grant.expires_at > call.now, `it expired at ${grant.expires_at.toISOString()}`],
    [grant.uses < grant.max_uses, `all ${grant.max_uses} uses are taken`],
    [grant.parameters_digest === call.parametersDigest, 'it was approved for other parameters'],
    [
      grant.grant_type !== 'session_bound' || grant.session_id === call.session_id,
      sessionMismatch(grant, call),
    ],
    [
      call.formerApprover === undefined,
      `its approver ${call.formerApprover} may not approve it any more`,
    ],
    [own === undefined, `its approver ${own} is a principal in the lineage of the token`],
  ];
  return checks.find(([fits]) => !fits)?.[1];
}

/** Why a session-bound grant does not fit: names the session of the grant and that of the caller. */
export function sessionMismatch(
  grant: Pick<GrantFacts, 'session_id'>,
  { session_id }: { readonly session_id?: string | undefined },
): string {
  const own = session_id === undefined ? 'has no session' : `is of session "${session_id}"`;
  return `it is bound to session "${grant.session_id}", and the token ${own}`;
}

/** The signature covers only the digest, so the stored parameters must match the digest. */
function isWhole({ parameters, parameters_digest }: GrantFacts): boolean {
  return digestOf(parameters) === parameters_digest;
}

function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((each) => other.includes(each));
}
