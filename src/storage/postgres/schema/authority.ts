/**
 * Tables of authority: tokens, what they may spend and owe, and what is frozen.
 *
 * @module
 */

export const AUTHORITY = `
CREATE TABLE tokens (
  token_id text PRIMARY KEY,
  parent_token_id text REFERENCES tokens,
  lineage text[] NOT NULL,
  subject text NOT NULL,
  root_principal text NOT NULL,
  chain text NOT NULL,
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
  mac text,
  revoked_mac text,
  CHECK (lineage[cardinality(lineage)] = token_id),
  CHECK (lineage[cardinality(lineage) - 1] IS NOT DISTINCT FROM parent_token_id)
);
CREATE INDEX tokens_by_parent ON tokens (parent_token_id, token_id)
  WHERE parent_token_id IS NOT NULL;
CREATE INDEX tokens_by_root ON tokens (root_principal, issued_at, token_id)
  WHERE parent_token_id IS NULL;

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

-- Apart from budgets: a token without a budget can be overrun too, and no admission reads debts.
CREATE TABLE debts (
  token_id text NOT NULL REFERENCES tokens,
  currency text NOT NULL,
  amount minor_units NOT NULL,
  PRIMARY KEY (token_id, currency)
);

CREATE TABLE freezes (
  what text NOT NULL CHECK (what IN ('root_principal', 'capability', 'service')),
  target text NOT NULL,
  reason text NOT NULL,
  frozen_by text NOT NULL,
  frozen_at timestamptz(3) NOT NULL,
  until timestamptz(3),
  mac text,
  PRIMARY KEY (what, target),
  CHECK ((what = 'service') = (target = ''))
);
CREATE INDEX freezes_by_age ON freezes (frozen_at, what, target);
`;
