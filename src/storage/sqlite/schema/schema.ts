/**
 * The tables, as the first version made them. Never edited: a change is a further migration.
 *
 * Times are milliseconds since 1970, amounts are minor units, lists and objects that are never searched are
 * JSON text. Bytes that are hashed or sent again are stored unchanged. Rules that can be constraints are
 * constraints, so that a defect above is an error here and not a wrong row.
 *
 * @module
 */

import { APPROVALS } from './approvals.ts';

const AUTHORITY = `
  CREATE TABLE store (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    log_id TEXT NOT NULL
  ) STRICT;

  CREATE TABLE probes (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE tokens (
    token_id             TEXT NOT NULL PRIMARY KEY,
    parent_token_id      TEXT REFERENCES tokens,
    lineage              TEXT NOT NULL CHECK (json_array_length(lineage) = depth + 1),
    subject              TEXT NOT NULL,
    root_principal       TEXT NOT NULL,
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
    CHECK ((parent_token_id IS NULL) = (depth = 0))
  ) STRICT;
  CREATE INDEX tokens_by_parent ON tokens (parent_token_id, token_id)
    WHERE parent_token_id IS NOT NULL;

  CREATE TABLE budgets (
    token_id TEXT NOT NULL PRIMARY KEY REFERENCES tokens,
    currency TEXT NOT NULL,
    max      INTEGER NOT NULL CHECK (max >= 0),
    reserved INTEGER NOT NULL DEFAULT 0 CHECK (reserved >= 0),
    consumed INTEGER NOT NULL DEFAULT 0 CHECK (consumed >= 0),
    CHECK (reserved <= max - consumed)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE freezes (
    what      TEXT NOT NULL CHECK (what IN ('root_principal', 'capability', 'service')),
    target    TEXT NOT NULL CHECK ((what = 'service') = (target = '')),
    reason    TEXT NOT NULL,
    frozen_by TEXT NOT NULL,
    frozen_at INTEGER NOT NULL,
    until     INTEGER,
    PRIMARY KEY (what, target)
  ) STRICT, WITHOUT ROWID;
`;

