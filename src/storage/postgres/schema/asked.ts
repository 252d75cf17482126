/**
 * What a person needs to decide: approval requests get the token that asked, the cost of the call and the
 * requester's note.
 *
 * Older requests stay without them. The indexes find pending requests by expiry and the requests of one
 * requester for one capability. The index by requester has one expression for both, so that the planner does
 * not take it for the index by question, which has more columns.
 *
 * @module
 */

export const ASKED_BY = `
ALTER TABLE approval_requests ADD COLUMN token_id text;
ALTER TABLE approval_requests ADD COLUMN cost jsonb;
ALTER TABLE approval_requests ADD COLUMN note text;
DROP INDEX approval_requests_due;
CREATE INDEX approval_requests_due ON approval_requests
  (expires_at, approval_request_id) INCLUDE (capability) WHERE status = 'pending';
-- Made again after the other: of two plans with equal costs the planner takes that of the newer index.
DROP INDEX approval_requests_open;
CREATE INDEX approval_requests_open ON approval_requests (capability, expires_at)
  WHERE status = 'pending';
CREATE INDEX approval_requests_by_asker ON approval_requests
  ((chain || ' ' || capability), created_at, approval_request_id);
CREATE INDEX approval_requests_approved ON approval_requests
  (chain, capability, created_at, approval_request_id) WHERE status = 'approved';
`;
