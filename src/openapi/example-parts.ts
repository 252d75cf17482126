/**
 * What the examples of the API description share: names, ids, and the documents that several show.
 *
 * @module
 */

import type { ApprovalRequest, Grant } from '../protocol/approval.ts';
import type { Checkpoint } from '../protocol/audit.ts';
import type { FailureAnswer } from '../protocol/failure.ts';
import type { AnswerOf } from '../protocol/operations.ts';

const HEX = '5f0c2a9b7d3e41868a1b2c3d4e5f6071';
export const HASH = `${HEX}9e8d7c6b5a49382716f5e4d3c2b1a009`;
export const DIGEST = `sha256:${HASH}`;
const SIGNATURE = `eyJhbGciOiJFUzI1NiJ9..${'sIgn'.repeat(21)}Ab`;
export const COORDINATE = 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU';
export const NOW = '2026-12-01T09:00:00.000Z';
export const LATER = '2026-12-01T11:00:00.000Z';

export const TOKEN_ID = `tok_${HEX}`;
export const REQUEST_ID = `apr_${HEX}`;
export const GRANT_ID = `gnt_${HEX}`;
export const CHECKPOINT_ID = `ckpt-${HEX}`;
export const INVOCATION_ID = 'inv-4b1f0c9d2e7a';

export const HUMAN = 'human:alice@example.com';
export const AGENT = 'agent:planner';
export const APPROVER = 'human:bob@example.com';
export const OPERATOR = 'service:operator';

export const BUDGET = { currency: 'USD', max_amount: 500 };
export const RECEIPT = { entry_id: `ent_${HEX}`, leaf_hash: HASH };
const JET = { route: 'SEA-SFO', date: '2026-12-01' };
const REQUESTER = { subject: AGENT, root_principal: HUMAN, chain: DIGEST };
export const TRUST = { level: 'anchored', anchoring: { cadence: 'PT5S' } } as const;
const ONE_TIME: ApprovalRequest['grant_policy'] = {
  allowed_grant_types: ['one_time'],
  default_grant_type: 'one_time',
  expires_in_seconds: 900,
  max_uses: 1,
};

export const PENDING: ApprovalRequest = {
  approval_request_id: REQUEST_ID,
  capability: 'charter_jet',
  scope: ['travel.charter'],
  requester: REQUESTER,
  invocation_id: INVOCATION_ID,
  parameters: JET,
  requested_parameters_digest: DIGEST,
  preview: { action: 'Charter one jet', ...JET, at_most: '20000.00 USD' },
  preview_digest: DIGEST,
  grant_policy: ONE_TIME,
  approvals_required: 1,
  approvals: [],
  status: 'pending',
  created_at: NOW,
  expires_at: '2026-12-02T09:00:00.000Z',
  decided_at: null,
  decided_by: null,
  reason: null,
  contract_version: '1.0.0',
};

export const GRANT: Grant = {
  grant_id: GRANT_ID,
  approval_request_id: REQUEST_ID,
  capability: 'charter_jet',
  contract_version: '1.0.0',
  scope: ['travel.charter'],
  requester: REQUESTER,
  parameters_digest: DIGEST,
  preview_digest: DIGEST,
  grant_type: 'one_time',
  session_id: null,
  approved_by: [APPROVER],
  issued_at: NOW,
  expires_at: '2026-12-01T09:15:00.000Z',
  max_uses: 1,
  terms_digest: DIGEST,
  signature: SIGNATURE,
};

export const CHECKPOINT: Checkpoint = {
  checkpoint_id: CHECKPOINT_ID,
  sequence: 18,
  merkle_root: DIGEST,
  entry_count: 904,
  created_at: NOW,
  timestamp: NOW,
  signature: SIGNATURE,
};

export const LOUNGE = {
  description: 'Buy a day pass for an airport lounge',
  side_effect: { type: 'write' },
  minimum_scope: ['travel.extras'],
} as const;

export const GRAPH: AnswerOf<'graph'> = {
  nodes: [
    { capability: 'book_flight', side_effect: 'irreversible', kind: 'atomic' },
    { capability: 'search_flights', side_effect: 'read', kind: 'atomic' },
  ],
  edges: [{ type: 'refresh', from: 'book_flight', to: 'search_flights' }],
};

export const FREEZE = { what: 'capability', target: 'request_taxi', reason: 'strike' } as const;

export const CALL = {
  capability: 'buy_lounge_pass',
  parameters: { airport: 'SFO' },
  client_reference_id: 'order-7',
} as const;

export const SPENT = {
  budget_max: 500,
  budget_currency: 'USD',
  cost_check_amount: 25,
  cost_certainty: 'fixed',
  budget_spent: 25,
  budget_reserved: 0,
  budget_remaining: 475,
} as const;

export const REFUSED: FailureAnswer = {
  success: false,
  invocation_id: INVOCATION_ID,
  failure: {
    type: 'budget_exceeded',
    detail: 'Cannot spend 25.00 USD: the ceiling is 10.00, 0.00 is spent, 10.00 remains',
    retry: false,
    resolution: {
      action: 'request_budget_increase',
      recovery_class: 'redelegation_then_retry',
      grantable_by: HUMAN,
    },
  },
};

export const UNAVAILABLE: FailureAnswer = {
  success: false,
  failure: {
    type: 'service_unavailable',
    detail: 'Cannot answer: the store is not available; nothing happened',
    retry: true,
    resolution: {
      action: 'wait_and_retry',
      recovery_class: 'wait_then_retry',
      estimated_availability: 'PT1S',
    },
  },
};

export const BELOW_QUORUM: AnswerOf<'approval_grants.issue'> = {
  approval_request_id: REQUEST_ID,
  status: 'pending',
  approvals_required: 2,
  approvals: [{ approver: APPROVER, approved_at: NOW }],
};
