/**
 * Failures: every way the service refuses, and what a caller can do about each.
 *
 * A failure is a value. A rule returns the failure it found, or `undefined`; `refuse` throws it. Only this
 * file sets the retry flag, the action and the recovery class of a protocol failure, so two endpoints
 * cannot give different guidance for the same failure. A capability's own failures take flag and action
 * from their declaration. Each action has exactly one recovery class.
 *
 * @module
 */

import type { ControlRequirementType } from '../protocol/capability.ts';
import type {
  Failure,
  FailureDeclaration,
  FailureResolution,
  FailureType,
  RecoveryClass,
  ResolutionAction,
} from '../protocol/failure.ts';

export const RECOVERY = {
  retry_now: 'retry_now',
  provide_credentials: 'retry_now',
  wait_and_retry: 'wait_then_retry',
  request_approval: 'wait_then_retry',
  revalidate_state: 'revalidate_then_retry',
  check_manifest: 'revalidate_then_retry',
  provide_input: 'revalidate_then_retry',
  obtain_quote_first: 'refresh_then_retry',
  obtain_binding: 'refresh_then_retry',
  refresh_binding: 'refresh_then_retry',
  request_new_delegation: 'redelegation_then_retry',
  request_broader_scope: 'redelegation_then_retry',
  request_capability_binding: 'redelegation_then_retry',
  request_budget_increase: 'redelegation_then_retry',
  request_budget_bound_delegation: 'redelegation_then_retry',
  obtain_matching_currency: 'redelegation_then_retry',
  invoke_as_root_principal: 'terminal',
} as const satisfies Record<ResolutionAction, RecoveryClass>;

interface Guidance {
  readonly retry: boolean;
  readonly action: ResolutionAction;
  /** The situation in words. The failures page and the API description print it. */
  readonly when: string;
}

/** A failure type without a row does not compile. */
export const GUIDANCE = {
  invalid_parameters: stop(
    'check_manifest',
    'the request is malformed, of the wrong type or form, or names an unknown parameter',
  ),
  streaming_not_supported: stop(
    'check_manifest',
    'the caller asked for a stream, and the capability does not stream',
  ),
  streaming_required: stop(
    'check_manifest',
    'the caller asked for one answer, and the capability only streams',
  ),
  binding_missing: stop('obtain_binding', 'a required binding is absent from the parameters'),
  authentication_required: again(
    'provide_credentials',
    'the caller presented no credential, or an unknown one',
  ),
  invalid_token: stop(
    'request_new_delegation',
    'the token is malformed, forged, unknown or revoked',
  ),
  token_expired: stop('request_new_delegation', 'the token has expired'),
  scope_insufficient: stop(
    'request_broader_scope',
    'the token lacks a scope that the capability needs, or its conditions do not allow the call',
  ),
  scope_escalation: stop(
    'request_broader_scope',
    'the request names a scope for a child token that its parent lacks',
  ),
  not_entitled: stop(
    'request_broader_scope',
    'the principal is not entitled to what it asks for in a token',
  ),
  approver_not_authorized: stop(
    'request_broader_scope',
    'the caller may not decide this approval request',
  ),
  purpose_mismatch: stop(
    'request_capability_binding',
    'the token is bound to another capability, task, purpose or session',
  ),
  non_delegable_action: stop('invoke_as_root_principal', 'only the root principal may do this'),
  principal_class_not_admitted: stop(
    'request_new_delegation',
    'the capability does not admit principals of this class',
  ),
  delegation_depth_exceeded: stop(
    'request_new_delegation',
    'the delegation is deeper or wider than the lineage, the capability or the service allows',
  ),
  budget_exceeded: stop('request_budget_increase', 'the cost is above what remains of the budget'),
  budget_currency_mismatch: stop(
    'obtain_matching_currency',
    'budget and cost are in different currencies',
  ),
  budget_not_enforceable: stop(
    'obtain_quote_first',
    'the token has a budget, and no binding fixes the cost of the call',
  ),
  control_requirement_unsatisfied: stop(
    'request_capability_binding',
    'the token does not meet a declared control requirement',
  ),
  binding_invalid: stop(
    'refresh_binding',
    'the service did not issue the binding for this caller and capability',
  ),
  approval_required: stop('request_approval', 'a person must approve this call first'),
  approval_grant_invalid: stop(
    'request_approval',
    'the approval grant does not fit this call, has expired or is used up',
  ),
  grant_policy_violation: stop(
    'check_manifest',
    'the requested grant is outside the policy of the capability',
  ),
  input_denied: stop('check_manifest', 'the policy of an input refuses its value or its absence'),
  // Neither a new token nor waiting helps: the person has to act first.
  account_required: stop(
    'revalidate_state',
    'the person has not connected the account at another service that the call needs, or has to connect it again',
  ),
  frozen: again(
    'wait_and_retry',
    'an operator has frozen the principal, the capability or the service',
  ),
  unknown_capability: stop('check_manifest', 'the service has no such capability'),
  not_found: stop(
    'check_manifest',
    'the named record does not exist, or the caller may not see it',
  ),
  method_not_allowed: stop('check_manifest', 'the path exists, but not with this method'),
  binding_stale: again('refresh_binding', 'the binding is older than its max_age'),
  concurrent_branch_busy: again(
    'wait_and_retry',
    'another invocation runs under the exclusive token',
  ),
  idempotency_in_progress: again('wait_and_retry', 'the first call with this key is still running'),
  approval_request_decided: stop('revalidate_state', 'the approval request is already decided'),
  approval_request_expired: stop('revalidate_state', 'the approval request has expired'),
  rollback_window_closed: stop(
    'revalidate_state',
    'the rollback window of the call to undo has closed',
  ),
  request_too_large: stop('check_manifest', 'the request is larger than the limit'),
  unsupported_media_type: stop('check_manifest', 'the body is not plain JSON'),
  clarification_required: stop(
    'provide_input',
    'an input is missing, ambiguous or not resolvable, and its policy asks for clarification',
  ),
  idempotency_mismatch: stop(
    'revalidate_state',
    'the key was used for a call with other parameters',
  ),
  composition_child_failed: stop('revalidate_state', 'a step of a composed capability failed'),
  composition_empty_result: stop(
    'revalidate_state',
    'a step of a composed capability found nothing',
  ),
  rate_limited: again(
    'wait_and_retry',
    'the principal, the capability or the address is over its rate limit, or too many approval requests wait',
  ),
  // The effect may have happened before the defect, so the caller must look before trying again.
  internal_error: stop('revalidate_state', 'the service or a handler has a defect'),
  service_unavailable: again(
    'wait_and_retry',
    'the store or the log cannot be written, an issuer cannot be reached, or the service is overloaded; nothing ran',
  ),
  outcome_unknown: stop(
    'revalidate_state',
    'the handler may have acted, and its outcome is not recorded',
  ),
} as const satisfies Record<FailureType, Guidance>;

