/**
 * The tables of authority and of calls, as the first migration makes them.
 *
 * Rules that can be constraints are constraints: the database checks our statements a second time. On the
 * tables that every call writes to, a condition on one column belongs to its type: the server reads a table's
 * own checks anew for each statement, which cost more than the statement in a measurement. Times are
 * milliseconds, as in every record; amounts are minor units.
 *
 * @module
 */

export const TYPES = `
CREATE DOMAIN minor_units AS bigint CHECK (VALUE >= 0);
CREATE DOMAIN hash_bytes AS bytea CHECK (length(VALUE) = 32);
CREATE DOMAIN intent_state AS text CHECK (VALUE IN ('admitted', 'aborted', 'settled'));
CREATE DOMAIN intent_outcome AS text
  CHECK (VALUE IN ('completed', 'failed', 'no_effect', 'indeterminate'));
`;

export const AUTHORITY_TABLES = `
CREATE TABLE tokens (
  token_id text PRIMARY KEY,
  parent_token_id text REFERENCES tokens,
  lineage text[] NOT NULL,
  subject text NOT NULL,
  root_principal text NOT NULL,
  scope text[] NOT NULL,
  capability text,
  purpose jsonb NOT NULL,
  caller_class text NOT NULL,
  concurrent_branches text NOT NULL CHECK (concurrent_branches IN ('allowed', 'exclusive')),
  depth integer NOT NULL CHECK (depth >= 0),
  max_delegation_depth integer NOT NULL,
  session_id text,
  issued_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  revoked_at timestamptz(3),
  kid text NOT NULL,
  claims_digest text NOT NULL,
  CHECK (lineage[cardinality(lineage)] = token_id),
  CHECK (lineage[cardinality(lineage) - 1] IS NOT DISTINCT FROM parent_token_id)
);
CREATE INDEX tokens_by_parent ON tokens (parent_token_id, token_id)
  WHERE parent_token_id IS NOT NULL;

-- Apart from the token's own row: admissions hold that one, and delegation must not wait for them.
CREATE TABLE families (
  token_id text PRIMARY KEY REFERENCES tokens,
  children integer NOT NULL CHECK (children > 0)
);

-- The room keeps the new version of a hot row on its page, so that no index has to change.
CREATE TABLE budgets (
  token_id text PRIMARY KEY REFERENCES tokens,
  currency text NOT NULL,
  max minor_units NOT NULL,
  reserved minor_units NOT NULL DEFAULT 0,
  consumed minor_units NOT NULL DEFAULT 0,
  CHECK (reserved + consumed <= max)
) WITH (fillfactor = 50);

CREATE TABLE freezes (
  what text NOT NULL CHECK (what IN ('root_principal', 'capability', 'service')),
  target text NOT NULL,
  reason text NOT NULL,
  frozen_by text NOT NULL,
  frozen_at timestamptz(3) NOT NULL,
  until timestamptz(3),
  PRIMARY KEY (what, target),
  CHECK ((what = 'service') = (target = ''))
);

CREATE TABLE approval_requests (
  approval_request_id text PRIMARY KEY,
  capability text NOT NULL,
  contract_version text NOT NULL,
  scope text[] NOT NULL,
  subject text NOT NULL,
  root_principal text NOT NULL,
  session_id text,
  invocation_id text NOT NULL,
  parameters jsonb NOT NULL,
  parameters_digest text NOT NULL,
  preview jsonb,
  preview_digest text,
  grant_policy jsonb NOT NULL,
  approvals_required integer NOT NULL CHECK (approvals_required > 0),
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
  CHECK ((status = 'approved') = (grant_id IS NOT NULL)),
  CHECK (status = 'pending' OR NOT is_asked)
);
CREATE UNIQUE INDEX approval_requests_asked ON approval_requests
  (subject, root_principal, capability, contract_version, parameters_digest,
   (coalesce(session_id, ''))) WHERE is_asked;
CREATE INDEX approval_requests_newest ON approval_requests (created_at, approval_request_id);
CREATE INDEX approval_requests_due ON approval_requests (expires_at) WHERE status = 'pending';

CREATE TABLE approvals (
  approval_request_id text NOT NULL REFERENCES approval_requests,
  place integer NOT NULL CHECK (place >= 0),
  approver text NOT NULL,
  approved_at timestamptz(3) NOT NULL,
  PRIMARY KEY (approval_request_id, place),
  UNIQUE (approval_request_id, approver)
);

CREATE TABLE grants (
  grant_id text PRIMARY KEY,
  approval_request_id text NOT NULL UNIQUE REFERENCES approval_requests,
  capability text NOT NULL,
  contract_version text NOT NULL,
  scope text[] NOT NULL,
  subject text NOT NULL,
  root_principal text NOT NULL,
  parameters jsonb NOT NULL,
  parameters_digest text NOT NULL,
  preview_digest text,
  grant_type text NOT NULL CHECK (grant_type IN ('one_time', 'session_bound')),
  session_id text,
  approved_by text[] NOT NULL,
  issued_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  max_uses integer NOT NULL CHECK (max_uses > 0),
  uses integer NOT NULL CHECK (uses >= 0 AND uses <= max_uses),
  signature text NOT NULL
) WITH (fillfactor = 70);

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

export const CALL_TABLES = `
-- 'aborted' is a tombstone: it says that an admission whose answer was lost did not happen, and
-- makes sure that it will not. It knows nothing of the call but its id.
CREATE TABLE intents (
  operation_id text PRIMARY KEY,
  state intent_state NOT NULL,
  invocation_id text,
  token_id text REFERENCES tokens,
  subject text,
  root_principal text,
  capability text,
  currency text,
  amount minor_units,
  reserved minor_units NOT NULL DEFAULT 0,
  consumed minor_units NOT NULL DEFAULT 0,
  -- Root first: where the reservation was made, and which leases were taken.
  charged text[] NOT NULL DEFAULT '{}',
  leased text[] NOT NULL DEFAULT '{}',
  is_keyed boolean NOT NULL DEFAULT false,
  facts jsonb,
  instance_id text,
  admitted_at timestamptz(3),
  result jsonb,
  outcome intent_outcome,
  entry_id text,
  settled_at timestamptz(3),
  reconciled_at timestamptz(3),
  composing json,
  CHECK (consumed <= reserved AND (state = 'settled') = (outcome IS NOT NULL)
    AND (state = 'aborted') = (token_id IS NULL)
    AND (composing IS NULL OR state = 'admitted' OR outcome = 'indeterminate'))
) WITH (fillfactor = 80);
CREATE INDEX intents_open ON intents (admitted_at, operation_id) WHERE state = 'admitted';
CREATE INDEX intents_unknown ON intents (admitted_at, operation_id)
  WHERE outcome = 'indeterminate' AND reconciled_at IS NULL;
