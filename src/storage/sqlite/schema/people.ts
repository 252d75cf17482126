/**
 * Tables of people and operators: sessions, accounts, consents, passkeys, connected accounts, identities, and the
 * declarations of the last start.
 *
 * Each question of the port is one range of an index. The ranges by person and by provider have only sessions
 * that did not end, so they stay short whatever a person did before.
 *
 * @module
 */

export const PEOPLE = `
  CREATE TABLE sessions (
    session_id  TEXT PRIMARY KEY,
    secret_hash TEXT NOT NULL UNIQUE,
    principal   TEXT NOT NULL,
    account_id  TEXT NOT NULL,
    issuer      TEXT,
    sub         TEXT,
    sid         TEXT,
    acr         TEXT,
    user_agent  TEXT NOT NULL,
    auth_time   INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    seen_at     INTEGER NOT NULL,
    ended_at    INTEGER,
    mac         TEXT
  ) STRICT;
  CREATE INDEX sessions_by_principal ON sessions (principal, ended_at, created_at, session_id);
  CREATE INDEX sessions_by_sub ON sessions (sub, issuer, ended_at);
  CREATE INDEX sessions_by_sid ON sessions (sid, issuer, ended_at);
  CREATE INDEX sessions_by_expiry ON sessions (expires_at, session_id);

  CREATE TABLE accounts (
    account_id TEXT PRIMARY KEY,
    principal  TEXT NOT NULL,
    issuer     TEXT,
    sub        TEXT,
    upstream   TEXT,
    checked_at INTEGER NOT NULL,
    ended_at   INTEGER,
    mac        TEXT
  ) STRICT;

  CREATE TABLE consents (
    consent_id      TEXT PRIMARY KEY,
    token_id        TEXT NOT NULL UNIQUE REFERENCES tokens,
    principal       TEXT NOT NULL,
    subject         TEXT NOT NULL,
    account_id      TEXT NOT NULL,
    client_id       TEXT NOT NULL,
    client_name     TEXT NOT NULL,
    redirect_uri    TEXT NOT NULL,
    user_agent      TEXT NOT NULL,
    challenge       TEXT NOT NULL,
    resource        TEXT,
    code_hash       TEXT NOT NULL UNIQUE,
    code_expires_at INTEGER NOT NULL,
    code_used_at    INTEGER,
    generation      INTEGER NOT NULL CHECK (generation >= 0),
    rotated_at      INTEGER,
    created_at      INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL,
    mac             TEXT
  ) STRICT;
  CREATE INDEX consents_by_principal ON consents (principal, created_at, consent_id);

  CREATE TABLE passkeys (
    credential_id TEXT PRIMARY KEY,
    principal     TEXT NOT NULL,
    label         TEXT NOT NULL,
    public_key    TEXT NOT NULL,
    rp_id         TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    usable_from   INTEGER NOT NULL,
    last_used_at  INTEGER,
    removed_at    INTEGER,
    mac           TEXT
  ) STRICT;
  CREATE INDEX passkeys_by_principal ON passkeys (principal, created_at, credential_id);

  CREATE TABLE connected_accounts (
    principal      TEXT NOT NULL,
    account        TEXT NOT NULL,
    connection_id  TEXT NOT NULL,
    version        INTEGER NOT NULL,
    sealed         TEXT NOT NULL,
    scopes         TEXT NOT NULL,
    connected_at   INTEGER NOT NULL,
    expires_at     INTEGER,
    renewing_until INTEGER,
    mac            TEXT,
    PRIMARY KEY (principal, account)
  ) STRICT;

  CREATE TABLE identities (
    identity_id    TEXT PRIMARY KEY,
    key_sha256     TEXT NOT NULL UNIQUE,
    principal      TEXT NOT NULL,
    scopes         TEXT NOT NULL,
    subjects       TEXT NOT NULL,
    caller_class   TEXT NOT NULL,
    caller_classes TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    created_by     TEXT NOT NULL,
    removed_at     INTEGER,
    removed_by     TEXT,
    mac            TEXT
  ) STRICT;
  CREATE INDEX identities_by_principal ON identities (principal, identity_id) WHERE removed_at IS NULL;

  CREATE TABLE declarations (
    capability       TEXT PRIMARY KEY,
    contract_version TEXT NOT NULL,
    digest           TEXT NOT NULL,
    declaration      TEXT NOT NULL,
    kept_at          INTEGER NOT NULL
  ) STRICT;
`;
