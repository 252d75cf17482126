/**
 * Tokens, permissions, approvals and operators' acts, as the specification and decisions have them.
 *
 * @module
 */

import {
  AGENT,
  budget,
  CHECKPOINT_ID,
  DIGEST,
  type Examples,
  GRANT_ID,
  HUMAN,
  INVOCATION_ID,
  money,
  only,
  REQUEST_ID,
  SIGNATURE,
  TIME,
  TOKEN_ID,
  whole,
} from './example.ts';
import { grantPolicy } from './examples-declaration.ts';
import { open } from './openness.ts';

const purpose = open('purpose', { task_id: 'trip-7', ticket: { number: 12 } });

const issueRequest = {
  scope: ['travel.search', 'travel.book'],
  capability: 'book_flight',
  subject: AGENT,
  parent_token: TOKEN_ID,
  purpose_parameters: purpose,
  budget,
  caller_class: 'automated_agent',
  concurrent_branches: 'exclusive',
  ttl_hours: 0.5,
  max_delegation_depth: 1,
  session_id: 'session-1',
};

const issueAnswer = {
  issued: true,
  token_id: TOKEN_ID,
  token: 'header.claims.signature',
  scope: ['travel.book'],
  capability: 'book_flight',
  task_id: 'trip-7',
  budget,
  expires_at: TIME,
  expires: TIME,
};

const claims = {
  iss: 'travel-service',
  aud: 'travel-service',
  sub: AGENT,
  jti: TOKEN_ID,
  iat: 1_772_600_767,
  exp: 1_772_607_967,
  expires: TIME,
  scope: ['travel.book'],
  capability: 'book_flight',
  purpose,
  constraints: { budget, max_delegation_depth: 5 },
  concurrent_branches: 'allowed',
  caller_class: 'automated_agent',
  parent_token_id: TOKEN_ID,
  root_principal: HUMAN,
  session_id: 'session-1',
};
const minimalClaims = {
  ...only(claims, 'iss', 'aud', 'sub', 'jti', 'iat', 'exp', 'expires', 'scope'),
  ...only(claims, 'concurrent_branches', 'caller_class', 'root_principal'),
  constraints: { max_delegation_depth: 5 },
};

const revokeAnswer = { revoked: true, token_id: TOKEN_ID, ended: 3, revoked_at: TIME };

const tokenView = {
  token_id: TOKEN_ID,
  state: 'revoked',
  subject: AGENT,
  root_principal: HUMAN,
  parent_token_id: TOKEN_ID,
  depth: 1,
  scope: ['travel.book'],
  capability: 'book_flight',
  purpose,
  budget,
  budget_spent: 100,
  budget_reserved: 20,
  budget_remaining: 380,
  debts: [{ currency: 'USD', amount: 5 }],
  max_delegation_depth: 5,
  concurrent_branches: 'allowed',
  caller_class: 'default',
  session_id: 'session-1',
  issued_at: TIME,
  expires_at: TIME,
  revoked_at: TIME,
  children: [TOKEN_ID],
  children_count: 1,
};
const bareTokenView = {
  ...tokenView,
  parent_token_id: null,
  capability: null,
  purpose: null,
  budget: null,
  budget_spent: null,
  budget_reserved: null,
  budget_remaining: null,
  debts: [],
  session_id: null,
  revoked_at: null,
};

const available = {
  capability: 'search_flights',
  scope_match: 'travel.search',
  constraints: open('constraints', { budget }),
};
const restricted = {
  capability: 'book_flight',
  reason: 'token has no budget',
  reason_type: 'unmet_control_requirement',
  grantable_by: HUMAN,
  unmet_token_requirements: ['cost_ceiling'],
  resolution_hint: 'request_budget_bound_delegation',
};
const minimalRestricted = only(restricted, 'capability', 'reason', 'reason_type');
const denied = { capability: 'drop', reason: 'root only', reason_type: 'non_delegable' };

const requester = { subject: AGENT, root_principal: HUMAN, chain: DIGEST };
const nameless = only(requester, 'subject', 'root_principal');
const terms = {
  grant_type: 'session_bound',
  session_id: 'session-1',
  expires_in_seconds: 600,
  max_uses: 2,
};
const parameters = open('parameters', { destination: 'CDG' });
const preview = open('preview', { total: 420.5 });
const safe = { parameters, preview, requester: nameless, session_id: 'session-1' };

