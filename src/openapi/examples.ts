/**
 * One example of every operation, as it is asked and answered, for the API description.
 *
 * Types hold each to its row of the table; a test reads them with the schemas. Ids and signatures are
 * of the right form and belong to nothing.
 *
 * @module
 */

import type { AnswerOf, InputOf, OperationName } from '../protocol/operations.ts';
import {
  AGENT,
  APPROVER,
  BUDGET,
  CALL,
  CHECKPOINT,
  CHECKPOINT_ID,
  COORDINATE,
  DIGEST,
  FREEZE,
  GRANT,
  GRANT_ID,
  GRAPH,
  HASH,
  HUMAN,
  INVOCATION_ID,
  LATER,
  LOUNGE,
  NOW,
  OPERATOR,
  PENDING,
  RECEIPT,
  REQUEST_ID,
  SPENT,
  TOKEN_ID,
  TRUST,
} from './example-parts.ts';

export type OperationExamples = {
  readonly [Name in OperationName]: {
    readonly request: InputOf<Name>;
    readonly answer: AnswerOf<Name>;
  };
};

export const EXAMPLES: OperationExamples = {
  discovery: {
    request: {},
    answer: {
      svc_discovery: {
        version: '0.24',
        protocol: 'svc/0.24',
        service_id: 'travel-desk',
        endpoints: { manifest: '/svc/manifest', invoke: '/svc/invoke/{capability}' },
        surfaces: { mcp: '/mcp' },
        capabilities: {
          buy_lounge_pass: { ...LOUNGE, minimum_scope: ['travel.extras'], financial: true },
        },
        trust: TRUST,
      },
    },
  },
  jwks: {
    request: {},
    answer: {
      keys: [
        {
          kty: 'EC',
          crv: 'P-256',
          x: COORDINATE,
          y: COORDINATE,
          kid: 'a-key',
          use: 'sig',
          alg: 'ES256',
        },
      ],
    },
  },
  manifest: {
    request: {},
    answer: {
      manifest_metadata: {
        version: '0.24',
        sha256: HASH,
        issued_at: NOW,
        expires_at: '2026-12-02T09:00:00.000Z',
      },
      service_identity: {
        id: 'travel-desk',
        jwks_uri: 'https://desk.example/.well-known/jwks.json',
        issuer_mode: 'self',
      },
      trust: TRUST,
      capabilities: {},
    },
  },
  graph: { request: {}, answer: GRAPH },
  'graph.get': { request: { capability: 'book_flight' }, answer: GRAPH },
  handshake: {
    request: { protocol_versions: ['0.24'], capabilities: { book_flight: '^1.0.0' } },
    answer: {
      compatible: true,
      protocol_version: '0.24',
      capabilities: { book_flight: { compatible: true, contract_version: '1.0.0' } },
    },
  },
  'tokens.issue': {
    request: {
      subject: AGENT,
      scope: ['travel.search', 'travel.extras'],
      budget: BUDGET,
      purpose_parameters: { task_id: 'offsite' },
    },
    answer: {
      issued: true,
      token_id: TOKEN_ID,
      token: 'eyJhbGciOiJFUzI1NiIs….eyJpc3MiOiJ0cmF2ZWwt….c2lnbmF0dXJl…',
      scope: ['travel.search', 'travel.extras'],
      capability: null,
      task_id: 'offsite',
      budget: BUDGET,
      expires_at: LATER,
      expires: LATER,
    },
  },
  'tokens.revoke': {
    request: { token_id: TOKEN_ID },
    answer: { revoked: true, token_id: TOKEN_ID, ended: 2, revoked_at: NOW },
  },
  'tokens.get': {
    request: { token_id: TOKEN_ID },
    answer: {
      token_id: TOKEN_ID,
      state: 'active',
      subject: AGENT,
      root_principal: HUMAN,
      parent_token_id: null,
      depth: 0,
      scope: ['travel.search', 'travel.extras'],
      capability: null,
      purpose: { task_id: 'offsite' },
      budget: BUDGET,
      budget_spent: 25,
      budget_reserved: 0,
      budget_remaining: 475,
      debts: [],
      max_delegation_depth: 5,
      concurrent_branches: 'allowed',
      caller_class: 'automated_agent',
      session_id: null,
      issued_at: NOW,
      expires_at: LATER,
      revoked_at: null,
      children: [],
      children_count: 0,
    },
  },
  permissions: {
    request: {},
    answer: {
      available: [{ capability: 'buy_lounge_pass', scope_match: 'travel.extras', constraints: {} }],
      restricted: [
        {
          capability: 'book_flight',
          reason: 'Cannot use "book_flight": the token lacks scope "travel.book"',
          reason_type: 'insufficient_scope',
          grantable_by: HUMAN,
          resolution_hint: 'request_broader_scope',
        },
      ],
      denied: [
        {
          capability: 'erase_traveler',
          reason: 'Cannot use "erase_traveler": only its root principal may',
          reason_type: 'non_delegable',
        },
      ],
    },
  },
  invoke: {
    request: { ...CALL, idempotency_key: 'order-7-pass' },
    answer: {
      success: true,
      invocation_id: INVOCATION_ID,
      client_reference_id: 'order-7',
      result: { pass_id: 'LP-1001', airport: 'SFO' },
      cost_actual: { currency: 'USD', amount: 25 },
      budget_context: SPENT,
      audit: RECEIPT,
    },
  },
  test: {
    request: CALL,
    answer: {
      invocation_id: INVOCATION_ID,
      client_reference_id: 'order-7',
      would_be_admitted: true,
      capability: 'buy_lounge_pass',
      resolved_parameters: { airport: 'SFO' },
      parameters_digest: DIGEST,
      cost_check: { currency: 'USD', amount: 25, certainty: 'fixed' },
      budget_context: SPENT,
      approval: { required: false },
      audit: RECEIPT,
    },
  },
  'approval_grants.issue': {
    request: { approval_request_id: REQUEST_ID, grant_type: 'one_time' },
    answer: GRANT,
  },
  'approval_requests.list': {
    request: { status: 'pending', limit: 20 },
    answer: { approval_requests: [PENDING], next_cursor: null },
  },
  'approval_requests.get': {
    request: { approval_request_id: REQUEST_ID, prefer: 'wait=30' },
    answer: {
      ...PENDING,
      status: 'approved',
      approvals: [{ approver: APPROVER, approved_at: NOW }],
      decided_at: NOW,
      decided_by: APPROVER,
      grant_id: GRANT_ID,
    },
  },
  'approval_requests.deny': {
    request: { approval_request_id: REQUEST_ID, reason: 'take the train' },
    answer: {
      ...PENDING,
      status: 'denied',
      decided_at: NOW,
      decided_by: APPROVER,
      reason: 'take the train',
    },
  },
  'audit.query': {
    request: { capability: 'buy_lounge_pass', since: NOW, limit: 10 },
    answer: {
      entries: [
        {
          entry_id: RECEIPT.entry_id,
          sequence: 903,
          entry_type: 'invocation',
          invocation_id: INVOCATION_ID,
          capability: 'buy_lounge_pass',
          actor_key: AGENT,
          root_principal: HUMAN,
          event_class: 'high_risk_success',
          success: true,
          state: 'completed',
          failure_type: null,
          client_reference_id: 'order-7',
          task_id: 'offsite',
          parent_invocation_id: null,
          upstream_service: null,
          approval_request_id: null,
          approval_grant_id: null,
          token_id: TOKEN_ID,
          parameters_digest: DIGEST,
          cost_actual: { currency: 'USD', amount: 25 },
          stream_summary: null,
          detail: null,
          retention: null,
          timestamp: NOW,
          leaf_hash: HASH,
        },
      ],
      count: 1,
      next_cursor: null,
    },
  },
  'checkpoints.list': {
    request: { limit: 1 },
    answer: { checkpoints: [CHECKPOINT], next_cursor: null },
  },
  'checkpoints.get': {
    request: { checkpoint_id: CHECKPOINT_ID, include_proof: true, leaf_hash: HASH },
    answer: {
      ...CHECKPOINT,
      tree_size: 904,
      tree_head: 'travel-desk/log/5f0c2a9b\n904\n…\n\n— travel-desk/log/5f0c2a9b …\n',
      inclusion_proof: { leaf_index: 903, tree_size: 904, leaf_hash: HASH, hashes: [HASH, HASH] },
    },
  },
  'operator.freeze': {
    request: FREEZE,
    answer: { ...FREEZE, root_principal: null, frozen_by: OPERATOR, frozen_at: NOW, until: null },
  },
  'operator.unfreeze': { request: FREEZE, answer: { lifted: true } },
  'operator.frozen': {
    request: {},
    answer: {
      frozen: [
        { ...FREEZE, root_principal: null, frozen_by: OPERATOR, frozen_at: NOW, until: LATER },
      ],
      next_cursor: null,
    },
  },
  'operator.indeterminate': {
    request: {},
    answer: {
      indeterminate: [
        {
          invocation_id: INVOCATION_ID,
          capability: 'buy_lounge_pass',
          root_principal: HUMAN,
          subject: AGENT,
          token_id: TOKEN_ID,
          charged: { currency: 'USD', amount: 25 },
          admitted_at: NOW,
        },
      ],
    },
  },
  'operator.reconcile': {
    request: { invocation_id: INVOCATION_ID, outcome: 'not_executed', reason: 'no pass was sold' },
    answer: {
      invocation_id: INVOCATION_ID,
      outcome: 'not_executed',
      refunded: { currency: 'USD', amount: 25 },
    },
  },
  'operator.checkpoints': { request: {}, answer: { checkpoint: CHECKPOINT } },
  'operator.deliveries': {
    request: {},
    answer: {
      deliveries: [
        {
          delivery_id: 'msg_4b1f0c9d2e7a',
          event: 'requested',
          approval_request_id: REQUEST_ID,
          target: 'approvals',
          state: 'delivered',
          attempts: 1,
          last_error: null,
          next_attempt_at: null,
          delivered_at: NOW,
        },
      ],
    },
  },
};
