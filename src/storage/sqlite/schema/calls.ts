/**
 * Tables of calls: intents and their steps, leases, keys, bindings, rate limits.
 *
 * @module
 */

/** `reserved` is what admission took on each budget of the lineage, `consumed` what settlement kept. */
export const CALLS = `
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
    chain        TEXT NOT NULL,
    capability   TEXT NOT NULL,
    key          TEXT NOT NULL,
    fingerprint  TEXT NOT NULL,
    operation_id TEXT NOT NULL UNIQUE REFERENCES intents,
    answer       BLOB,
    keep_until   INTEGER NOT NULL,
    PRIMARY KEY (chain, capability, key)
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
    mac            TEXT,
    CHECK ((price_currency IS NULL) = (price_amount IS NULL))
  ) STRICT;

  CREATE TABLE permits (
    key          TEXT NOT NULL PRIMARY KEY,
    window_start INTEGER NOT NULL,
    taken        INTEGER NOT NULL CHECK (taken >= 0)
  ) STRICT, WITHOUT ROWID;
`;
