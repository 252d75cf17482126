/**
 * Tables of people and operators: sessions, accounts, consents, passkeys, connected accounts, identities, and the
 * declarations of the last start.
 *
 * Each question of the port is one range of an index. The ranges by person and by provider have only sessions
 * that did not end, so they stay short whatever a person did before. No index of sessions and consents is partial: while the
 * table is small, PostgreSQL would read a whole partial index in place of a range, and keep that plan.
 *
 * @module
 */

export const PEOPLE = `
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
CREATE INDEX sessions_by_expiry ON sessions (expires_at, session_id);

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

CREATE TABLE passkeys (
  credential_id text PRIMARY KEY,
  principal text NOT NULL,
  label text NOT NULL,
  public_key jsonb NOT NULL,
  rp_id text NOT NULL,
  created_at timestamptz NOT NULL,
  usable_from timestamptz NOT NULL,
  last_used_at timestamptz,
  removed_at timestamptz,
  mac text
);
CREATE INDEX passkeys_by_principal ON passkeys (principal, created_at, credential_id);

CREATE TABLE connected_accounts (
  principal text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL,
  connection_id text NOT NULL,
  version bigint NOT NULL,
  sealed text NOT NULL,
  scopes text[] NOT NULL,
  connected_at timestamptz NOT NULL,
  expires_at timestamptz,
  renewing_until timestamptz,
  mac text,
  PRIMARY KEY (principal, account)
);

CREATE TABLE identities (
  identity_id text COLLATE "C" PRIMARY KEY,
  key_sha256 text NOT NULL,
  principal text NOT NULL,
  scopes text[] NOT NULL,
  subjects text[] NOT NULL,
  caller_class text NOT NULL,
  caller_classes text[] NOT NULL,
  created_at timestamptz NOT NULL,
  created_by text NOT NULL,
  removed_at timestamptz,
  removed_by text,
  mac text
);
CREATE UNIQUE INDEX identities_by_key ON identities (key_sha256);
CREATE INDEX identities_by_principal ON identities (principal, identity_id) WHERE removed_at IS NULL;

CREATE TABLE declarations (
  capability text PRIMARY KEY,
  contract_version text NOT NULL,
  digest text NOT NULL,
  declaration text NOT NULL,
  kept_at timestamptz NOT NULL
);
`;
