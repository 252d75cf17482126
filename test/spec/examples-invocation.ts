/**
 * Failures, invocations, entries, checkpoints and proofs, as the specification and decisions have them.
 *
 * @module
 */

import {
  AGENT,
  CHECKPOINT_ID,
  DIGEST,
  ENTRY_ID,
  type Examples,
  GRANT_ID,
  HASH,
  HUMAN,
  INVOCATION_ID,
  money,
  only,
  PARENT_INVOCATION_ID,
  REQUEST_ID,
  TIME,
  TOKEN_ID,
  whole,
} from './example.ts';
import { checkpoint } from './examples-authority.ts';
import { grantPolicy } from './examples-declaration.ts';
import { open } from './openness.ts';

const resolution = {
  action: 'request_approval',
  recovery_class: 'wait_then_retry',
  requires: ['approver:book_flight'],
  grantable_by: HUMAN,
  estimated_availability: '24h',
};
const minimalResolution = { action: 'check_manifest', recovery_class: 'revalidate_then_retry' };

const clarification = {
  input: 'destination',
  reason: 'ambiguous',
  candidates: open('candidates', ['CDG', { code: 'ORY' }]),
};
const minimalClarification = only(clarification, 'input', 'reason');

const approvalRequired = {
  type: 'approval_required',
  detail: 'Cannot book: approval is needed',
  retry: false,
  resolution,
  approval_request_id: REQUEST_ID,
  preview_digest: DIGEST,
  requested_parameters_digest: DIGEST,
  grant_policy: grantPolicy,
};
const { preview_digest: _previewed, ...required } = approvalRequired;
const unpreviewed = { ...required, resolution: only(resolution, 'action', 'recovery_class') };

const plain = {
  type: 'not_found',
  detail: 'There is no such thing',
  retry: false,
  resolution: minimalResolution,
};
const unclear = { ...plain, type: 'clarification_required', clarify: [clarification] };

const ids = {
  invocation_id: INVOCATION_ID,
  client_reference_id: 'order-7',
  task_id: 'trip-7',
  parent_invocation_id: PARENT_INVOCATION_ID,
  upstream_service: 'hotel-service',
};
const minimalIds = { invocation_id: INVOCATION_ID };

const failureAnswer = { success: false, ...only(ids, 'invocation_id', 'client_reference_id') };

const testRequest = {
  capability: 'book_flight',
  parameters: open('parameters', { destination: 'CDG' }),
  ...only(ids, 'client_reference_id', 'task_id', 'parent_invocation_id', 'upstream_service'),
  approval_grant: GRANT_ID,
  // An extra of this implementation (decision 0043).
  continue_approved: true,
  stream: true,
};
const minimalRequest = only(testRequest, 'capability', 'parameters');

const budgetContext = {
  budget_max: 500,
  budget_currency: 'USD',
  cost_check_amount: 420.5,
  cost_certainty: 'estimated',
  budget_spent: 10,
  budget_reserved: 420.5,
  budget_remaining: 69.5,
};
const minimalContext = {
  ...only(budgetContext, 'budget_max', 'budget_currency', 'cost_check_amount', 'cost_certainty'),
};

const audit = { entry_id: ENTRY_ID, leaf_hash: HASH };
const summary = {
  response_mode: 'streaming',
  events_emitted: 4,
  events_delivered: 3,
  duration_ms: 12.5,
  client_disconnected: true,
};

const result = open('result', { booking_id: 'B7' });
const success = {
  success: true,
  ...ids,
  result,
  cost_actual: money,
  budget_context: budgetContext,
  audit,
  stream_summary: summary,
};
const minimalSuccess = { success: true, ...minimalIds, result };

const failed = {
  success: false,
  ...ids,
  failure: approvalRequired,
  effect: 'none',
  budget_context: budgetContext,
  audit,
  stream_summary: summary,
};
const minimalFailed = { success: false, ...minimalIds, failure: plain };

const last = { timestamp: TIME, stream_summary: summary };
const progress = open('progress', { done: 3 });

const cost = { currency: 'USD', amount: 420.5, certainty: 'estimated' };
const testAnswer = {
  would_be_admitted: false,
  ...ids,
  capability: 'book_flight',
  resolved_parameters: open('parameters', { destination: 'CDG' }),
  parameters_digest: DIGEST,
  cost_check: cost,
  budget_context: budgetContext,
  approval: { required: true, grant_policy: grantPolicy, approvals_required: 2 },
  failure: approvalRequired,
  audit,
};
const minimalTest = { would_be_admitted: true, ...minimalIds, capability: 'book_flight' };

