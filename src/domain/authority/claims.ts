/**
 * Claims: builds the signed claims of a token from its stored row.
 *
 * Issuance signs these claims. Verification builds them again from the stored row and compares them with
 * the signed text, so neither a forged text nor an altered row carries authority.
 *
 * @module
 */

import type { DelegationClaims } from '../../protocol/token.ts';
import type { Authority } from './narrowing.ts';
import { conditionClaims } from './token-conditions.ts';

/** An authority with the id, the parent and the issue time of its token. */
export interface IssuedAuthority extends Authority {
  readonly token_id: string;
  readonly parent_token_id?: string | undefined;
  readonly issued_at: Date;
}

/** The claims of one token of `service`, without the fields that the token does not have. */
export function delegationClaims(service: string, token: IssuedAuthority): DelegationClaims {
  const { capability, purpose, budget, conditions, parent_token_id, session_id } = token;
  return {
    iss: service,
    aud: service,
    sub: token.subject,
    jti: token.token_id,
    iat: Math.floor(token.issued_at.getTime() / 1_000),
    exp: token.expires_at.getTime() / 1_000,
    expires: token.expires_at.toISOString(),
    scope: [...token.scope],
    ...(capability !== undefined && { capability }),
    ...(Object.keys(purpose).length > 0 && { purpose }),
    constraints: {
      ...(budget && { budget }),
      max_delegation_depth: token.max_delegation_depth,
      ...(conditions && { conditions: conditionClaims(conditions) }),
    },
    concurrent_branches: token.concurrent_branches,
    caller_class: token.caller_class,
    ...(parent_token_id !== undefined && { parent_token_id }),
    root_principal: token.root_principal,
    ...(session_id !== undefined && { session_id }),
  };
}
