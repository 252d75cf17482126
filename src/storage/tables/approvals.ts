/**
 * Tables of approvals: requests, votes, grants, and notices that are to be sent.
 *
 * The indexes find pending requests by expiry, the requests of one requester for one capability, the newest request
 * of a question, and the grants with which an equal call can continue. Each has every column that its list is filtered
 * by, so a page reads no other row. A grant without a use left is in no index.
 *
 * The order of the indexes counts in PostgreSQL: of two plans with equal costs the planner takes that of the newer index, so
 * `approval_requests_open` follows `approval_requests_due`. There the index by requester has one expression for two columns,
 * so that the planner does not take it for the index by question, which has more columns.
 *
 * @module
 */

import type { ApprovalRecord, DeliveryRecord, GrantRecord } from '../port/records.ts';
import type { VoteFacts } from '../port/row-forms.ts';
import type { Description } from './description.ts';

/**
 * The votes have rows of their own. `requested_through` has the principals in the lineage of the requesting token: none of
 * them may approve. `delegate` and `kept_bytes` say under which name an open request is counted and what it keeps.
 *
 * `is_asked` says whether an equal question gets this request back. A pending one past its expiry gives this up to the next
 * that asks, before its own status changes. SQLite finds the newest.
 */
export const REQUESTS: Description<Omit<ApprovalRecord, 'approvals'>> = {
  name: 'approval_requests',
  fields: {
    approval_request_id: 'text PRIMARY KEY',
    capability: 'text',
    contract_version: 'text',
    declaration_digest: 'text',
    scope: 'list',
    subject: 'text',
    root_principal: 'text',
    chain: 'text NULL',
    requested_through: "list DEFAULT '[]'",
    delegate: 'text NULL',
    kept_bytes: 'integer NULL CHECK (kept_bytes >= 0)',
    token_id: 'text NULL',
    session_id: 'text?',
    invocation_id: 'text',
    parameters: 'json',
    parameters_digest: 'text',
    preview: 'json?',
    preview_digest: 'text?',
    cost: 'json?',
    note: 'text?',
    grant_policy: 'json',
    approvals_required: 'integer CHECK (approvals_required > 0)',
    require: 'text?',
    status: "text CHECK (status IN ('pending', 'approved', 'denied', 'expired'))",
    created_at: 'time',
    expires_at: 'time',
    decided_at: 'time?',
    decided_by: 'text?',
    reason: 'text?',
    grant_id: 'text?',
    mac: 'text?',
  },
  constraints: ["CHECK ((status = 'approved') = (grant_id IS NOT NULL))"],
  sqlite: {
    columns: { grant_id: 'text? UNIQUE' },
    indexes: [
      'approval_requests_by_age (created_at, approval_request_id)',
      "approval_requests_asked (chain, capability, contract_version, parameters_digest) WHERE status = 'pending'",
      'approval_requests_by_question (chain, capability, contract_version, parameters_digest, session_id, created_at)',
      "approval_requests_open (capability, expires_at) WHERE status = 'pending'",
      "approval_requests_pending (expires_at, approval_request_id, capability) WHERE status = 'pending'",
      'approval_requests_by_asker (chain, capability, created_at, approval_request_id, status, expires_at)',
      "approval_requests_approved (chain, capability, created_at, approval_request_id) WHERE status = 'approved'",
      "approval_requests_waiting (root_principal, expires_at, delegate, kept_bytes) WHERE status = 'pending'",
    ],
  },
  postgres: {
    columns: { requested_through: "list DEFAULT '{}'", is_asked: 'flag DEFAULT true' },
    constraints: ["CHECK (status = 'pending' OR NOT is_asked)"],
    indexes: [
      'approval_requests_newest (created_at, approval_request_id)',
      "approval_requests_by_question (chain, capability, contract_version, parameters_digest, (coalesce(session_id, '')), created_at)",
      "UNIQUE approval_requests_asked (chain, capability, contract_version, parameters_digest, (coalesce(session_id, '')), declaration_digest) WHERE is_asked",
      "approval_requests_due (expires_at, approval_request_id) INCLUDE (capability) WHERE status = 'pending'",
      "approval_requests_open (capability, expires_at) WHERE status = 'pending'",
      "approval_requests_by_asker ((chain || ' ' || capability), created_at, approval_request_id)",
      "approval_requests_approved (chain, capability, created_at, approval_request_id) WHERE status = 'approved'",
      "approval_requests_waiting (root_principal, expires_at) INCLUDE (delegate, kept_bytes) WHERE status = 'pending'",
    ],
  },
};

