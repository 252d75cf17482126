/**
 * Declarations: approval requests and grants get the digest of the declaration they were made for, and the
 * store keeps the declarations that the service last ran with.
 *
 * Older requests and grants stay without a digest and are bound by the contract version alone. The two
 * indexes count, at a start, what a changed declaration makes unusable.
 *
 * @module
 */

export const DECLARATIONS = `
  ALTER TABLE approval_requests ADD COLUMN declaration_digest TEXT;
  ALTER TABLE grants ADD COLUMN declaration_digest TEXT;
  CREATE INDEX approval_requests_open ON approval_requests (capability, expires_at)
    WHERE status = 'pending';
  CREATE INDEX grants_unused ON grants (capability, expires_at) WHERE uses < max_uses;

  CREATE TABLE declarations (
    capability       TEXT PRIMARY KEY,
    contract_version TEXT NOT NULL,
    digest           TEXT NOT NULL,
    declaration      TEXT NOT NULL,
    kept_at          INTEGER NOT NULL
  ) STRICT;
`;