const approvalRequest = {
  approval_request_id: REQUEST_ID,
  capability: 'book_flight',
  scope: ['travel.book'],
  requester,
  session_id: 'session-1',
  invocation_id: INVOCATION_ID,
  parameters,
  requested_parameters_digest: DIGEST,
  preview,
  preview_digest: DIGEST,
  grant_policy: grantPolicy,
  approvals_required: 2,
  approvals: [{ approver: HUMAN, approved_at: TIME }],
  terms,
  terms_digest: DIGEST,
  status: 'approved',
  created_at: TIME,
  expires_at: TIME,
  decided_at: TIME,
  decided_by: HUMAN,
  reason: 'a good price',
  contract_version: '1.2.0',
  grant_id: GRANT_ID,
  safe,
};
const { grant_id: _granted, safe: _safe, session_id: _session, ...decidable } = approvalRequest;
const { terms: _terms, terms_digest: _termsDigest, ...required } = decidable;
const pendingRequest = {
  ...required,
  requester: nameless,
  preview: null,
  preview_digest: null,
  status: 'pending',
  decided_at: null,
  decided_by: null,
  reason: null,
};

const grantRequest = {
  approval_request_id: REQUEST_ID,
  grant_type: 'session_bound',
  session_id: 'session-1',
  expires_in_seconds: 600,
  max_uses: 2,
};

const grant = {
  grant_id: GRANT_ID,
  approval_request_id: REQUEST_ID,
  capability: 'book_flight',
  contract_version: '1.2.0',
  scope: ['travel.book'],
  requester,
  parameters_digest: DIGEST,
  preview_digest: DIGEST,
  grant_type: 'session_bound',
  session_id: 'session-1',
  approved_by: [HUMAN],
  issued_at: TIME,
  expires_at: TIME,
  max_uses: 2,
  terms_digest: DIGEST,
  signature: SIGNATURE,
};
const { terms_digest: _signedTerms, ...signedBefore } = grant;
const bareGrant = {
  ...signedBefore,
  requester: nameless,
  preview_digest: null,
  grant_type: 'one_time',
  session_id: null,
};

const quorum = {
  approval_request_id: REQUEST_ID,
  status: 'pending',
  approvals_required: 2,
  approvals: [{ approver: HUMAN, approved_at: TIME }],
  terms,
  terms_digest: DIGEST,
};
const { terms: _proposed, terms_digest: _proposedDigest, ...bareQuorum } = quorum;

const freeze = { what: 'root_principal', target: HUMAN, reason: 'stolen laptop', until: TIME };
const named = only(freeze, 'what', 'target', 'reason');
const frozen = { ...freeze, root_principal: null, frozen_by: HUMAN, frozen_at: TIME };
const narrow = {
  what: 'capability',
  target: 'book_flight',
  root_principal: HUMAN,
  reason: 'unpaid',
};
const frozenService = { ...frozen, what: 'service', target: null, until: null };

const indeterminate = {
  invocation_id: INVOCATION_ID,
  capability: 'book_flight',
  root_principal: HUMAN,
  subject: AGENT,
  token_id: TOKEN_ID,
  charged: money,
  admitted_at: TIME,
};

const reconciled = { invocation_id: INVOCATION_ID, outcome: 'not_executed', refunded: money };

export const checkpoint = {
  checkpoint_id: CHECKPOINT_ID,
  sequence: 18,
  merkle_root: DIGEST,
  entry_count: 904,
  created_at: TIME,
  timestamp: TIME,
  signature: SIGNATURE,
};

const delivery = {
  delivery_id: 'msg_1',
  event: 'requested',
  approval_request_id: REQUEST_ID,
  target: 'https://hooks.example.com/writ',
  state: 'failed',
  attempts: 8,
  last_error: 'status 500',
  next_attempt_at: TIME,
  delivered_at: TIME,
};
const bareDelivery = { ...delivery, last_error: null, next_attempt_at: null, delivered_at: null };

