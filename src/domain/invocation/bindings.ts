/**
 * Bindings: facts that a call pins with a handle which the service issued earlier.
 *
 * Price and age come from the stored binding; what the caller writes about them is ignored. An invented
 * handle, a handle of another principal and a handle for another capability get the same failure.
 *
 * @module
 */

import type { BindingRequirement, Capability } from '../../protocol/capability.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { failure } from '../failure.ts';
import { parseDuration } from '../values/duration.ts';
import type { Charge } from './budget.ts';

/** The facts of a handle, no matter where it was issued. */
export interface BindingFacts {
  readonly type: string;
  readonly capability: string;
  readonly root_principal: string;
  readonly price?: Charge | undefined;
  readonly data: JsonObject;
  readonly issued_at: Date;
}

export interface BindingCheck {
  readonly failure?: Failure | undefined;
  /** Keyed by the field that carried the handle. */
  readonly bound: ReadonlyMap<string, BindingFacts>;
}

export interface BindingContext {
  readonly root_principal: string;
  /** The moment at which the call is judged: now, or when its approval was requested. */
  readonly at: Date;
  find(handle: string): BindingFacts | undefined;
}

/** Whether the policy of one of them refuses quotes that are too old when the approved call runs. */
export function isFreshAtRun(...capabilities: readonly Capability[]): boolean {
  return capabilities.some(({ approval }) => approval?.binding_age === 'at_run');
}

/** The handles that a call carries, in the order of the requirements. */
export function handlesOf(capability: Capability, parameters: JsonObject): string[] {
  const handles: string[] = [];
  for (const { field } of capability.requires_binding ?? []) {
    const handle = Object.hasOwn(parameters, field) ? parameters[field] : undefined;
    if (typeof handle === 'string') handles.push(handle);
  }
  return handles;
}

export function checkBindings(
  capability: Capability,
  parameters: JsonObject,
  context: BindingContext,
): BindingCheck {
  const bound = new Map<string, BindingFacts>();
  for (const requirement of capability.requires_binding ?? []) {
    const value = Object.hasOwn(parameters, requirement.field)
      ? parameters[requirement.field]
      : undefined;
    if (value === undefined || value === null) {
      return { bound, failure: missing(capability, requirement) };
    }
    const facts = typeof value === 'string' ? context.find(value) : undefined;
    if (!facts || !isFor(facts, capability, requirement, context)) {
      return { bound, failure: unusable(requirement) };
    }
    if (isStale(facts, requirement, context.at)) return { bound, failure: stale(requirement) };
    bound.set(requirement.field, facts);
  }
  return { bound };
}

/** The price that the bindings pin, if exactly one of them pins one. */
export function boundPrice(bound: ReadonlyMap<string, BindingFacts>): Charge | undefined {
  const prices: Charge[] = [];
  for (const { price } of bound.values()) if (price) prices.push(price);
  return prices.length === 1 ? prices[0] : undefined;
}

function isFor(
  facts: BindingFacts,
  capability: Capability,
  { type }: BindingRequirement,
  { root_principal }: BindingContext,
): boolean {
  return (
    facts.type === type &&
    facts.capability === capability.name &&
    facts.root_principal === root_principal
  );
}

function isStale({ issued_at }: BindingFacts, { max_age }: BindingRequirement, at: Date): boolean {
  if (max_age === undefined) return false;
  return at.getTime() - issued_at.getTime() > (parseDuration(max_age) as number);
}

function missing({ name }: Capability, { field, source_capability }: BindingRequirement): Failure {
  const source = source_capability ? ` from "${source_capability}"` : '';
  const detail = `Cannot invoke "${name}": parameter "${field}" needs a binding${source}`;
  return failure('binding_missing', detail, {
    requires: source_capability ? [field, source_capability] : [field],
  });
}

function unusable({ field }: BindingRequirement): Failure {
  const detail = `Cannot use the binding in "${field}": this service did not issue it for this caller and capability`;
  return failure('binding_invalid', detail, { requires: [field] });
}

function stale({ field, max_age, source_capability }: BindingRequirement): Failure {
  const detail = `Cannot use the binding in "${field}": it is older than ${max_age}`;
  return failure('binding_stale', detail, {
    requires: source_capability ? [field, source_capability] : [field],
  });
}
