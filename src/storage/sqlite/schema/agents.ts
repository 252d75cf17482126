/**
 * Indexes for the console: the root tokens of a principal by age, and the sessions of all people by expiry.
 *
 * A page of either list is one range of an index. The index of sessions replaces one without their ids.
 *
 * @module
 */

export const AGENTS = `
  CREATE INDEX tokens_by_root ON tokens (root_principal, issued_at, token_id)
    WHERE parent_token_id IS NULL;
  DROP INDEX sessions_by_expiry;
  CREATE INDEX sessions_by_expiry ON sessions (expires_at, session_id);
`;
