/**
 * Composition: how data and money flow between the steps of one call, and what an empty result means.
 *
 * Pure. Paths reach own properties of parameters and results, never inherited ones. A path that leads
 * nowhere sends nothing, and the declaration of the step decides what that means.
 *
 * @module
 */

import type { Capability, Catalog } from '../../protocol/capability.ts';
import type { Composition, CompositionStep } from '../../protocol/composition.ts';
import type { Clarification, Failure } from '../../protocol/failure.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { failure } from '../failure.ts';
import { type Charge, priceOf } from '../invocation/budget.ts';
import { formatMinor } from '../values/money.ts';

/** The sources of paths: the parameters of the composed call, and the result of each step so far. */
export interface Flow {
  readonly input: JsonObject;
  readonly outputs: ReadonlyMap<string, JsonObject>;
}

/** The capability of each step, in order; none for an atomic capability. */
export function stepCapabilities(
  { capabilities }: Catalog,
  { name, composition }: Capability,
): Capability[] {
  return (composition?.steps ?? []).map((step) => {
    const capability = capabilities.get(step.capability);
    if (capability) return capability;
    throw new Error(`Cannot run step "${step.id}" of "${name}": there is no "${step.capability}"`);
  });
}

/** The parameters of a step. */
export function stepParameters(
  { input_mapping }: Composition,
  { id }: CompositionStep,
  flow: Flow,
): JsonObject {
  const mapping = Object.hasOwn(input_mapping, id) ? input_mapping[id] : undefined;
  const sent = Object.entries(mapping ?? {}).flatMap(([name, path]): [string, unknown][] => {
    const value = valueAt(path, flow);
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(sent);
}

/** The result of the composed call. A field whose path leads nowhere is null, so that every field is present. */
export function composedOutput({ output_mapping }: Composition, flow: Flow): JsonObject {
  const fields = Object.entries(output_mapping).map(([field, path]): [string, unknown] => [
    field,
    valueAt(path, flow) ?? null,
  ]);
  return Object.fromEntries(fields);
}

/** Whether a step that is an `empty_result_source` found nothing. */
export function isEmptyResult(step: CompositionStep, output: JsonObject): boolean {
  if (!step.empty_result_source) return false;
  const path = step.empty_result_path?.split('.') ?? [];
  return isEmpty(descend(output, path));
}

export type EmptyEnding =
  | { readonly result: JsonObject }
  | { readonly failure: Failure }
  /** Without a policy, the next step runs. */
  | undefined;

/** How the composed call ends when a step found nothing. */
export function emptyEnding(
  { name, output, composition }: Capability,
  step: CompositionStep,
): EmptyEnding {
  switch (composition?.empty_result_policy) {
    case 'return_success_no_results': {
      const given = composition.empty_result_output ?? {};
      const fields = output.fields.map((field): [string, unknown] => [
        field,
        Object.hasOwn(given, field) ? given[field] : null,
      ]);
      return { result: Object.fromEntries(fields) };
    }
    case 'clarify': {
      const detail = `Cannot complete "${name}" yet: step "${step.id}" found nothing`;
      const clarify = inputsOf(composition, step);
      return { failure: failure('clarification_required', detail, { clarify }) };
    }
    case 'deny': {
      const detail = `Cannot complete "${name}": step "${step.id}" found nothing`;
      return { failure: failure('composition_empty_result', detail) };
    }
    default:
      return undefined;
  }
}

function valueAt(path: string, { input, outputs }: Flow): unknown {
  const [, source, ...rest] = path.split('.');
  if (source === 'input') return descend(input, rest);
  const [id = '', , ...inside] = rest;
  return descend(outputs.get(id), inside);
}

/** Follows enumerable own properties: neither inherited ones nor the length of an array. */
function descend(from: unknown, names: readonly string[]): unknown {
  let value = from;
  for (const name of names) {
    if (typeof value !== 'object' || value === null) return undefined;
    if (!Object.prototype.propertyIsEnumerable.call(value, name)) return undefined;
    value = (value as JsonObject)[name];
  }
  return value;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** The inputs of the composed call that are mapped to a step: another value of one of them may find more. */
function inputsOf({ input_mapping }: Composition, { id }: CompositionStep): Clarification[] {
  const mapping = Object.hasOwn(input_mapping, id) ? input_mapping[id] : undefined;
  const names = Object.values(mapping ?? {}).flatMap((path) => {
    const [, source, name] = path.split('.');
    return source === 'input' && name !== undefined ? [name] : [];
  });
  return [...new Set(names)].map((input) => ({ input, reason: 'unresolved' }));
}

/** The reserved amount, and the sum of what the steps have drawn so far. */
export interface Reservation {
  /** Absent where no amount could be checked. The cost is then only reported. */
  readonly reserved?: Charge | undefined;
  readonly drawn: bigint;
  /** Whether a budget applies. Then a step whose price cannot be checked is refused. */
  readonly isBudgeted: boolean;
}

export interface Draw {
  readonly failure?: Failure | undefined;
  /** The most that the step may draw. */
  readonly price?: Charge | undefined;
}

/** Prices one step. `bound` is the price that its bindings pin. */
export function checkDraw(
  { name, cost }: Capability,
  { reserved, drawn, isBudgeted }: Reservation,
  bound?: Charge,
): Draw {
  if (!cost?.financial) return {};
  const { currency } = cost.financial;
  const left = reserved && { currency, amount: reserved.amount - drawn };
  const price = priceOf(cost, bound);
  if (!price || price.currency !== currency) {
    if (!isBudgeted) return { price: left };
    const detail = `Cannot run "${name}": no binding fixes its ${cost.certainty} cost`;
    return { failure: failure('budget_not_enforceable', detail) };
  }
  if (!left || price.amount <= left.amount) return { price };
  const [needed, rest] = [price, left].map(({ amount }) => formatMinor(amount, currency));
  const detail = `Cannot run "${name}" for ${needed} ${currency}: ${rest} is left of the reservation for the composed call`;
  return { failure: failure('budget_exceeded', detail) };
}
