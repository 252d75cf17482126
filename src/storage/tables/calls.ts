/**
 * Tables of calls: intents and their steps, leases, keys, bindings, rate limits.
 *
 * @module
 */

import type { StepRecord } from '../port/composition-store.ts';
import type { BindingRecord, IdempotencyRecord, RollbackRecord } from '../port/records.ts';
import type { Description, TableSchema } from './description.ts';

const OUTCOME = "text? CHECK (outcome IN ('completed', 'failed', 'no_effect', 'indeterminate'))";

/**
 * In SQLite `reserved` is what admission took on each budget of the lineage, `consumed` what settlement kept, and `leases`
 * how many leases the call took. PostgreSQL has the tokens of both, root first, in `charged` and `leased`.
 *
 * There 'aborted' is a tombstone: an admission whose answer was lost did not happen, and will not. Such a row has the id of
 * the call and nothing else, so most columns can be null.
 */
export const INTENTS: TableSchema = {
  name: 'intents',
  fields: {
    operation_id: 'text PRIMARY KEY',
    charge: 'charge?',
    outcome: OUTCOME,
    entry_id: 'text?',
    settled_at: 'time?',
  },
  indexes: [
    "intents_open (admitted_at, operation_id) WHERE state = 'admitted'",
    "intents_unknown (admitted_at, operation_id) WHERE outcome = 'indeterminate' AND reconciled_at IS NULL",
    "intents_unknown_by_invocation (invocation_id) WHERE outcome = 'indeterminate' AND reconciled_at IS NULL",
    'intents_by_entry (entry_id) WHERE entry_id IS NOT NULL',
    'intents_composing (admitted_at, operation_id) WHERE composing IS NOT NULL',
  ],
  sqlite: {
    columns: {
      invocation_id: 'text',
      token_id: 'text REFERENCES tokens',
      subject: 'text',
      root_principal: 'text',
      capability: 'text',
      facts: 'json',
      instance_id: 'text',
      admitted_at: 'time',
      reserved: 'amount? CHECK (reserved = charge_amount)',
      leases: 'integer CHECK (leases >= 0)',
      state: "text DEFAULT 'admitted' CHECK (state IN ('admitted', 'settled'))",
      consumed: 'amount? CHECK (consumed BETWEEN 0 AND coalesce(reserved, 0))',
      reconciled_at: "time? CHECK (reconciled_at IS NULL OR outcome = 'indeterminate')",
      composing: 'exact?',
    },
    constraints: [
      "CHECK (composing IS NULL OR state = 'admitted' OR outcome = 'indeterminate')",
      'CHECK ((charge_currency IS NULL) = (charge_amount IS NULL))',
      "CHECK ((state = 'settled') = (outcome IS NOT NULL))",
      "CHECK ((state = 'settled') = (entry_id IS NOT NULL))",
      "CHECK ((state = 'settled') = (settled_at IS NOT NULL))",
      "CHECK ((state = 'settled') = (consumed IS NOT NULL))",
    ],
  },
  postgres: {
    columns: {
      invocation_id: 'text?',
      token_id: 'text? REFERENCES tokens',
      subject: 'text?',
      root_principal: 'text?',
      capability: 'text?',
      facts: 'json?',
      instance_id: 'text?',
      admitted_at: 'time?',
      outcome: 'intent_outcome?',
      state: 'intent_state',
      reserved: 'amount DEFAULT 0',
      consumed: 'amount DEFAULT 0',
      charged: "list DEFAULT '{}'",
      leased: "list DEFAULT '{}'",
      is_keyed: 'flag DEFAULT false',
      result: 'json?',
      reconciled_at: 'time?',
      composing: 'exact?',
    },
    constraints: [
      `CHECK (consumed <= reserved AND (state = 'settled') = (outcome IS NOT NULL)
    AND (state = 'aborted') = (token_id IS NULL)
    AND (composing IS NULL OR state = 'admitted' OR outcome = 'indeterminate'))`,
    ],
    options: 'fillfactor = 80',
  },
};

/**
 * The steps of a composed call, until no process has to continue it. Parameters and output are stored as they were written:
 * they may have what PostgreSQL refuses in `jsonb`.
 */
export const STEPS: Description<StepRecord> = {
  name: 'steps',
  fields: {
    operation_id: 'text REFERENCES intents',
    role: "text CHECK (role IN ('step', 'compensation'))",
    step_id: 'text',
    invocation_id: 'text',
    capability: 'text',
    parameters: 'exact',
    outcome: OUTCOME,
    output: 'exact?',
    failure_type: 'text?',
    drawn: 'amount?',
  },
  beside: { entry_id: 'text?' },
  constraints: ['PRIMARY KEY (operation_id, role, step_id)'],
  postgres: {
    columns: { outcome: 'intent_outcome?', place: 'long GENERATED ALWAYS AS IDENTITY' },
  },
};

export const ROLLBACKS: Description<RollbackRecord> = {
  name: 'rollbacks',
  fields: { capability: 'text', root_principal: 'text', digest: 'text', until: 'time' },
  constraints: ['PRIMARY KEY (capability, root_principal, digest)'],
  sqlite: { options: 'WITHOUT ROWID' },
};

/** PostgreSQL claims the key before it writes the intent, in the same transaction. */
export const KEYS: Description<IdempotencyRecord> = {
  name: 'idempotency',
  fields: {
    chain: 'text',
    capability: 'text',
    key: 'text',
    fingerprint: 'text',
    operation_id: 'text UNIQUE REFERENCES intents',
    answer: 'bytes?',
  },
  beside: { keep_until: 'time' },
  constraints: ['PRIMARY KEY (chain, capability, key)'],
  indexes: ['idempotency_by_age (keep_until)'],
  postgres: {
    columns: { operation_id: 'text UNIQUE REFERENCES intents DEFERRABLE INITIALLY DEFERRED' },
  },
};

/** A released lease keeps its row, so that the fence never goes back. */
export const LEASES: TableSchema = {
  name: 'leases',
  fields: {
    token_id: 'text PRIMARY KEY REFERENCES tokens',
    operation_id: 'text?',
    fence: 'long',
    until: 'time',
  },
  sqlite: {
    columns: { operation_id: 'text? REFERENCES intents', fence: 'long CHECK (fence > 0)' },
    indexes: ['leases_by_operation (operation_id) WHERE operation_id IS NOT NULL'],
    options: 'WITHOUT ROWID',
  },
  postgres: { options: 'fillfactor = 50' },
};

export const BINDINGS: Description<BindingRecord> = {
  name: 'bindings',
  fields: {
    binding_id: 'text PRIMARY KEY',
    type: 'text',
    capability: 'text',
    root_principal: 'text',
    price: 'charge?',
    data: 'json',
    issued_at: 'time',
    mac: 'text?',
  },
  sqlite: { constraints: ['CHECK ((price_currency IS NULL) = (price_amount IS NULL))'] },
  postgres: { constraints: ['CHECK ((currency IS NULL) = (amount IS NULL))'] },
};

export const PERMITS: TableSchema = {
  name: 'permits',
  fields: { key: 'text PRIMARY KEY', window_start: 'time', taken: 'long CHECK (taken >= 0)' },
  sqlite: { options: 'WITHOUT ROWID' },
  postgres: { columns: { granted: 'long CHECK (granted >= 0)' }, options: 'fillfactor = 50' },
};