/**
 * Types that only the service gives, never a handler: who asks, what was approved, which call a key belongs to.
 */
export const OF_THE_SERVICE: ReadonlySet<FailureType> = new Set([
  'authentication_required',
  'invalid_token',
  'token_expired',
  'approval_required',
  'approval_grant_invalid',
  'approval_request_decided',
  'approval_request_expired',
  'frozen',
  'idempotency_in_progress',
  'idempotency_mismatch',
]);

/** The action for `control_requirement_unsatisfied`, by the requirement that is unmet. */
export const CONTROL_ACTION = {
  cost_ceiling: 'request_budget_bound_delegation',
  stronger_delegation_required: 'request_capability_binding',
} as const satisfies Record<ControlRequirementType, ResolutionAction>;

/** Optional hints for the caller's next step. */
export type FailureAdvice = Pick<
  FailureResolution,
  'requires' | 'grantable_by' | 'estimated_availability'
>;

/** Fields that a rule may set. Retry flag and action come from the tables above. */
export interface FailureFacts
  extends FailureAdvice,
    Pick<
      Failure,
      | 'approval_request_id'
      | 'preview_digest'
      | 'decision_url'
      | 'requested_parameters_digest'
      | 'grant_policy'
      | 'clarify'
      | 'conditions'
    > {
  /** Which requirement is unmet; only for `control_requirement_unsatisfied`. */
  readonly control?: ControlRequirementType;
}

/** Builds a failure. The type (and the control requirement) alone decides the guidance. */
export function failure(type: FailureType, detail: string, facts: FailureFacts = {}): Failure {
  const { control, ...rest } = facts;
  const unmet = type === 'control_requirement_unsatisfied' ? control : undefined;
  const action = unmet ? CONTROL_ACTION[unmet] : GUIDANCE[type].action;
  return guided({ type, retry: GUIDANCE[type].retry, action }, detail, rest);
}

/** Builds a failure of a type that the capability declares. The declaration alone decides the guidance. */
export function ownFailure(
  declared: FailureDeclaration,
  detail: string,
  advice: FailureAdvice,
): Failure {
  return guided(declared, detail, advice);
}

/** True for a failure type of the protocol, false for one that a capability declares. */
export function isOfProtocol(type: string): type is FailureType {
  return Object.hasOwn(GUIDANCE, type);
}

function guided(
  { type, retry, action }: Pick<FailureDeclaration, 'retry' | 'action'> & Pick<Failure, 'type'>,
  detail: string,
  facts: Omit<FailureFacts, 'control'>,
): Failure {
  const { requires, grantable_by, estimated_availability, ...fields } = facts;
  return {
    type,
    detail,
    retry,
    resolution: {
      action,
      recovery_class: RECOVERY[action],
      ...(requires && { requires }),
      ...(grantable_by && { grantable_by }),
      ...(estimated_availability && { estimated_availability }),
    },
    ...fields,
  };
}

/** Carries a failure to the operation that answers with it. Each operation catches it once. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly failure: Failure;

  constructor(found: Failure, options?: ErrorOptions) {
    // An expected answer: its stack trace is never read, and capturing one is most of its cost.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(found.detail, options);
    Error.stackTraceLimit = stackTraceLimit;
    this.failure = found;
  }
}

/** Throws a `Refusal` when a rule found a failure. */
export function refuse(found: Failure | undefined): void {
  if (found) throw new Refusal(found);
}

/** The same call cannot succeed when it is repeated unchanged. */
function stop<Action extends ResolutionAction>(action: Action, when: string) {
  return { retry: false, action, when } as const;
}

/** The same call may succeed later, or after `action`. */
function again<Action extends ResolutionAction>(action: Action, when: string) {
  return { retry: true, action, when } as const;
}
