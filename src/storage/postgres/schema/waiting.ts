/**
 * Waiting grants: what finds the grant that an equal call can continue with, and the newest request of
 * a question.
 *
 * A grant without a use left leaves the index, so what a call looks through is bounded by what
 * approvers have granted it and it has not used.
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
