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
  VISIBLE_LINE,
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
  /** Who may find the value: the caller alone, a closed list, a resolver of the service, a policy of the actor. @example 'backend_resolved' */
  mode: ResolutionMode,
  /** The resolver that finds the value, by its name in `createService()`. @example 'travel.traveler' */
  resolver_ref: Reference.optional(),
  /** What happens when the caller sends no value. @example 'use_default' */
  on_missing: ResolutionBehavior.optional(),
  /** What happens when the resolver finds several values. @example 'clarify' */
  on_ambiguous: ResolutionBehavior.optional(),
  /** What happens when the resolver finds no value. @example 'deny' */
  on_unresolved: ResolutionBehavior.optional(),
});
export type InputResolution = z.infer<typeof InputResolution>;

export const Input = z.strictObject({
  /** The name under which a caller sends the value. @example 'amount' */
  name: FieldName,
  /** `string`, `integer`, `number`, `boolean`, `date`, `datetime`, `array`, `object`, or a type of your own with a colon. @example 'number' */
  type: z.string().min(1),
  /** A call without a value is refused, or asks the resolution for one. @example false */
  required: z.boolean().default(true),
  /** The value where the caller sends none. @example 1 */
  default: z.unknown().optional(),
  /** What the value means, in words for an agent and an approver. @example 'Such as BK-1000' */
  description: z.string().optional(),
  /** What kind of thing the value is, for programs and pages; an approver sees `money` with its currency. @example 'money' */
  semantic_type: z.string().optional(),
  /** The value names a business object, so pages and cards show it first. @example true */
  entity_reference: z.boolean().optional(),
  /** The only values that a call may have. @example ['economy', 'business'] */
  allowed_values: z.array(z.unknown()).min(1).optional(),
  /** Where a program finds the allowed values. @example 'iata.airports' */
  catalog_ref: Reference.optional(),
  /** What each value means, by value. @example { flex: 'can be refunded' } */
  input_meanings: z.record(z.string(), z.unknown()).optional(),
  /** How the service finds the value, and what it does when it cannot. @example { mode: 'closed_values', on_unresolved: 'clarify' } */
  resolution: InputResolution.optional(),
});
export type Input = z.infer<typeof Input>;

export const Output = z.strictObject({
  /** The name of the result's type. @example 'booking' */
  type: z.string().min(1),
  /** The names of the result's fields. @example ['booking_id', 'price'] */
  fields: z.array(FieldName),
});

/** A JSON Schema (2020-12) of an object. */
export const ObjectSchema = z.looseObject({ type: z.literal('object') });

export const SideEffectType = z.enum(['read', 'write', 'transactional', 'irreversible']);
export type SideEffectType = z.infer<typeof SideEffectType>;

export const SideEffect = z.strictObject({
  /** How far the effect reaches, and whether it can be undone. @example 'write' */
  type: SideEffectType,
  /** How long after a call its compensation is accepted. @example 'PT24H' */
  rollback_window: Duration.optional(),
  /** The capability that undoes a call of this one. @example 'cancel_booking' */
  compensation: CapabilityName.optional(),
});
export type SideEffect = z.infer<typeof SideEffect>;

export const CostCertainty = z.enum(['fixed', 'estimated', 'dynamic']);
export type CostCertainty = z.infer<typeof CostCertainty>;

export const FinancialCost = z.strictObject({
  /** The currency of every amount beside it. @example 'USD' */
  currency: Currency,
  /** What a call costs, where the cost is `fixed`. @example 25 */
  amount: Amount.optional(),
  /** What a call costs at most, where the cost is `dynamic`. @example 900 */
  upper_bound: Amount.optional(),
  /** The lowest price, where the cost is `estimated`. @example 5 */
  range_min: Amount.optional(),
  /** The highest price, where the cost is `estimated`. @example 300 */
  range_max: Amount.optional(),
  /** What a call usually costs, for the eye alone. @example 40 */
  typical: Amount.optional(),
});

export const Cost = z.strictObject({
  /** `fixed`: always the amount. `estimated`: in a range. `dynamic`: known only from a binding or at the end. @example 'estimated' */
  certainty: CostCertainty,
  /** What a call costs in money. @example { currency: 'USD', range_min: 5, range_max: 300 } */
  financial: FinancialCost.optional(),
  /** Hints about time and resources; you choose the names beside `expected_duration`. @example { expected_duration: 'PT2S' } */
  compute: z.looseObject({ expected_duration: Duration.optional() }).optional(),
  /** What decides the price: the capability that quotes it. @example 'search_flights' */
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
  /** The kind of handle, as `context.issueBinding()` names it. @example 'quote' */
  type: z.string().min(1),
  /** The input that carries the handle. @example 'quote' */
  field: FieldName,
  /** The capability that gives the handle out. @example 'search_flights' */
  source_capability: CapabilityName.optional(),
  /** How old the handle may be. @example 'PT15M' */
  max_age: Duration.optional(),
});
export type BindingRequirement = z.infer<typeof BindingRequirement>;