/** `reserved` is what admission took on each budget of the lineage, `consumed` what settlement kept. */
const INVOCATIONS = `
  CREATE TABLE intents (
    operation_id    TEXT NOT NULL PRIMARY KEY,
    invocation_id   TEXT NOT NULL,
    token_id        TEXT NOT NULL REFERENCES tokens,
    subject         TEXT NOT NULL,
    root_principal  TEXT NOT NULL,
    capability      TEXT NOT NULL,
    charge_currency TEXT,
    charge_amount   INTEGER CHECK (charge_amount >= 0),
    facts           TEXT NOT NULL CHECK (json_type(facts) = 'object'),
    instance_id     TEXT NOT NULL,
    admitted_at     INTEGER NOT NULL,
    reserved        INTEGER CHECK (reserved = charge_amount),
    leases          INTEGER NOT NULL CHECK (leases >= 0),
    state           TEXT NOT NULL DEFAULT 'admitted' CHECK (state IN ('admitted', 'settled')),
    outcome         TEXT CHECK (outcome IN ('completed', 'failed', 'no_effect', 'indeterminate')),
    consumed        INTEGER CHECK (consumed BETWEEN 0 AND coalesce(reserved, 0)),
    entry_id        TEXT,
    settled_at      INTEGER,
    reconciled_at   INTEGER CHECK (reconciled_at IS NULL OR outcome = 'indeterminate'),
    composing       TEXT CHECK (json_type(composing) = 'object'),
    CHECK (composing IS NULL OR state = 'admitted' OR outcome = 'indeterminate'),
    CHECK ((charge_currency IS NULL) = (charge_amount IS NULL)),
    CHECK ((state = 'settled') = (outcome IS NOT NULL)),
    CHECK ((state = 'settled') = (entry_id IS NOT NULL)),
    CHECK ((state = 'settled') = (settled_at IS NOT NULL)),
    CHECK ((state = 'settled') = (consumed IS NOT NULL))
  ) STRICT;
  CREATE INDEX intents_open ON intents (admitted_at, operation_id) WHERE state = 'admitted';
  CREATE INDEX intents_unknown ON intents (admitted_at, operation_id)
    WHERE outcome = 'indeterminate' AND reconciled_at IS NULL;
  CREATE INDEX intents_unknown_by_invocation ON intents (invocation_id)
    WHERE outcome = 'indeterminate' AND reconciled_at IS NULL;
  CREATE INDEX intents_by_entry ON intents (entry_id) WHERE entry_id IS NOT NULL;

  CREATE INDEX intents_composing ON intents (admitted_at, operation_id)
    WHERE composing IS NOT NULL;

  CREATE TABLE steps (
    operation_id  TEXT NOT NULL REFERENCES intents,
    role          TEXT NOT NULL CHECK (role IN ('step', 'compensation')),
    step_id       TEXT NOT NULL,
    invocation_id TEXT NOT NULL,
    capability    TEXT NOT NULL,
    parameters    TEXT NOT NULL CHECK (json_type(parameters) = 'object'),
    outcome       TEXT CHECK (outcome IN ('completed', 'failed', 'no_effect', 'indeterminate')),
    output        TEXT CHECK (json_type(output) = 'object'),
    failure_type  TEXT,
    drawn         INTEGER CHECK (drawn >= 0),
    entry_id      TEXT,
    PRIMARY KEY (operation_id, role, step_id)
  ) STRICT;

  CREATE TABLE rollbacks (
    capability     TEXT NOT NULL,
    root_principal TEXT NOT NULL,
    digest         TEXT NOT NULL,
    until          INTEGER NOT NULL,
    PRIMARY KEY (capability, root_principal, digest)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE leases (
    token_id     TEXT NOT NULL PRIMARY KEY REFERENCES tokens,
    operation_id TEXT REFERENCES intents,
    fence        INTEGER NOT NULL CHECK (fence > 0),
    until        INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX leases_by_operation ON leases (operation_id) WHERE operation_id IS NOT NULL;

  CREATE TABLE idempotency (
    root_principal TEXT NOT NULL,
    subject        TEXT NOT NULL,
    capability     TEXT NOT NULL,
    key            TEXT NOT NULL,
    fingerprint    TEXT NOT NULL,
    operation_id   TEXT NOT NULL UNIQUE REFERENCES intents,
    answer         BLOB,
    keep_until     INTEGER NOT NULL,
    PRIMARY KEY (root_principal, subject, capability, key)
  ) STRICT;
  CREATE INDEX idempotency_by_age ON idempotency (keep_until);

  CREATE TABLE bindings (
    binding_id     TEXT NOT NULL PRIMARY KEY,
    type           TEXT NOT NULL,
    capability     TEXT NOT NULL,
    root_principal TEXT NOT NULL,
    price_currency TEXT,
    price_amount   INTEGER CHECK (price_amount >= 0),
    data           TEXT NOT NULL CHECK (json_type(data) = 'object'),
    issued_at      INTEGER NOT NULL,
    CHECK ((price_currency IS NULL) = (price_amount IS NULL))
  ) STRICT;

  CREATE TABLE permits (
    key          TEXT NOT NULL PRIMARY KEY,
    window_start INTEGER NOT NULL,
    taken        INTEGER NOT NULL CHECK (taken >= 0)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE instances (
    instance_id TEXT NOT NULL PRIMARY KEY,
    seen_at     INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE leads (
    job    TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    until  INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`;

/**
 * The rowid of the log is `sequence`, so every index of it ends in `sequence`. Operators query the whole log,
 * other callers one trail: a page of either comes from an index with all columns of the query, so that rows
 * without a match are not read. An invocation has one trail, so it needs one index. Most entries are in seven
 * indexes.
 *
 * The node of a leaf is not stored twice: `nodes` begins at level 1. `below` is the place up to which a
 * retention policy has erased. A mark states that no entry below `sequence` is later than `latest`, which
 * tells a query by time where to stop.
 */
