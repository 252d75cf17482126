/**
 * Capability declarations, as a service publishes them in its manifest.
 *
 * Strict, so that a misspelt field of a declaration stops the start instead of being ignored. Rules
 * that compare two fields or two capabilities are in the catalog (`domain/catalog/catalog.ts`).
 *
 * @module
 */

import * as z from 'zod';
import { Composition } from './composition.ts';
import { FailureDeclaration, GrantPolicy } from './failure.ts';
import {
  Amount,
  CapabilityName,
  Currency,
  Duration,
  FieldName,
  PrincipalClass,
  Scope,
  SemanticVersion,
  ServiceId,
} from './primitives.ts';

export const ResolutionMode = z.enum([
  'closed_values',
  'backend_resolved',
  'actor_policy',
  'actor_policy_or_explicit',
  'app_selected',
  'explicit_only',
  'clarify',
]);
export type ResolutionMode = z.infer<typeof ResolutionMode>;

export const ResolutionBehavior = z.enum([
  'clarify',
  'use_default',
  'use_actor_scope',
  'app_select_or_clarify',
  'deny',
  'deny_or_clarify',
  'omit',
]);
export type ResolutionBehavior = z.infer<typeof ResolutionBehavior>;

/** The name of a catalog or resolver. It is public, so it must not be a secret. */
export const Reference = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_.:/-]{0,127}$/, 'expected an identifier, not a value');

export const InputResolution = z.strictObject({
  mode: ResolutionMode,
  resolver_ref: Reference.optional(),
  on_missing: ResolutionBehavior.optional(),
  on_ambiguous: ResolutionBehavior.optional(),
  on_unresolved: ResolutionBehavior.optional(),
});
export type InputResolution = z.infer<typeof InputResolution>;

export const Input = z.strictObject({
  name: FieldName,
  type: z.string().min(1),
  required: z.boolean().default(true),
  default: z.unknown().optional(),
  description: z.string().optional(),
  semantic_type: z.string().optional(),
  entity_reference: z.boolean().optional(),
  allowed_values: z.array(z.unknown()).min(1).optional(),
  catalog_ref: Reference.optional(),
  input_meanings: z.record(z.string(), z.unknown()).optional(),
  resolution: InputResolution.optional(),
});
export type Input = z.infer<typeof Input>;

export const Output = z.strictObject({
  type: z.string().min(1),
  fields: z.array(FieldName),
});

/** A JSON Schema (2020-12) of an object. */
export const ObjectSchema = z.looseObject({ type: z.literal('object') });

export const SideEffectType = z.enum(['read', 'write', 'transactional', 'irreversible']);
export type SideEffectType = z.infer<typeof SideEffectType>;

export const SideEffect = z.strictObject({
  type: SideEffectType,
  rollback_window: Duration.optional(),
  compensation: CapabilityName.optional(),
});
export type SideEffect = z.infer<typeof SideEffect>;

export const CostCertainty = z.enum(['fixed', 'estimated', 'dynamic']);
export type CostCertainty = z.infer<typeof CostCertainty>;

export const FinancialCost = z.strictObject({
  currency: Currency,
  amount: Amount.optional(),
  upper_bound: Amount.optional(),
  range_min: Amount.optional(),
  range_max: Amount.optional(),
  typical: Amount.optional(),
});

export const Cost = z.strictObject({
  certainty: CostCertainty,
  financial: FinancialCost.optional(),
  // The author chooses the names of resource hints.
  compute: z.looseObject({ expected_duration: Duration.optional() }).optional(),
  determined_by: z.string().optional(),
});
export type Cost = z.infer<typeof Cost>;

/**
 * A handle that a call has to carry in one of its inputs.
 *
 * @example
 * import type { BindingRequirement } from 'writ';
 *
 * const quote: BindingRequirement = { type: 'quote', field: 'quote', max_age: 'PT15M' };
 */
export const BindingRequirement = z.strictObject({
  type: z.string().min(1),
  field: FieldName,
  source_capability: CapabilityName.optional(),
  max_age: Duration.optional(),
});
export type BindingRequirement = z.infer<typeof BindingRequirement>;

export const ControlRequirementType = z.enum(['cost_ceiling', 'stronger_delegation_required']);
export type ControlRequirementType = z.infer<typeof ControlRequirementType>;

export const ControlRequirement = z.strictObject({
  type: ControlRequirementType,
  enforcement: z.literal('reject').default('reject'),
});
export type ControlRequirement = z.infer<typeof ControlRequirement>;

export const ServiceCapabilityRef = z.strictObject({
  service: ServiceId,
  capability: CapabilityName,
});
export type ServiceCapabilityRef = z.infer<typeof ServiceCapabilityRef>;

