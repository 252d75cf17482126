/**
 * Claims: what the signed text of a token says, word for word, given what is stored about it.
 *
 * Used when a token is made and whenever it is presented: the stored row, spelt again, must be what
 * was signed. So neither a forged text nor an altered row carries authority.
 *
 * @module
 */

import type { DelegationClaims } from '../../protocol/token.ts';
import type { Authority } from './narrowing.ts';

/** An authority that was given to somebody: the token's name, place and time of issue. */
export interface IssuedAuthority extends Authority {
  readonly token_id: string;
  readonly parent_token_id?: string | undefined;
  readonly issued_at: Date;
}

/** The claims of one token of `service`. What the token does not have is left out. */
export function claimsOf(service: string, token: IssuedAuthority): DelegationClaims {
  const { capability, purpose, budget, parent_token_id, session_id } = token;
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
    constraints: { ...(budget && { budget }), max_delegation_depth: token.max_delegation_depth },
    concurrent_branches: token.concurrent_branches,
    caller_class: token.caller_class,
    ...(parent_token_id !== undefined && { parent_token_id }),
    root_principal: token.root_principal,
    ...(session_id !== undefined && { session_id }),
  };
}