export const AUTHORITY_EXAMPLES: Examples = {
  Money: [whole(money)],
  Budget: [whole(budget)],
  Nothing: [whole({})],
  Purpose: [{ full: purpose, minimal: {} }],
  IssueRequest: [{ full: issueRequest, minimal: { scope: ['travel.search'] } }],
  IssueAnswer: [
    {
      full: issueAnswer,
      minimal: { ...issueAnswer, capability: null, task_id: null, budget: null },
    },
  ],
  DelegationClaims: [{ full: claims, minimal: minimalClaims }],
  RevokeRequest: [whole({ token_id: TOKEN_ID })],
  RevokeAnswer: [whole(revokeAnswer)],
  TokenRequest: [whole({ token_id: TOKEN_ID })],
  TokenView: [{ full: tokenView, minimal: bareTokenView }],
  AvailableCapability: [whole(available)],
  RestrictedCapability: [{ full: restricted, minimal: minimalRestricted }],
  DeniedCapability: [whole(denied)],
  PermissionsAnswer: [
    {
      full: { available: [available], restricted: [restricted], denied: [denied] },
      minimal: { available: [available], restricted: [minimalRestricted], denied: [denied] },
    },
  ],
  Approval: [whole({ approver: HUMAN, approved_at: TIME })],
  SafeForm: [{ full: safe, minimal: { ...safe, preview: null, session_id: null } }],
  ApprovalRequest: [{ full: approvalRequest, minimal: pendingRequest }],
  GrantRequest: [
    { full: grantRequest, minimal: { approval_request_id: REQUEST_ID, grant_type: 'one_time' } },
  ],
  Grant: [{ full: grant, minimal: bareGrant }],
  GrantTerms: [{ full: terms, minimal: { ...terms, session_id: null } }],
  QuorumAnswer: [{ full: quorum, minimal: bareQuorum }],
  GrantAnswer: [
    { full: grant, minimal: bareGrant },
    { full: quorum, minimal: bareQuorum },
  ],
  ApprovalListRequest: [
    { full: { status: 'pending', limit: 10, cursor: 'b2Zmc2V0' }, minimal: {} },
  ],
  ApprovalListAnswer: [
    {
      full: { approval_requests: [approvalRequest], next_cursor: 'b2Zmc2V0' },
      minimal: { approval_requests: [pendingRequest], next_cursor: null },
    },
  ],
  ApprovalReadRequest: [
    {
      full: { approval_request_id: REQUEST_ID, prefer: 'wait=30' },
      minimal: { approval_request_id: REQUEST_ID },
    },
  ],
  DenyRequest: [whole({ approval_request_id: REQUEST_ID, reason: 'too dear' })],
  FreezeRequest: [
    { full: freeze, minimal: named },
    { full: narrow, minimal: only(narrow, 'what', 'target', 'reason') },
    whole({ what: 'service', reason: 'incident' }),
  ],
  UnfreezeRequest: [
    whole(named),
    { full: narrow, minimal: only(narrow, 'what', 'target', 'reason') },
    whole({ what: 'service', reason: 'all clear' }),
  ],
  Freeze: [{ full: frozen, minimal: frozenService }],
  FrozenRequest: [{ full: { limit: 10, cursor: '1-capability-YQ' }, minimal: {} }],
  FrozenAnswer: [
    {
      full: { frozen: [frozen], next_cursor: '1-capability-YQ' },
      minimal: { frozen: [frozenService], next_cursor: null },
    },
  ],
  UnfreezeAnswer: [whole({ lifted: true })],
  IndeterminateInvocation: [{ full: indeterminate, minimal: { ...indeterminate, charged: null } }],
  IndeterminateAnswer: [whole({ indeterminate: [indeterminate] })],
  ReconcileRequest: [
    whole({ invocation_id: INVOCATION_ID, outcome: 'executed', reason: 'seen in the ledger' }),
  ],
  ReconcileAnswer: [{ full: reconciled, minimal: { ...reconciled, refunded: null } }],
  SealAnswer: [whole({ checkpoint })],
  Delivery: [{ full: delivery, minimal: bareDelivery }],
  DeliveriesAnswer: [{ full: { deliveries: [delivery] }, minimal: { deliveries: [bareDelivery] } }],
};