export const CrossService = z.strictObject({
  handoff_to: z.array(ServiceCapabilityRef).optional(),
  refresh_via: z.array(ServiceCapabilityRef).optional(),
  verify_via: z.array(ServiceCapabilityRef).optional(),
  followup_via: z.array(ServiceCapabilityRef).optional(),
});
export type CrossService = z.infer<typeof CrossService>;

/** When approval is needed: always, above an amount (of the cost, or of an input), or a condition in words. */
export const ApprovalCondition = z.union([
  z.literal('always'),
  z.strictObject({ amount_above: Amount, input: FieldName.optional() }),
  z.strictObject({ condition: z.string().min(1) }),
]);
export type ApprovalCondition = z.infer<typeof ApprovalCondition>;

/** The public part of an approval policy. */
export const ApprovalDeclaration = z.strictObject({
  when: ApprovalCondition,
  grant_policy: GrantPolicy,
  approvals_required: z.int().positive().default(1),
  /** `passkey`: no approval counts unless the approver confirms it with a passkey. */
  require: z.literal('passkey').optional(),
  /** When the bindings of an approved call must be fresh: when it was requested (the default), or when it runs. */
  binding_age: z.enum(['at_request', 'at_run']).optional(),
});
export type ApprovalDeclaration = z.infer<typeof ApprovalDeclaration>;

export const RateLimit = z.strictObject({ limit: z.int().positive(), window: Duration });
export type RateLimit = z.infer<typeof RateLimit>;

export const Observability = z.strictObject({
  logged: z.boolean().optional(),
  retention: Duration.optional(),
  fields_logged: z.array(FieldName).optional(),
});
export type Observability = z.infer<typeof Observability>;

export const ResponseMode = z.enum(['unary', 'streaming']);
export type ResponseMode = z.infer<typeof ResponseMode>;

/** Agents read all of them; more types are better expressed as one type with different details. */
const FAILURE_TYPES_MAX = 32;

/** In characters: a person reads it as one line. */
const TITLE_LENGTH_MAX = 120;

export const CapabilityDeclaration = z.strictObject({
  description: z.string().min(1),
  /** The question of a decision, such as `Refund {amount} to {customer_id}`: names of inputs stand in braces. */
  title: z
    .string()
    .min(1)
    .max(TITLE_LENGTH_MAX)
    .regex(/^[^\p{C}\p{Zl}\p{Zp}]*$/u, 'expected one line of visible characters')
    .optional(),
  contract_version: SemanticVersion,
  inputs: z.array(Input),
  output: Output,
  /** JSON Schema of the parameters and of the result, where the author declared them by a schema. */
  input_schema: ObjectSchema.optional(),
  output_schema: ObjectSchema.optional(),
  side_effect: SideEffect,
  minimum_scope: z.array(Scope),
  cost: Cost.optional(),
  requires: z
    .array(z.strictObject({ capability: CapabilityName, reason: z.string().min(1) }))
    .optional(),
  kind: z.enum(['atomic', 'composed']).default('atomic'),
  composition: Composition.optional(),
  business_effects: z
    .strictObject({
      produces: z.array(z.string()).default([]),
      does_not_produce: z.array(z.string()).default([]),
    })
    .optional(),
  requires_binding: z.array(BindingRequirement).optional(),
  control_requirements: z.array(ControlRequirement).optional(),
  response_modes: z.array(ResponseMode).min(1).default(['unary']),
  observability: Observability.optional(),
  refresh_via: z.array(CapabilityName).optional(),
  verify_via: z.array(CapabilityName).optional(),
  cross_service: CrossService.optional(),
  delegable: z.boolean().default(true),
  principal_classes: z.array(PrincipalClass).min(1).optional(),
  max_delegation_depth: z.int().nonnegative().optional(),
  rate_limit: RateLimit.optional(),
  /** What happens when the handler reports more than was reserved. By default only a debt and an alarm. */
  on_overrun: z.literal('freeze').optional(),
  approval: ApprovalDeclaration.optional(),
  /** Failure types of the handler, in addition to those of the protocol. */
  failure_types: z.array(FailureDeclaration).min(1).max(FAILURE_TYPES_MAX).optional(),
});
export type CapabilityDeclaration = z.infer<typeof CapabilityDeclaration>;
/** A declaration as written: fields with a default may be absent. */
export type DeclaredCapability = z.input<typeof CapabilityDeclaration>;
export type DeclaredInput = z.input<typeof Input>;
export type DeclaredApproval = z.input<typeof ApprovalDeclaration>;

/** A declaration with its name in the manifest. */
export interface Capability extends CapabilityDeclaration {
  readonly name: string;
}

/** The declared capabilities, by name. */
export interface Catalog {
  readonly capabilities: ReadonlyMap<string, Capability>;
}
