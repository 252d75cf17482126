/**
 * The failure object on the wire, and the closed sets of its fields.
 *
 * @module
 */

import * as z from 'zod';
import {
  ApprovalRequestId,
  ClientReference,
  Digest,
  FieldName,
  InvocationId,
  Principal,
  partialSchema,
} from './primitives.ts';

export const FailureType = z.enum([
  'invalid_parameters',
  'streaming_not_supported',
  'streaming_required',
  'binding_missing',
  'authentication_required',
  'invalid_token',
  'token_expired',
  'scope_insufficient',
  'scope_escalation',
  'not_entitled',
  'approver_not_authorized',
  'purpose_mismatch',
  'non_delegable_action',
  'principal_class_not_admitted',
  'delegation_depth_exceeded',
  'budget_exceeded',
  'budget_currency_mismatch',
  'budget_not_enforceable',
  'control_requirement_unsatisfied',
  'binding_invalid',
  'approval_required',
  'approval_grant_invalid',
  'grant_policy_violation',
  'input_denied',
  'account_required',
  'frozen',
  'unknown_capability',
  'not_found',
  'method_not_allowed',
  'binding_stale',
  'concurrent_branch_busy',
  'idempotency_in_progress',
  'approval_request_decided',
  'approval_request_expired',
  'rollback_window_closed',
  'request_too_large',
  'unsupported_media_type',
  'clarification_required',
  'idempotency_mismatch',
  'composition_child_failed',
  'composition_empty_result',
  'rate_limited',
  'internal_error',
  'service_unavailable',
  'outcome_unknown',
]);
export type FailureType = z.infer<typeof FailureType>;

/**
 * A failure type that a capability declares. Its form does not distinguish it from a type of the
 * protocol: the catalog refuses declarations that shadow one.
 */
export const OwnFailureType = z
  .string()
  .regex(/^[a-z][a-z0-9_]{2,63}$/, 'expected lower-case letters, digits or "_", 3 to 64 of them')
  .brand<'OwnFailureType'>();
export type OwnFailureType = z.infer<typeof OwnFailureType>;

/** Every type that a failure can have. */
export const AnyFailureType = z.union([FailureType, OwnFailureType]);
export type AnyFailureType = z.infer<typeof AnyFailureType>;

/**
 * What a caller can do after a failure. `withRecovery` does it where it can.
 *
 * @example
 * import type { RecoveryClass } from 'writ/client';
 *
 * const needsSomeone: readonly RecoveryClass[] = ['redelegation_then_retry', 'terminal'];
 * console.log(needsSomeone.includes('wait_then_retry'));
 */
export const RecoveryClass = z.enum([
  'retry_now',
  'wait_then_retry',
  'refresh_then_retry',
  'redelegation_then_retry',
  'revalidate_then_retry',
  'terminal',
]);
export type RecoveryClass = z.infer<typeof RecoveryClass>;

export const ResolutionAction = z.enum([
  'retry_now',
  'provide_credentials',
  'wait_and_retry',
  'revalidate_state',
  'check_manifest',
  'provide_input',
  'request_new_delegation',
  'request_broader_scope',
  'request_capability_binding',
  'request_budget_increase',
  'request_budget_bound_delegation',
  'obtain_matching_currency',
  'obtain_quote_first',
  'obtain_binding',
  'refresh_binding',
  'request_approval',
  'invoke_as_root_principal',
]);
export type ResolutionAction = z.infer<typeof ResolutionAction>;

/** A failure of a capability's own, as its declaration announces it. The action decides the recovery class. */
export const FailureDeclaration = z.strictObject({
  /** The name of the failure, which no failure of the protocol has. @example 'seat_taken' */
  type: OwnFailureType,
  /** When it happens, in words for an agent. @example 'another booking has the seat' */
  description: z.string().min(1).max(200),
  /** Whether the same call may succeed later. @example false */
  retry: z.boolean(),
  /** What the caller does next. @example 'revalidate_state' */
  action: ResolutionAction,
});
export type FailureDeclaration = z.infer<typeof FailureDeclaration>;

/**
 * A failure type that a capability declares for itself, as its author writes it.
 *
 * @example
 * import type { DeclaredFailure } from 'writ';
 *
 * const closed: DeclaredFailure = {
 *   type: 'closed_for_the_night',
 *   description: 'the desk opens at six',
 *   retry: true,
 *   action: 'wait_and_retry',
 * };
 */
