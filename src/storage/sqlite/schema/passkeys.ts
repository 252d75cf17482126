/**
 * Passkeys of people, which of them confirmed a vote, and which requests need one.
 *
 * @module
 */

export const PASSKEYS = `
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

  ALTER TABLE approvals ADD COLUMN credential_id TEXT;
  ALTER TABLE approval_requests ADD COLUMN require TEXT;
`;
