/**
 * Indexes that later versions added to tables of earlier ones.
 *
 * @module
 */

/** Freezes by age, so that the cost of a page does not depend on their number. */
export const FREEZES_BY_AGE = `
CREATE INDEX freezes_by_age ON freezes (frozen_at, what, target);
`;

/**
 * Find the grants with which an equal call can continue, and the newest request of a question. A grant without a
 * use left is not in the index, so a call reads only its unused grants.
 */
export const WAITING_GRANTS = `
CREATE INDEX grants_waiting ON grants
  (chain, capability, contract_version, parameters_digest, expires_at, grant_id)
  WHERE uses < max_uses;
CREATE INDEX approval_requests_by_question ON approval_requests
  (chain, capability, contract_version, parameters_digest, (coalesce(session_id, '')), created_at);
`;

/**
 * For the console: the root tokens of a principal by age, and the sessions of all people by expiry. A page of either
 * list is one range of an index. The index of sessions replaces one without their ids.
 */
export const AGENTS = `
CREATE INDEX tokens_by_root ON tokens (root_principal, issued_at, token_id)
  WHERE parent_token_id IS NULL;
DROP INDEX sessions_by_expiry;
CREATE INDEX sessions_by_expiry ON sessions (expires_at, session_id);
`;
