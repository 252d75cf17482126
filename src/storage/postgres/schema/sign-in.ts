/**
 * Sign-in: sessions of people, their accounts, and their consents.
 *
 * Each question of the port is one range of an index. The ranges by person and by provider have only sessions
 * that did not end, so they stay short whatever a person did before. No index is partial: while the table is small,
 * PostgreSQL would read a whole partial index in place of a range, and keep that plan.
 *
 * @module
 */

export const SIGN_IN = `
CREATE TABLE sessions (
  session_id text PRIMARY KEY,
  secret_hash text NOT NULL UNIQUE,
  principal text NOT NULL,
  account_id text NOT NULL,
  issuer text,
  sub text,
  sid text,
  acr text,
  user_agent text NOT NULL,
  auth_time timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL,
  ended_at timestamptz,
  mac text
);
CREATE INDEX sessions_by_principal ON sessions (principal, ended_at, created_at, session_id);
CREATE INDEX sessions_by_sub ON sessions (sub, issuer, ended_at);
CREATE INDEX sessions_by_sid ON sessions (sid, issuer, ended_at);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

CREATE TABLE accounts (
  account_id text PRIMARY KEY,
  principal text NOT NULL,
  issuer text,
  sub text,
  upstream text,
  checked_at timestamptz NOT NULL,
  ended_at timestamptz,
  mac text
);

CREATE TABLE consents (
  consent_id text PRIMARY KEY,
  token_id text NOT NULL UNIQUE REFERENCES tokens,
  principal text NOT NULL,
  subject text NOT NULL,
  account_id text NOT NULL,
  client_id text NOT NULL,
  client_name text NOT NULL,
  redirect_uri text NOT NULL,
  user_agent text NOT NULL,
  challenge text NOT NULL,
  resource text,
  code_hash text NOT NULL UNIQUE,
  code_expires_at timestamptz NOT NULL,
  code_used_at timestamptz,
  generation integer NOT NULL CHECK (generation >= 0),
  rotated_at timestamptz,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  mac text
);
CREATE INDEX consents_by_principal ON consents (principal, created_at, consent_id);
`;
