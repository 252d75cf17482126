/**
 * Tables of authority: tokens, what they may spend and owe, and what is frozen.
 *
 * @module
 */

export const AUTHORITY = `
  CREATE TABLE tokens (
    token_id             TEXT NOT NULL PRIMARY KEY,
    parent_token_id      TEXT REFERENCES tokens,
    lineage              TEXT NOT NULL CHECK (json_array_length(lineage) = depth + 1),
    subject              TEXT NOT NULL,
    root_principal       TEXT NOT NULL,
    chain                TEXT,
    scope                TEXT NOT NULL CHECK (json_type(scope) = 'array'),
    capability           TEXT,
    purpose              TEXT NOT NULL CHECK (json_type(purpose) = 'object'),
    caller_class         TEXT NOT NULL,
    concurrent_branches  TEXT NOT NULL CHECK (concurrent_branches IN ('allowed', 'exclusive')),
    depth                INTEGER NOT NULL CHECK (depth >= 0),
    max_delegation_depth INTEGER NOT NULL,
    session_id           TEXT,
    issued_at            INTEGER NOT NULL,
    expires_at           INTEGER NOT NULL,
    kid                  TEXT NOT NULL,
    claims_digest        TEXT NOT NULL,
    children             INTEGER NOT NULL DEFAULT 0 CHECK (children >= 0),
    revoked_at           INTEGER,
    mac                  TEXT,
    revoked_mac          TEXT,
    CHECK ((parent_token_id IS NULL) = (depth = 0))
  ) STRICT;
  CREATE INDEX tokens_by_parent ON tokens (parent_token_id, token_id)
    WHERE parent_token_id IS NOT NULL;
  CREATE INDEX tokens_by_root ON tokens (root_principal, issued_at, token_id)
    WHERE parent_token_id IS NULL;
  CREATE TRIGGER tokens_have_chains BEFORE INSERT ON tokens WHEN NEW.chain IS NULL
  BEGIN SELECT raise(ABORT, 'a token has a chain'); END;

  CREATE TABLE budgets (
    token_id TEXT NOT NULL PRIMARY KEY REFERENCES tokens,
    currency TEXT NOT NULL,
    max      INTEGER NOT NULL CHECK (max >= 0),
    reserved INTEGER NOT NULL DEFAULT 0 CHECK (reserved >= 0),
    consumed INTEGER NOT NULL DEFAULT 0 CHECK (consumed >= 0),
    CHECK (reserved <= max - consumed)
  ) STRICT, WITHOUT ROWID;

  -- Apart from budgets: a token without a budget can be overrun too, and no admission reads debts.
  CREATE TABLE debts (
    token_id TEXT NOT NULL REFERENCES tokens,
    currency TEXT NOT NULL,
    amount   INTEGER NOT NULL CHECK (amount > 0),
    PRIMARY KEY (token_id, currency)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE freezes (
    what      TEXT NOT NULL CHECK (what IN ('root_principal', 'capability', 'service')),
    target    TEXT NOT NULL CHECK ((what = 'service') = (target = '')),
    reason    TEXT NOT NULL,
    frozen_by TEXT NOT NULL,
    frozen_at INTEGER NOT NULL,
    until     INTEGER,
    mac       TEXT,
    PRIMARY KEY (what, target)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX freezes_by_age ON freezes (frozen_at, what, target);
`;
