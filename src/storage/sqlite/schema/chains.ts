/**
 * Chains: tokens, keys, approval requests and grants get a chain of principals; votes get the terms they
 * approve.
 *
 * An older store knew requesters by name. Its tokens and idempotency keys get the chain of their lineage. Its
 * pending requests expire, and its grants stay without a chain, so that no token can use them: one name may
 * have been several chains.
 *
 * @module
 */

import { chainOf } from '../../../domain/authority/chain.ts';
import type { Connection } from '../connection.ts';

/** Tokens in one read, so that the memory of a step does not depend on how many there are. */
const SLICE = 1_000;

export function giveChains(connection: Connection): void {
  connection.script(COLUMNS);
  for (let last = 0n; ; ) {
    const rows = connection.all<TokenRow>(TOKENS, last, SLICE);
    for (const { place, root_principal, subjects } of rows) {
      const chain = chainOf(root_principal, JSON.parse(subjects));
      connection.run('UPDATE tokens SET chain = ? WHERE rowid = ?', chain, place);
      last = place;
    }
    if (rows.length < SLICE) break;
  }
  connection.script(KEYS);
  connection.run(
    "UPDATE approval_requests SET expires_at = min(expires_at, ?) WHERE status = 'pending'",
    new Date(connection.platform.now()),
  );
}

interface TokenRow {
  readonly place: bigint;
  readonly root_principal: string;
  readonly subjects: string;
}

const TOKENS = `
  SELECT t.rowid AS place, t.root_principal, (
    SELECT json_group_array(a.subject ORDER BY l.key)
    FROM json_each(t.lineage) l JOIN tokens a ON a.token_id = l.value
  ) AS subjects
  FROM tokens t WHERE t.rowid > ? ORDER BY t.rowid LIMIT ?`;

/** SQLite adds a NOT NULL column only with a default, and all rows would share that default. */
const COLUMNS = `
  ALTER TABLE tokens ADD COLUMN chain TEXT;
  CREATE TRIGGER tokens_have_chains BEFORE INSERT ON tokens WHEN NEW.chain IS NULL
  BEGIN SELECT raise(ABORT, 'a token has a chain'); END;

  ALTER TABLE approval_requests ADD COLUMN chain TEXT;
  DROP INDEX approval_requests_asked;
  CREATE INDEX approval_requests_asked ON approval_requests
    (chain, capability, contract_version, parameters_digest) WHERE status = 'pending';

  ALTER TABLE approvals ADD COLUMN terms TEXT CHECK (json_type(terms) = 'object');

  ALTER TABLE grants ADD COLUMN chain TEXT;
`;

/** The chain contains the root principal and the subject, so two old keys never become one. */
const KEYS = `
  CREATE TABLE idempotency_by_chain (
    chain        TEXT NOT NULL,
    capability   TEXT NOT NULL,
    key          TEXT NOT NULL,
    fingerprint  TEXT NOT NULL,
    operation_id TEXT NOT NULL UNIQUE REFERENCES intents,
    answer       BLOB,
    keep_until   INTEGER NOT NULL,
    PRIMARY KEY (chain, capability, key)
  ) STRICT;
  INSERT INTO idempotency_by_chain
    SELECT t.chain, k.capability, k.key, k.fingerprint, k.operation_id, k.answer, k.keep_until
    FROM idempotency k JOIN intents i USING (operation_id) JOIN tokens t USING (token_id);
  DROP TABLE idempotency;
  ALTER TABLE idempotency_by_chain RENAME TO idempotency;
  CREATE INDEX idempotency_by_age ON idempotency (keep_until);
`;