const LOG = `
  CREATE TABLE log (
    sequence             INTEGER PRIMARY KEY CHECK (sequence >= 0),
    entry_id             TEXT NOT NULL UNIQUE,
    entry_type           TEXT NOT NULL,
    root_principal       TEXT NOT NULL,
    actor_key            TEXT NOT NULL,
    capability           TEXT,
    invocation_id        TEXT,
    client_reference_id  TEXT,
    task_id              TEXT,
    parent_invocation_id TEXT,
    event_class          TEXT NOT NULL,
    state                TEXT NOT NULL,
    timestamp            INTEGER NOT NULL,
    retain_until         INTEGER,
    leaf                 BLOB,
    personal             BLOB,
    leaf_hash            BLOB NOT NULL CHECK (length(leaf_hash) = 32)
  ) STRICT;
  CREATE INDEX log_by_type ON log (entry_type);
  CREATE INDEX log_by_invocation ON log (invocation_id, entry_type)
    WHERE invocation_id IS NOT NULL;
  CREATE INDEX log_by_capability ON log (capability, entry_type) WHERE capability IS NOT NULL;
  CREATE INDEX log_by_reference ON log (client_reference_id, entry_type)
    WHERE client_reference_id IS NOT NULL;
  CREATE INDEX log_by_task ON log (task_id, entry_type) WHERE task_id IS NOT NULL;
  CREATE INDEX log_by_parent ON log (parent_invocation_id, entry_type)
    WHERE parent_invocation_id IS NOT NULL;
  CREATE INDEX trail_by_type ON log (root_principal, entry_type);
  CREATE INDEX trail_by_capability ON log (root_principal, capability, entry_type)
    WHERE capability IS NOT NULL;
  CREATE INDEX trail_by_reference ON log (root_principal, client_reference_id, entry_type)
    WHERE client_reference_id IS NOT NULL;
  CREATE INDEX trail_by_task ON log (root_principal, task_id, entry_type)
    WHERE task_id IS NOT NULL;
  CREATE INDEX trail_by_parent ON log (root_principal, parent_invocation_id, entry_type)
    WHERE parent_invocation_id IS NOT NULL;
  CREATE INDEX log_by_leaf_hash ON log (leaf_hash);
  CREATE INDEX log_by_retention ON log (retain_until)
    WHERE retain_until IS NOT NULL AND leaf IS NOT NULL;

  CREATE TABLE erasures (
    policy TEXT NOT NULL PRIMARY KEY,
    below  INTEGER NOT NULL CHECK (below >= 0)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE nodes (
    level   INTEGER NOT NULL CHECK (level > 0),
    "index" INTEGER NOT NULL CHECK ("index" >= 0),
    hash    BLOB NOT NULL CHECK (length(hash) = 32),
    PRIMARY KEY (level, "index")
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE head (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    size  INTEGER NOT NULL CHECK (size >= 0),
    peaks BLOB NOT NULL CHECK (length(peaks) % 32 = 0)
  ) STRICT;
  INSERT INTO head (id, size, peaks) VALUES (1, 0, x'');

  CREATE TABLE marks (
    sequence INTEGER PRIMARY KEY,
    latest   INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX marks_by_latest ON marks (latest, sequence);

  CREATE TABLE checkpoints (
    sequence      INTEGER PRIMARY KEY CHECK (sequence > 0),
    checkpoint_id TEXT NOT NULL UNIQUE,
    size          INTEGER NOT NULL CHECK (size >= 0),
    root          BLOB NOT NULL CHECK (length(root) = 32),
    created_at    INTEGER NOT NULL,
    signature     TEXT NOT NULL,
    note          TEXT NOT NULL
  ) STRICT;

  CREATE TABLE cosignatures (
    checkpoint_id TEXT NOT NULL REFERENCES checkpoints (checkpoint_id),
    line          TEXT NOT NULL,
    PRIMARY KEY (checkpoint_id, line)
  ) STRICT, WITHOUT ROWID;
`;