CREATE INDEX intents_unknown_by_invocation ON intents (invocation_id)
  WHERE outcome = 'indeterminate' AND reconciled_at IS NULL;
CREATE INDEX intents_by_entry ON intents (entry_id) WHERE entry_id IS NOT NULL;

CREATE INDEX intents_composing ON intents (admitted_at, operation_id) WHERE composing IS NOT NULL;

-- The trail of a composed call, for as long as somebody may have to go on from it. What a step was
-- given and returned is kept as it was written: it may hold what the other kind of JSON refuses.
CREATE TABLE steps (
  operation_id text NOT NULL REFERENCES intents,
  role text NOT NULL CHECK (role IN ('step', 'compensation')),
  step_id text NOT NULL,
  place bigint GENERATED ALWAYS AS IDENTITY,
  invocation_id text NOT NULL,
  capability text NOT NULL,
  parameters json NOT NULL,
  outcome intent_outcome,
  output json,
  failure_type text,
  drawn minor_units,
  entry_id text,
  PRIMARY KEY (operation_id, role, step_id)
);

CREATE TABLE rollbacks (
  capability text NOT NULL,
  root_principal text NOT NULL,
  digest text NOT NULL,
  until timestamptz(3) NOT NULL,
  PRIMARY KEY (capability, root_principal, digest)
);

CREATE TABLE idempotency (
  root_principal text NOT NULL,
  subject text NOT NULL,
  capability text NOT NULL,
  key text NOT NULL,
  fingerprint text NOT NULL,
  -- The key is claimed before the intent is written, in the same transaction.
  operation_id text NOT NULL UNIQUE REFERENCES intents DEFERRABLE INITIALLY DEFERRED,
  answer bytea,
  keep_until timestamptz(3) NOT NULL,
  PRIMARY KEY (root_principal, subject, capability, key)
);
CREATE INDEX idempotency_by_age ON idempotency (keep_until);

-- A lease that was let go keeps its row, so that the fence never goes back.
CREATE TABLE leases (
  token_id text PRIMARY KEY REFERENCES tokens,
  operation_id text,
  fence bigint NOT NULL,
  until timestamptz(3) NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE bindings (
  binding_id text PRIMARY KEY,
  type text NOT NULL,
  capability text NOT NULL,
  root_principal text NOT NULL,
  currency text,
  amount minor_units,
  data jsonb NOT NULL,
  issued_at timestamptz(3) NOT NULL,
  CHECK ((currency IS NULL) = (amount IS NULL))
);

CREATE TABLE permits (
  key text PRIMARY KEY,
  window_start timestamptz(3) NOT NULL,
  taken bigint NOT NULL CHECK (taken >= 0),
  granted bigint NOT NULL CHECK (granted >= 0)
) WITH (fillfactor = 50);

CREATE TABLE instances (
  instance_id text PRIMARY KEY,
  seen_at timestamptz(3) NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE leads (
  job text PRIMARY KEY,
  holder text NOT NULL,
  until timestamptz(3) NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE probes (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  at timestamptz(3) NOT NULL
) WITH (fillfactor = 50);
`;

/** Every principal in the lineage of the requesting token: none of them may approve. */
export const REQUESTED_THROUGH = `
ALTER TABLE approval_requests ADD COLUMN requested_through text[] NOT NULL DEFAULT '{}';
`;

/** Every principal in the lineage of each approver's token: none of them may use the grant. */
export const APPROVED_THROUGH = `
ALTER TABLE grants ADD COLUMN approved_through text[] NOT NULL DEFAULT '{}';
`;
