/**
 * Passkeys of people, which of them confirmed a vote, and which requests need one.
 *
 * @module
 */

export const PASSKEYS = `
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

ALTER TABLE approvals ADD COLUMN credential_id text;
ALTER TABLE approval_requests ADD COLUMN require text;
`;
