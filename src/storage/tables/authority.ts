/**
 * Tables of authority: tokens, what they may spend and owe, and what is frozen.
 *
 * @module
 */

import type { Debt } from '../port/ledger-store.ts';
import type { BudgetState, FreezeRecord, TokenRecord } from '../port/records.ts';
import type { Description } from './description.ts';

/** The budget has a row of its own. PostgreSQL counts children in `families`. */
export const TOKENS: Description<Omit<TokenRecord, 'budget'>> = {
  name: 'tokens',
  fields: {
    token_id: 'text PRIMARY KEY',
    parent_token_id: 'text? REFERENCES tokens',
    lineage: 'list',
    subject: 'text',
    root_principal: 'text',
    scope: 'list',
    capability: 'text?',
    purpose: 'json',
    caller_class: 'text',
    concurrent_branches: "text CHECK (concurrent_branches IN ('allowed', 'exclusive'))",
    depth: 'integer CHECK (depth >= 0)',
    max_delegation_depth: 'integer',
    session_id: 'text?',
    conditions: 'json?',
    issued_at: 'time',
    expires_at: 'time',
    kid: 'text',
    claims_digest: 'text',
    chain: 'text',
    mac: 'text?',
  },
  beside: { revoked_at: 'time?', revoked_mac: 'text?' },
  indexes: [
    'tokens_by_parent (parent_token_id, token_id) WHERE parent_token_id IS NOT NULL',
    'tokens_by_root (root_principal, issued_at, token_id) WHERE parent_token_id IS NULL',
  ],
  sqlite: {
    columns: {
      lineage: 'list CHECK (json_array_length(lineage) = depth + 1)',
      chain: 'text NULL',
      children: 'integer DEFAULT 0 CHECK (children >= 0)',
    },
    constraints: ['CHECK ((parent_token_id IS NULL) = (depth = 0))'],
  },
  postgres: {
    constraints: [
      'CHECK (lineage[cardinality(lineage)] = token_id)',
      'CHECK (lineage[cardinality(lineage) - 1] IS NOT DISTINCT FROM parent_token_id)',
    ],
  },
};

/** In PostgreSQL the room keeps the new version of a hot row on its page, so that no index has to change. */
export const BUDGETS: Description<BudgetState> = {
  name: 'budgets',
  fields: {
    token_id: 'text PRIMARY KEY REFERENCES tokens',
    currency: 'text',
    max: 'amount',
    reserved: 'amount DEFAULT 0',
    consumed: 'amount DEFAULT 0',
  },
  sqlite: { constraints: ['CHECK (reserved <= max - consumed)'], options: 'WITHOUT ROWID' },
  postgres: { constraints: ['CHECK (reserved + consumed <= max)'], options: 'fillfactor = 50' },
};

/** Apart from budgets: a token without a budget can be overrun too, and no admission reads debts. */
export const DEBTS: Description<Debt> = {
  name: 'debts',
  fields: { token_id: 'text REFERENCES tokens', currency: 'text', amount: 'amount' },
  constraints: ['PRIMARY KEY (token_id, currency)'],
  sqlite: { columns: { amount: 'amount CHECK (amount > 0)' }, options: 'WITHOUT ROWID' },
};

export const FREEZES: Description<FreezeRecord> = {
  name: 'freezes',
  fields: {
    what: "text CHECK (what IN ('root_principal', 'capability', 'service'))",
    target: "text CHECK ((what = 'service') = (target = ''))",
    reason: 'text',
    frozen_by: 'text',
    frozen_at: 'time',
    until: 'time?',
    mac: 'text?',
  },
  constraints: ['PRIMARY KEY (what, target)'],
  indexes: ['freezes_by_age (frozen_at, what, target)'],
  sqlite: { options: 'WITHOUT ROWID' },
};
