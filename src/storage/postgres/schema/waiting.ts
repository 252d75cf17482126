/**
 * Indexes that find the grants with which an equal call can continue, and the newest request of a question.
 *
 * A grant without a use left is not in the index, so a call reads only its unused grants.
 *
 * @module
 */

export const WAITING_GRANTS = `
CREATE INDEX grants_waiting ON grants
  (chain, capability, contract_version, parameters_digest, expires_at, grant_id)
  WHERE uses < max_uses;
CREATE INDEX approval_requests_by_question ON approval_requests
  (chain, capability, contract_version, parameters_digest, (coalesce(session_id, '')), created_at);
`;