export const ControlRequirementType = z.enum(['cost_ceiling', 'stronger_delegation_required']);
export type ControlRequirementType = z.infer<typeof ControlRequirementType>;

export const ControlRequirement = z.strictObject({
  /** `cost_ceiling`: the token has a budget. `stronger_delegation_required`: the token names this capability. @example 'cost_ceiling' */
  type: ControlRequirementType,
  /** A call that lacks it is refused. @example 'reject' */
  enforcement: z.literal('reject').default('reject'),
});
export type ControlRequirement = z.infer<typeof ControlRequirement>;

export const ServiceCapabilityRef = z.strictObject({
  /** The id of the other service. @example 'hotel-desk' */
  service: ServiceId,
  /** Its capability. @example 'book_room' */
  capability: CapabilityName,
});
export type ServiceCapabilityRef = z.infer<typeof ServiceCapabilityRef>;

export const CrossService = z.strictObject({
  /** Where the task goes on. @example [{ service: 'hotel-desk', capability: 'book_room' }] */
  handoff_to: z.array(ServiceCapabilityRef).optional(),
  /** Where a stale handle is renewed. @example [{ service: 'fare-desk', capability: 'quote_fare' }] */
  refresh_via: z.array(ServiceCapabilityRef).optional(),
  /** Where the effect can be looked up. @example [{ service: 'ledger', capability: 'get_payment' }] */
  verify_via: z.array(ServiceCapabilityRef).optional(),
  /** What usually comes next. @example [{ service: 'car-desk', capability: 'rent_car' }] */
  followup_via: z.array(ServiceCapabilityRef).optional(),
});
export type CrossService = z.infer<typeof CrossService>;

/** More cases than these are no longer read by a person. */
const REGIONS_MAX = 8;

/** Conditions on the arguments of a call, by the path of a value. */
const Region = z.record(z.string(), z.unknown());
/** One region, or several of which one is enough. */
const Regions = z.union([Region, z.array(Region).min(1).max(REGIONS_MAX)]);
export type Regions = z.infer<typeof Regions>;

const Unless = z.strictObject({ unless: Regions });

/** A threshold in short: of the cost, or of an input, where a number below zero does not pass. */
const Threshold = z.strictObject({ amount_above: Amount, input: FieldName.optional() }).transform(
  ({ amount_above: at_most, input }): z.input<typeof Unless> => ({
    unless: input === undefined ? { $cost: { at_most } } : { [input]: { at_least: 0, at_most } },
  }),
);

/** Which calls are refused: those that may be within a region, or those that are within none. */
export const RefusalRule = z.union([z.strictObject({ when: Regions }), Unless]);
export type RefusalRule = z.infer<typeof RefusalRule>;

/** When approval is needed: always, by conditions on the arguments, or by a condition in words. */
export const ApprovalCondition = z.union([
  z.literal('always'),
  z.union([Threshold, Unless]).pipe(Unless),
  z.strictObject({ where: Regions }),
  z.strictObject({ condition: z.string().min(1) }),
]);
export type ApprovalCondition = z.infer<typeof ApprovalCondition>;

/** The public part of an approval policy. */
export const ApprovalDeclaration = z.strictObject({
  when: ApprovalCondition,
  grant_policy: GrantPolicy,
  approvals_required: z.int().positive().default(1),
  require: z.literal('passkey').optional(),
  binding_age: z.enum(['at_request', 'at_run']).optional(),
});
export type ApprovalDeclaration = z.infer<typeof ApprovalDeclaration>;

export const RateLimit = z.strictObject({
  /** How many calls all callers together may make in one window. @example 10 */
  limit: z.int().positive(),
  /** The length of a window. @example 'PT1M' */
  window: Duration,
});
export type RateLimit = z.infer<typeof RateLimit>;

export const Observability = z.strictObject({
  /** `false` keeps the values of parameters out of the log, which has an entry of every call. @example false */
  logged: z.boolean().optional(),
  /** After this time the values are erased from the log. @example 'P30D' */
  retention: Duration.optional(),
  /** The inputs whose values the entry keeps; none without it. @example ['booking_id'] */
  fields_logged: z.array(FieldName).optional(),
});
export type Observability = z.infer<typeof Observability>;