export type DeclaredFailure = z.input<typeof FailureDeclaration>;

export const FailureResolution = z.object({
  action: ResolutionAction,
  recovery_class: RecoveryClass,
  requires: z.array(z.string()).optional(),
  grantable_by: Principal.optional(),
  estimated_availability: z.string().optional(),
});
export type FailureResolution = z.infer<typeof FailureResolution>;

export const GrantType = z.enum(['one_time', 'session_bound']);
export type GrantType = z.infer<typeof GrantType>;

/** The bounds within which an approver may grant. Travels in the failure and in the manifest. */
export const GrantPolicy = z.strictObject({
  /** For this call alone, or for equal calls of one session. @example ['one_time', 'session_bound'] */
  allowed_grant_types: z.array(GrantType).min(1),
  /** What an approver gives who chooses nothing. @example 'one_time' */
  default_grant_type: GrantType,
  /** How long a grant lives at most, in seconds. @example 900 */
  expires_in_seconds: z.int().positive(),
  /** How many calls a grant allows at most. @example 1 */
  max_uses: z.int().positive(),
});
export type GrantPolicy = z.infer<typeof GrantPolicy>;

/** One input that the caller must provide before the call can run. */
export const Clarification = z.object({
  input: FieldName,
  reason: z.enum(['missing', 'ambiguous', 'unresolved']),
  candidates: z.array(z.unknown()).optional(),
});
export type Clarification = z.infer<typeof Clarification>;

/** A condition of the token that a call did not meet. Never has the value. */
export const UnmetCondition = z.object({
  /** The path of the value, such as `amount` or `to.*`. */
  at: z.string(),
  where: z.record(z.string(), z.unknown()),
  found: z.enum(['outside', 'missing', 'unreadable']),
});

/**
 * Why the service refused, and what the caller can do about it.
 *
 * @example
 * import type { Failure } from 'writ/client';
 *
 * const failure: Failure = {
 *   type: 'budget_exceeded',
 *   detail: 'Cannot spend 420 EUR: token budget is 300',
 *   retry: false,
 *   resolution: { action: 'request_budget_increase', recovery_class: 'redelegation_then_retry' },
 * };
 * console.log(`${failure.detail}; next: ${failure.resolution.action}`);
 */
export const Failure = z
  .object({
    type: AnyFailureType,
    detail: z.string(),
    retry: z.boolean(),
    resolution: FailureResolution,
    approval_request_id: ApprovalRequestId.optional(),
    preview_digest: Digest.optional(),
    requested_parameters_digest: Digest.optional(),
    grant_policy: GrantPolicy.optional(),
    /** With `approval_required`, where people can sign in: the page of the request. Contains no credential. */
    decision_url: z.string().optional(),
    clarify: z.array(Clarification).optional(),
    /** With `scope_insufficient`: the conditions of the token that the call did not meet. The same parameters never will. */
    conditions: z.array(UnmetCondition).optional(),
  })
  .refine(({ retry, resolution }) => !(retry && resolution.recovery_class === 'terminal'), {
    message: 'a terminal failure is never retried',
    path: ['retry'],
  })
  .refine(
    (found) =>
      found.type !== 'approval_required' ||
      (found.approval_request_id && found.requested_parameters_digest && found.grant_policy),
    { message: 'approval_required names its request, digest and policy', path: ['type'] },
  )
  .meta({
    allOf: [
      {
        if: partialSchema({ resolution: partialSchema({ recovery_class: { const: 'terminal' } }) }),
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema, in an object that nothing awaits.
        then: partialSchema({ retry: { const: false } }),
      },
      {
        if: partialSchema({ type: { const: 'approval_required' } }),
        // biome-ignore lint/suspicious/noThenProperty: likewise.
        then: partialSchema(
          { approval_request_id: {}, requested_parameters_digest: {}, grant_policy: {} },
          ['approval_request_id', 'requested_parameters_digest', 'grant_policy'],
        ),
      },
    ],
  });
export type Failure = z.infer<typeof Failure>;

/** Every answer outside 2xx, on every endpoint. The ids are there where an invocation failed. */
export const FailureAnswer = z.object({
  success: z.literal(false),
  invocation_id: InvocationId.optional(),
  client_reference_id: ClientReference.optional(),
  failure: Failure,
});
export type FailureAnswer = z.infer<typeof FailureAnswer>;