/** Each database finds the votes of a request by its primary key, in the order that it needs. */
export const VOTES: Description<VoteFacts> = {
  name: 'approvals',
  fields: {
    approval_request_id: 'text REFERENCES approval_requests',
    place: 'integer CHECK (place >= 0)',
    approver: 'text',
    approved_at: 'time',
    terms: 'json?',
    credential_id: 'text?',
    mac: 'text?',
  },
  sqlite: {
    constraints: [
      'PRIMARY KEY (approval_request_id, approver)',
      'UNIQUE (approval_request_id, place)',
    ],
    options: 'WITHOUT ROWID',
  },
  postgres: {
    constraints: [
      'PRIMARY KEY (approval_request_id, place)',
      'UNIQUE (approval_request_id, approver)',
    ],
  },
};

/** `approved_through` has the principals in the lineage of each approver's token: none of them may use the grant. */
export const GRANTS: Description<GrantRecord> = {
  name: 'grants',
  fields: {
    grant_id: 'text PRIMARY KEY',
    approval_request_id: 'text UNIQUE REFERENCES approval_requests',
    capability: 'text',
    contract_version: 'text',
    declaration_digest: 'text NULL',
    scope: 'list',
    subject: 'text',
    root_principal: 'text',
    chain: 'text NULL',
    parameters: 'json',
    parameters_digest: 'text',
    preview_digest: 'text?',
    grant_type: "text CHECK (grant_type IN ('one_time', 'session_bound'))",
    session_id: 'text?',
    approved_by: 'list',
    approved_through: "list DEFAULT '[]'",
    issued_at: 'time',
    expires_at: 'time',
    max_uses: 'integer CHECK (max_uses > 0)',
    uses: 'integer CHECK (uses BETWEEN 0 AND max_uses)',
    signature: 'text',
    mac: 'text?',
  },
  indexes: [
    'grants_waiting (chain, capability, contract_version, parameters_digest, expires_at, grant_id) WHERE uses < max_uses',
    'grants_unused (capability, expires_at) WHERE uses < max_uses',
  ],
  sqlite: { columns: { approved_by: 'list CHECK (json_array_length(approved_by) > 0)' } },
  postgres: {
    columns: { approved_through: "list DEFAULT '{}'" },
    options: 'fillfactor = 70',
  },
};

export const DELIVERIES: Description<DeliveryRecord> = {
  name: 'deliveries',
  fields: {
    delivery_id: 'text UNIQUE',
    event: "text CHECK (event IN ('requested', 'granted', 'denied', 'expired'))",
    approval_request_id: 'text REFERENCES approval_requests',
    target: 'text',
    payload: 'json',
    state: "text CHECK (state IN ('pending', 'delivered', 'failed'))",
    attempts: 'integer CHECK (attempts >= 0)',
    last_error: 'text?',
    next_attempt_at: 'time?',
    delivered_at: 'time?',
  },
  beside: { place: 'long', leased_until: 'time?' },
  sqlite: {
    columns: { place: 'long PRIMARY KEY' },
    // By target first, so that the notices of a target that is left out are not read.
    indexes: ["deliveries_due (target, next_attempt_at, place) WHERE state = 'pending'"],
  },
  postgres: {
    columns: {
      delivery_id: 'text PRIMARY KEY',
      place: 'long GENERATED ALWAYS AS IDENTITY UNIQUE',
    },
    indexes: ["deliveries_due (next_attempt_at) WHERE state = 'pending'"],
  },
};