export const ResponseMode = z.enum(['unary', 'streaming']);
export type ResponseMode = z.infer<typeof ResponseMode>;

/** Agents read all of them; more types are better expressed as one type with different details. */
const FAILURE_TYPES_MAX = 32;

/** In characters: a person reads it as one line. */
const TITLE_LENGTH_MAX = 120;

const Requirement = z.strictObject({
  /** The other capability. @example 'search_flights' */
  capability: CapabilityName,
  /** Why, in words for an agent. @example 'finds the flight and its quote' */
  reason: z.string().min(1),
  /** The handler calls it itself, by `context.invoke`, so an agent does not call it first. @example 'handler' */
  called_by: z.literal('handler').optional(),
});

const BusinessEffects = z.strictObject({
  /** What a call brings about, in words. @example ['a booking'] */
  produces: z.array(z.string()).default([]),
  /** What a reader might expect and does not happen. @example ['a payment'] */
  does_not_produce: z.array(z.string()).default([]),
});

export const CapabilityDeclaration = z.strictObject({
  description: z.string().min(1),
  /** The question of a decision. Names of inputs stand in braces. @example 'Refund {amount} to {customer_id}' */
  title: z
    .string()
    .min(1)
    .max(TITLE_LENGTH_MAX)
    .regex(VISIBLE_LINE, 'expected one line of visible characters')
    .optional(),
  /** The version of this declaration. Raise it with every change: approvals are bound to it. @example '1.1.0' */
  contract_version: SemanticVersion,
  inputs: z.array(Input),
  output: Output,
  /** JSON Schema of the parameters, made from a schema in `inputs`. */
  input_schema: ObjectSchema.optional(),
  /** JSON Schema of the result, made from a schema in `output`. */
  output_schema: ObjectSchema.optional(),
  side_effect: SideEffect,
  minimum_scope: z.array(Scope),
  cost: Cost.optional(),
  /** Capabilities that an agent calls first, and those that the handler calls itself. @example [{ capability: 'search_flights', reason: 'finds the flight and its quote' }] */
  requires: z.array(Requirement).optional(),
  /** `composed`: steps of other capabilities do the work. @example 'composed' */
  kind: z.enum(['atomic', 'composed']).default('atomic'),
  /** The steps of a composed capability. @example { authority_boundary: 'same_service', steps: [{ id: 'search', capability: 'search_flights' }], input_mapping: { search: { origin: '$.input.origin' } }, output_mapping: { flights: '$.steps.search.output.flights' }, failure_policy: 'propagate', audit_policy: { record_child_invocations: true, parent_task_lineage: true } } */
  composition: Composition.optional(),
  /** What a call brings about in the business, and what it does not. @example { produces: ['a booking'] } */
  business_effects: BusinessEffects.optional(),
  requires_binding: z.array(BindingRequirement).optional(),
  /** What a token needs beside its scope. @example [{ type: 'cost_ceiling' }] */
  control_requirements: z.array(ControlRequirement).optional(),
  /** How the result may be sent: at once, or with progress in a stream. @example ['unary', 'streaming'] */
  response_modes: z.array(ResponseMode).min(1).default(['unary']),
  /** What the log keeps of the parameters, and how long. @example { fields_logged: ['booking_id'], retention: 'P30D' } */
  observability: Observability.optional(),
  /** Capabilities that renew a stale handle of this one. @example ['search_flights'] */
  refresh_via: z.array(CapabilityName).optional(),
  /** Capabilities that look up what a call of unknown outcome did. @example ['get_booking'] */
  verify_via: z.array(CapabilityName).optional(),
  /** Capabilities of other services that belong to the task. @example { followup_via: [{ service: 'car-desk', capability: 'rent_car' }] } */
  cross_service: CrossService.optional(),
  /** `false`: only the root principal may call it, with no token below the root. @example false */
  delegable: z.boolean().default(true),
  /** Which classes of principals may call it; all without it. @example ['human'] */
  principal_classes: z.array(PrincipalClass).min(1).optional(),
  /** How far below the root a token may be that calls it. @example 1 */
  max_delegation_depth: z.int().nonnegative().optional(),
  /** How many calls a window takes. @example { limit: 10, window: 'PT1M' } */
  rate_limit: RateLimit.optional(),
  /** What happens when the handler reports more than was reserved. By default only a debt and an alarm. @example 'freeze' */
  on_overrun: z.literal('freeze').optional(),
  approval: ApprovalDeclaration.optional(),
  /** Calls that are refused, whoever makes them. @example { unless: { to: { email_domain: 'example.com' } } } */
  refuse: RefusalRule.optional(),
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
