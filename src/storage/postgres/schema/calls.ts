/**
 * Tables of calls: intents and their steps, leases, keys, bindings, rate limits.
 *
 * @module
 */

export const CALLS = `
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
  chain text NOT NULL,
  capability text NOT NULL,
  key text NOT NULL,
  fingerprint text NOT NULL,
  -- The key is claimed before the intent is written, in the same transaction.
  operation_id text NOT NULL UNIQUE REFERENCES intents DEFERRABLE INITIALLY DEFERRED,
  answer bytea,
  keep_until timestamptz(3) NOT NULL,
  PRIMARY KEY (chain, capability, key)
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
  mac text,
  CHECK ((currency IS NULL) = (amount IS NULL))
);

CREATE TABLE permits (
  key text PRIMARY KEY,
  window_start timestamptz(3) NOT NULL,
  taken bigint NOT NULL CHECK (taken >= 0),
  granted bigint NOT NULL CHECK (granted >= 0)
) WITH (fillfactor = 50);
`;
