/**
 * Identities that operators add while the service runs.
 *
 * @module
 */

export const IDENTITIES = `
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
`;
