/**
 * Accounts of people at other services, with their tokens in encrypted form.
 *
 * @module
 */

export const CONNECTED_ACCOUNTS = `
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
`;
