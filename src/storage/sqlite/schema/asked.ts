/**
 * What a person needs to decide: approval requests get the token that asked, the cost of the call and the
 * requester's note.
 *
 * Older requests stay without them. The indexes find pending requests by expiry and the requests of one
 * requester for one capability, and have every column that these lists are filtered by.
 *
 * @module
 */

export const ASKED_BY = `
  ALTER TABLE approval_requests ADD COLUMN token_id TEXT;
  ALTER TABLE approval_requests ADD COLUMN cost TEXT CHECK (json_type(cost) = 'object');
  ALTER TABLE approval_requests ADD COLUMN note TEXT;
  DROP INDEX approval_requests_pending;
  CREATE INDEX approval_requests_pending ON approval_requests
    (expires_at, approval_request_id, capability) WHERE status = 'pending';
  CREATE INDEX approval_requests_by_asker ON approval_requests
    (chain, capability, created_at, approval_request_id, status, expires_at);
  CREATE INDEX approval_requests_approved ON approval_requests
    (chain, capability, created_at, approval_request_id) WHERE status = 'approved';
`;
