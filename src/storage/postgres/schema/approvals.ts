/**
 * Tables of approvals: requests, votes, grants, and notices that are to be sent.
 *
 * The indexes find pending requests by expiry, the requests of one requester for one capability, the newest request
 * of a question, and the grants with which an equal call can continue. Each has every column that its list is filtered
 * by. A grant without a use left is in no index.
 *
 * The order of the indexes counts: of two plans with equal costs the planner takes that of the newer index, so
 * `approval_requests_open` follows `approval_requests_due`. The index by requester has one expression for two columns, so
 * that the planner does not take it for the index by question, which has more columns.
 *
 * @module
 */

/**
 * `requested_through` and `approved_through` are the principals in the lineage of the requesting token and of each
 * approver's token: none of the first may approve, none of the second may use the grant. `delegate` and `kept_bytes` say
 * under which name an open request is counted and what it keeps.
 */
export const APPROVALS = `
CREATE TABLE approval_requests (
  approval_request_id text PRIMARY KEY,
  capability text NOT NULL,
  contract_version text NOT NULL,
  declaration_digest text,
  scope text[] NOT NULL,
  token_id text,
  subject text NOT NULL,
  root_principal text NOT NULL,
  chain text,
  requested_through text[] NOT NULL DEFAULT '{}',
  delegate text,
  session_id text,
  invocation_id text NOT NULL,
  parameters jsonb NOT NULL,
  parameters_digest text NOT NULL,
  preview jsonb,
  preview_digest text,
  cost jsonb,
  note text,
  kept_bytes integer CHECK (kept_bytes >= 0),
  grant_policy jsonb NOT NULL,
  approvals_required integer NOT NULL CHECK (approvals_required > 0),
  require text,
  status text NOT NULL CHECK (status IN ('pending', 'approved', 'denied', 'expired')),
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  decided_at timestamptz(3),
  decided_by text,
  reason text,
  grant_id text,
  -- Whether an equal question gets this request back. A pending one past its expiry gives this up
  -- to the next that asks, before its own status changes.
  is_asked boolean NOT NULL DEFAULT true,
  mac text,
  CHECK ((status = 'approved') = (grant_id IS NOT NULL)),
  CHECK (status = 'pending' OR NOT is_asked)
);
CREATE INDEX approval_requests_newest ON approval_requests (created_at, approval_request_id);
CREATE INDEX approval_requests_by_question ON approval_requests
  (chain, capability, contract_version, parameters_digest, (coalesce(session_id, '')), created_at);
CREATE UNIQUE INDEX approval_requests_asked ON approval_requests
  (chain, capability, contract_version, parameters_digest, (coalesce(session_id, '')),
    (coalesce(declaration_digest, '')))
  WHERE is_asked;
CREATE INDEX approval_requests_due ON approval_requests
  (expires_at, approval_request_id) INCLUDE (capability) WHERE status = 'pending';
CREATE INDEX approval_requests_open ON approval_requests (capability, expires_at)
  WHERE status = 'pending';
CREATE INDEX approval_requests_by_asker ON approval_requests
  ((chain || ' ' || capability), created_at, approval_request_id);
CREATE INDEX approval_requests_approved ON approval_requests
  (chain, capability, created_at, approval_request_id) WHERE status = 'approved';
CREATE INDEX approval_requests_waiting ON approval_requests
  (root_principal, expires_at) INCLUDE (delegate, kept_bytes) WHERE status = 'pending';

CREATE TABLE approvals (
  approval_request_id text NOT NULL REFERENCES approval_requests,
  place integer NOT NULL CHECK (place >= 0),
  approver text NOT NULL,
  approved_at timestamptz(3) NOT NULL,
  terms jsonb,
  credential_id text,
  mac text,
  PRIMARY KEY (approval_request_id, place),
  UNIQUE (approval_request_id, approver)
);

CREATE TABLE grants (
  grant_id text PRIMARY KEY,
  approval_request_id text NOT NULL UNIQUE REFERENCES approval_requests,
  capability text NOT NULL,
  contract_version text NOT NULL,
  declaration_digest text,
  scope text[] NOT NULL,
  subject text NOT NULL,
  root_principal text NOT NULL,
  chain text,
  parameters jsonb NOT NULL,
  parameters_digest text NOT NULL,
  preview_digest text,
  grant_type text NOT NULL CHECK (grant_type IN ('one_time', 'session_bound')),
  session_id text,
  approved_by text[] NOT NULL,
  approved_through text[] NOT NULL DEFAULT '{}',
  issued_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  max_uses integer NOT NULL CHECK (max_uses > 0),
  uses integer NOT NULL CHECK (uses >= 0 AND uses <= max_uses),
  signature text NOT NULL,
  mac text
) WITH (fillfactor = 70);
CREATE INDEX grants_waiting ON grants
  (chain, capability, contract_version, parameters_digest, expires_at, grant_id)
  WHERE uses < max_uses;
CREATE INDEX grants_unused ON grants (capability, expires_at) WHERE uses < max_uses;

CREATE TABLE deliveries (
  delivery_id text PRIMARY KEY,
  place bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  event text NOT NULL CHECK (event IN ('requested', 'granted', 'denied', 'expired')),
  approval_request_id text NOT NULL REFERENCES approval_requests,
  target text NOT NULL,
  payload jsonb NOT NULL,
  state text NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
  attempts integer NOT NULL CHECK (attempts >= 0),
  last_error text,
  next_attempt_at timestamptz(3),
  delivered_at timestamptz(3),
  leased_until timestamptz(3)
);
CREATE INDEX deliveries_due ON deliveries (next_attempt_at) WHERE state = 'pending';
`;
