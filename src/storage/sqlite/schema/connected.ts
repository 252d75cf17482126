/**
 * Accounts of people at other services, with their tokens in encrypted form.
 *
 * @module
 */

export const CONNECTED_ACCOUNTS = `
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
`;