/** Retention may erase the contents of an entry; nothing may change them or remove the entry. */
const APPEND_ONLY = `
  CREATE TRIGGER log_is_append_only BEFORE UPDATE ON log
  WHEN NOT (
    NEW.personal IS NULL
    AND (NEW.leaf IS NULL OR (NEW.leaf, NEW.capability, NEW.invocation_id, NEW.parent_invocation_id)
      IS (OLD.leaf, OLD.capability, OLD.invocation_id, OLD.parent_invocation_id))
    AND (NEW.sequence, NEW.entry_id, NEW.leaf_hash) IS (OLD.sequence, OLD.entry_id, OLD.leaf_hash)
    AND (NEW.entry_type, NEW.event_class) IS (OLD.entry_type, OLD.event_class)
    AND (NEW.state, NEW.timestamp, NEW.retain_until)
      IS (OLD.state, OLD.timestamp, OLD.retain_until)
    AND (NEW.root_principal IS OLD.root_principal OR NEW.root_principal = '')
    AND (NEW.actor_key IS OLD.actor_key OR NEW.actor_key = '')
    AND coalesce(NEW.capability = OLD.capability, NEW.capability IS NULL)
    AND coalesce(NEW.invocation_id = OLD.invocation_id, NEW.invocation_id IS NULL)
    AND coalesce(NEW.client_reference_id = OLD.client_reference_id,
                 NEW.client_reference_id IS NULL)
    AND coalesce(NEW.task_id = OLD.task_id, NEW.task_id IS NULL)
    AND coalesce(NEW.parent_invocation_id = OLD.parent_invocation_id,
                 NEW.parent_invocation_id IS NULL)
  )
  BEGIN SELECT raise(ABORT, 'the log is append-only'); END;

  CREATE TRIGGER log_keeps_entries BEFORE DELETE ON log
  BEGIN SELECT raise(ABORT, 'the log is append-only'); END;

  CREATE TRIGGER nodes_are_final BEFORE UPDATE ON nodes
  BEGIN SELECT raise(ABORT, 'the tree is append-only'); END;

  CREATE TRIGGER nodes_are_kept BEFORE DELETE ON nodes
  BEGIN SELECT raise(ABORT, 'the tree is append-only'); END;

  CREATE TRIGGER head_only_grows BEFORE UPDATE ON head WHEN NEW.size < OLD.size
  BEGIN SELECT raise(ABORT, 'the tree is append-only'); END;

  CREATE TRIGGER head_is_kept BEFORE DELETE ON head
  BEGIN SELECT raise(ABORT, 'the tree is append-only'); END;

  CREATE TRIGGER checkpoints_are_final BEFORE UPDATE ON checkpoints
  BEGIN SELECT raise(ABORT, 'checkpoints are append-only'); END;

  CREATE TRIGGER checkpoints_are_kept BEFORE DELETE ON checkpoints
  BEGIN SELECT raise(ABORT, 'checkpoints are append-only'); END;
`;

/** Entries in one block of the index by leaf hash, and how much of a hash the index has. */
const HASH_BLOCK = 262_144;
const HASH_PREFIX = 4;

/**
 * Hashes are random, so in one index over all hashes each entry would change another page. In blocks of
 * consecutive entries these are always the same few pages, however long the log is; a search for a hash reads
 * each block.
 */
export const LEAF_HASHES_IN_BLOCKS = `
  DROP INDEX log_by_leaf_hash;
  CREATE INDEX log_by_leaf_hash
    ON log (sequence / ${HASH_BLOCK}, substr(leaf_hash, 1, ${HASH_PREFIX}));
`;

export const FIRST_VERSION = [AUTHORITY, INVOCATIONS, APPROVALS, LOG, APPEND_ONLY].join('');
