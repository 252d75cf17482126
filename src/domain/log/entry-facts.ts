/**
 * Facts that the entries of authority record about stored rows, so that fsck can compare the two.
 *
 * Each function is used twice: when the entry is made, and when fsck computes the facts of the stored row
 * again. A digest covers every field that never changes. The fields beside it are for people to read, and
 * let fsck name the one that differs. All facts are in `detail`, which retention erases together with
 * personal data.
 *
 * @module
 */

import type { GrantPolicy } from '../../protocol/failure.ts';
import type { JsonObject, Money } from '../../protocol/primitives.ts';
import { delegationClaims, type IssuedAuthority } from '../authority/claims.ts';
import { type GrantFacts, unsignedGrant } from '../authority/grant.ts';
import { digestOf } from '../wire/canonical.ts';

export type Facts = Readonly<Record<string, unknown>>;

/** `claimsDigest` is passed where it is computed already. */
export function issuanceFacts(
  service: string,
  token: IssuedAuthority & { readonly kid: string; readonly chain: string },
  claimsDigest: string = digestOf(delegationClaims(service, token)),
) {
  return {
    service,
    subject: token.subject,
    scope: [...token.scope],
    depth: token.depth,
    parent_token_id: token.parent_token_id ?? null,
    budget: token.budget ?? null,
    expires_at: token.expires_at.toISOString(),
    kid: token.kid,
    chain: token.chain,
    claims_digest: claimsDigest,
  };
}

/** The fields of an approval request that never change after it is made. */
export interface AskedFacts {
  readonly approval_request_id: string;
  readonly capability: string;
  readonly contract_version: string;
  readonly declaration_digest: string;
  readonly scope: readonly string[];
  readonly subject: string;
  readonly root_principal: string;
  readonly chain: string;
  readonly token_id: string;
  readonly session_id?: string | undefined;
  readonly invocation_id: string;
  readonly parameters: JsonObject;
  readonly parameters_digest: string;
  readonly preview?: JsonObject | undefined;
  readonly preview_digest?: string | undefined;
  readonly cost?: Money | undefined;
  readonly note?: string | undefined;
  readonly grant_policy: GrantPolicy;
  readonly approvals_required: number;
  readonly require?: 'passkey' | undefined;
  readonly created_at: Date;
  readonly expires_at: Date;
}

export function requestFacts(request: AskedFacts) {
  const expires_at = request.expires_at.toISOString();
  const { cost, note, require } = request;
  return {
    invocation_id: request.invocation_id,
    preview_digest: request.preview_digest ?? null,
    approvals_required: request.approvals_required,
    ...(require !== undefined && { require }),
    expires_at,
    request_digest: digestOf({
      approval_request_id: request.approval_request_id,
      capability: request.capability,
      contract_version: request.contract_version,
      declaration_digest: request.declaration_digest,
      token_id: request.token_id,
      ...(cost !== undefined && { cost }),
      ...(note !== undefined && { note }),
      ...(require !== undefined && { require }),
      scope: [...request.scope],
      subject: request.subject,
      root_principal: request.root_principal,
      chain: request.chain,
      session_id: request.session_id ?? null,
      invocation_id: request.invocation_id,
      parameters: request.parameters,
      parameters_digest: request.parameters_digest,
      preview: request.preview ?? null,
      preview_digest: request.preview_digest ?? null,
      grant_policy: request.grant_policy,
      approvals_required: request.approvals_required,
      created_at: request.created_at.toISOString(),
      expires_at,
    }),
  };
}

/** Also covers what the signature does not: the parameters, and the lineage of the approvers. */
export function grantFacts(grant: GrantFacts & { readonly signature: string }) {
  return {
    grant_type: grant.grant_type,
    max_uses: grant.max_uses,
    expires_at: grant.expires_at.toISOString(),
    grant_digest: digestOf({
      ...unsignedGrant(grant),
      parameters: grant.parameters,
      approved_through: [...grant.approved_through],
      signature: grant.signature,
    }),
  };
}
