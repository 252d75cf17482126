/**
 * Identities that operators add while the service runs.
 *
 * @module
 */

export const IDENTITIES = `
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
`;
