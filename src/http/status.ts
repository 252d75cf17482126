/**
 * Which HTTP status answers each failure. The domain does not know HTTP.
 *
 * @module
 */

import { isOfProtocol } from '../domain/failure.ts';
import type { Failure, FailureType } from '../protocol/failure.ts';

/** The specification fixes only 401 and "4xx". A new failure type does not compile without a row. */
export const STATUS = {
  invalid_parameters: 400,
  streaming_not_supported: 400,
  streaming_required: 400,
  binding_missing: 400,
  authentication_required: 401,
  invalid_token: 401,
  token_expired: 401,
  scope_insufficient: 403,
  scope_escalation: 403,
  not_entitled: 403,
  approver_not_authorized: 403,
  purpose_mismatch: 403,
  non_delegable_action: 403,
  principal_class_not_admitted: 403,
  delegation_depth_exceeded: 403,
  budget_exceeded: 403,
  budget_currency_mismatch: 403,
  budget_not_enforceable: 403,
  control_requirement_unsatisfied: 403,
  binding_invalid: 403,
  approval_required: 403,
  approval_grant_invalid: 403,
  grant_policy_violation: 403,
  input_denied: 403,
  account_required: 403,
  frozen: 403,
  unknown_capability: 404,
  not_found: 404,
  method_not_allowed: 405,
  binding_stale: 409,
  concurrent_branch_busy: 409,
  idempotency_in_progress: 409,
  approval_request_decided: 409,
  approval_request_expired: 409,
  rollback_window_closed: 409,
  request_too_large: 413,
  unsupported_media_type: 415,
  clarification_required: 422,
  idempotency_mismatch: 422,
  composition_child_failed: 422,
  composition_empty_result: 422,
  rate_limited: 429,
  internal_error: 500,
  service_unavailable: 503,
  outcome_unknown: 503,
} as const satisfies Record<FailureType, number>;

/** A capability's own failure: the request was understood, and could not be done as it stands. */
export const OWN_STATUS = 422;

export function statusOf({ type }: Pick<Failure, 'type'>): number {
  return isOfProtocol(type) ? STATUS[type] : OWN_STATUS;
}