const entry = {
  entry_id: ENTRY_ID,
  sequence: 903,
  entry_type: 'invocation',
  invocation_id: INVOCATION_ID,
  capability: 'book_flight',
  actor_key: AGENT,
  root_principal: HUMAN,
  event_class: 'high_risk_success',
  success: true,
  state: 'completed',
  failure_type: 'approval_required',
  client_reference_id: 'order-7',
  task_id: 'trip-7',
  parent_invocation_id: PARENT_INVOCATION_ID,
  upstream_service: 'hotel-service',
  approval_request_id: REQUEST_ID,
  approval_grant_id: GRANT_ID,
  token_id: TOKEN_ID,
  parameters_digest: DIGEST,
  cost_actual: money,
  stream_summary: summary,
  detail: open('detail', { attempt: 1 }),
  retention: 'P365D',
  timestamp: TIME,
  leaf_hash: HASH,
  leaf: 'eyJhIjoxfQ==',
  personal: 'eyJiIjoyfQ==',
  erased: 'personal',
};
const { leaf: _leaf, personal: _personal, erased: _erased, ...withoutLeaf } = entry;
const bareEntry = {
  ...withoutLeaf,
  entry_type: 'operator',
  invocation_id: null,
  capability: null,
  actor_key: null,
  root_principal: null,
  failure_type: null,
  client_reference_id: null,
  task_id: null,
  parent_invocation_id: null,
  upstream_service: null,
  approval_request_id: null,
  approval_grant_id: null,
  token_id: null,
  parameters_digest: null,
  cost_actual: null,
  stream_summary: null,
  detail: null,
  retention: null,
};

const query = {
  capability: 'book_flight',
  since: TIME,
  ...ids,
  entry_type: 'replay',
  include: 'leaf',
  limit: 7,
  cursor: 'b2Zmc2V0',
};
const { upstream_service: _unfiltered, ...auditQuery } = query;

const inclusion = { leaf_index: 7, tree_size: 904, leaf_hash: HASH, hashes: [HASH] };
const consistency = { from_size: 17, to_size: 904, hashes: [HASH] };
const headOfTree = { ...checkpoint, tree_size: 904, tree_head: 'travel-service\n904\n' };
const detail = { ...headOfTree, inclusion_proof: inclusion, consistency_proof: consistency };

const checkpointRead = {
  checkpoint_id: CHECKPOINT_ID,
  include_proof: true,
  leaf_index: 7,
  leaf_hash: HASH,
  invocation_id: INVOCATION_ID,
  consistency_from: CHECKPOINT_ID,
};

export const INVOCATION_EXAMPLES: Examples = {
  FailureResolution: [{ full: resolution, minimal: minimalResolution }],
  Clarification: [{ full: clarification, minimal: minimalClarification }],
  Failure: [
    { full: approvalRequired, minimal: unpreviewed },
    { full: unclear, minimal: { ...plain, type: 'clarification_required' } },
    whole(plain),
  ],
  FailureAnswer: [
    {
      full: { ...failureAnswer, failure: approvalRequired },
      minimal: { success: false, failure: plain },
    },
  ],
  TestRequest: [{ full: testRequest, minimal: minimalRequest }],
  InvokeRequest: [{ full: { ...testRequest, idempotency_key: 'key-1' }, minimal: minimalRequest }],
  BudgetContext: [{ full: budgetContext, minimal: minimalContext }],
  Receipt: [whole(audit)],
  InvocationIds: [{ full: ids, minimal: minimalIds }],
  StreamSummary: [whole(summary)],
  InvokeSuccess: [{ full: success, minimal: minimalSuccess }],
  InvokeFailure: [{ full: failed, minimal: minimalFailed }],
  InvokeAnswer: [
    { full: success, minimal: minimalSuccess },
    { full: failed, minimal: minimalFailed },
  ],
  StreamEvent: [
    {
      full: { event: 'started', data: { ...ids, timestamp: TIME } },
      minimal: { event: 'started', data: { ...minimalIds, timestamp: TIME } },
    },
    {
      full: { event: 'progress', data: { ...ids, timestamp: TIME, progress } },
      minimal: { event: 'progress', data: { ...minimalIds, timestamp: TIME, progress } },
    },
    {
      full: { event: 'completed', data: { ...success, ...last } },
      minimal: { event: 'completed', data: { ...minimalSuccess, ...last } },
    },
    {
      full: { event: 'failed', data: { ...failed, ...last } },
      minimal: { event: 'failed', data: { ...minimalFailed, ...last } },
    },
  ],
  TestAnswer: [
    { full: testAnswer, minimal: minimalTest },
    { full: { ...minimalTest, cost_check: { ...cost, amount: null } }, minimal: minimalTest },
  ],
  AuditEntry: [{ full: entry, minimal: bareEntry }],
  AuditQuery: [{ full: auditQuery, minimal: {} }],
  AuditAnswer: [
    {
      full: { entries: [entry], count: 1, next_cursor: 'b2Zmc2V0' },
      minimal: { entries: [bareEntry], count: 1, next_cursor: null },
    },
  ],
  Checkpoint: [whole(checkpoint)],
  InclusionProof: [whole(inclusion)],
  ConsistencyProof: [whole(consistency)],
  CheckpointDetail: [{ full: detail, minimal: headOfTree }],
  CheckpointListRequest: [{ full: { limit: 7, cursor: 'b2Zmc2V0' }, minimal: {} }],
  CheckpointListAnswer: [
    {
      full: { checkpoints: [checkpoint], next_cursor: 'b2Zmc2V0' },
      minimal: { checkpoints: [checkpoint], next_cursor: null },
    },
  ],
  CheckpointReadRequest: [{ full: checkpointRead, minimal: { checkpoint_id: CHECKPOINT_ID } }],
};
