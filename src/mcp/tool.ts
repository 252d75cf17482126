/**
 * Describes a capability as a tool: name, description, input schema and hints.
 *
 * Pure: uses the declaration alone. The service decides which capabilities a caller sees as
 * tools, and checks every call again, whatever the schema allows.
 *
 * @module
 */

import { defaultApplies } from '../domain/invocation/inputs.ts';
import type { CapabilityDeclaration, Input, SideEffectType } from '../protocol/capability.ts';
import type { JsonObject } from '../protocol/primitives.ts';

/** As `tools/list` returns them. */
export interface CapabilityTool {
  name: string;
  description: string;
  inputSchema: { type: 'object' } & JsonObject;
  outputSchema: { type: 'object' } & JsonObject;
  annotations: { readOnlyHint: boolean; destructiveHint: boolean; idempotentHint: boolean };
}

/** The approval grant of the call that continues. */
export const GRANT_PARAMETER = 'svc_approval_grant';
/** The idempotency key of a call. */
export const KEY_PARAMETER = 'svc_idempotency_key';

export function toolOf(name: string, capability: CapabilityDeclaration): CapabilityTool {
  return {
    name,
    description: descriptionOf(capability),
    inputSchema: inputSchemaOf(capability),
    outputSchema: outputSchemaOf(capability),
    annotations: HINTS[capability.side_effect.type],
  };
}

/**
 * Only what is permanent counts as destructive: a `write` can be reversed, a `transactional` change
 * rolled back. Nothing but a read is idempotent by itself; the key makes one call so.
 */
const HINTS = {
  read: { readOnlyHint: true, destructiveHint: false, idempotentHint: true },
  write: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
  transactional: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
  irreversible: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
} as const satisfies Record<SideEffectType, CapabilityTool['annotations']>;

const EFFECTS = {
  read: 'Changes nothing.',
  write: 'Changes state; the change can be reversed.',
  transactional: 'Changes state; the change can be rolled back for a while.',
  irreversible: 'Changes state for good: it cannot be undone.',
} as const satisfies Record<SideEffectType, string>;

function descriptionOf(capability: CapabilityDeclaration): string {
  const { description, side_effect, requires = [], verify_via = [] } = capability;
  const { compensation, rollback_window } = side_effect;
  return [
    description,
    EFFECTS[side_effect.type],
    compensation &&
      `Undone by ${compensation}${rollback_window ? ` within ${rollback_window}` : ''}.`,
    costText(capability),
    ...requires.map((each) => `Needs ${each.capability} first: ${each.reason}.`),
    ...(capability.business_effects?.does_not_produce ?? []).map(
      (each) => `Does not give ${each}.`,
    ),
    capability.approval && approvalText(capability.approval.approvals_required),
    ...(capability.failure_types ?? []).map(
      ({ type, description: when }) => `May fail with ${type}: ${when}.`,
    ),
    verify_via.length > 0 && `Check the outcome with ${verify_via.join(', ')}.`,
  ]
    .filter(Boolean)
    .join('\n');
}

function costText({ cost }: CapabilityDeclaration): string | undefined {
  const money = cost?.financial;
  if (!cost || !money) return undefined;
  const { amount, upper_bound, range_min, range_max, currency } = money;
  if (amount !== undefined) return `Costs ${amount} ${currency}.`;
  if (upper_bound !== undefined) return `Costs at most ${upper_bound} ${currency}.`;
  const range = range_min !== undefined && range_max !== undefined;
  const about = range ? `between ${range_min} and ${range_max} ${currency}` : `in ${currency}`;
  return `Costs ${about}${cost.determined_by ? `, by ${cost.determined_by}` : ''}.`;
}

function approvalText(people: number): string {
  const who = people > 1 ? `${people} people` : 'a person';
  return `May need the approval of ${who}: it then fails with approval_required, and continues when it is called again with the same arguments after the approval.`;
}

function inputSchemaOf(capability: CapabilityDeclaration): CapabilityTool['inputSchema'] {
  // The service refuses a derived input when a caller sends it.
  const inputs = capability.inputs.filter(({ resolution }) => resolution?.mode !== 'actor_policy');
  const properties = Object.fromEntries(
    inputs.map((input) => [input.name, propertyOf(input, capability)]),
  );
  return {
    type: 'object',
    properties: { ...properties, ...reservedProperties(capability) },
    required: inputs.filter(isNeeded).map(({ name }) => name),
    additionalProperties: false,
  };
}

/** The forms that the service enforces. Any other type is a hint, and goes into the description. */
const FORMS: Readonly<Record<string, JsonObject>> = {
  string: { type: 'string' },
  integer: { type: 'integer' },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
  date: { type: 'string', format: 'date' },
  datetime: { type: 'string', format: 'date-time' },
  array: { type: 'array' },
  object: { type: 'object' },
};

function propertyOf(input: Input, capability: CapabilityDeclaration): JsonObject {
  const form = Object.hasOwn(FORMS, input.type) ? FORMS[input.type] : undefined;
  const description = inputText(input, capability, form === undefined);
  return {
    ...form,
    ...(input.allowed_values && { enum: input.allowed_values }),
    ...(defaultApplies(input) && { default: input.default }),
    ...(description && { description }),
  };
}

function inputText(
  { name, description, type, input_meanings = {} }: Input,
  { requires_binding = [] }: CapabilityDeclaration,
  isHint: boolean,
): string {
  const binding = requires_binding.find(({ field }) => field === name);
  const source = binding?.source_capability && `Get it from ${binding.source_capability}`;
  const age = binding?.max_age && `no older than ${binding.max_age}`;
  return [
    description,
    isHint && `Type: ${type}`,
    ...Object.entries(input_meanings).map(([value, means]) => `${value}: ${String(means)}`),
    [source, age].filter(Boolean).join(', '),
  ]
    .filter(Boolean)
    .join('. ');
}

/** Inputs that the service resolves or asks for are optional, so that a model need not invent a value. */
function isNeeded(input: Input): boolean {
  const { required, resolution } = input;
  if (!required || defaultApplies(input) || resolution?.on_missing !== undefined) return false;
  return resolution?.mode !== 'actor_policy_or_explicit' && resolution?.mode !== 'clarify';
}

function reservedProperties({ approval, side_effect }: CapabilityDeclaration): JsonObject {
  const grant =
    'Optional: the approval grant to use; without it, one that waits for this call is used';
  const key = 'Optional: the same value on a repeated call keeps it from happening twice';
  return {
    ...(approval && { [GRANT_PARAMETER]: { type: 'string', description: grant } }),
    ...(side_effect.type !== 'read' && { [KEY_PARAMETER]: { type: 'string', description: key } }),
  };
}

/**
 * Covers failures too, because clients of the first generation validate errors against it as well.
 * Requires every declared field; one that the handler left out is null (`result.ts`).
 */
function outputSchemaOf({ output }: CapabilityDeclaration): CapabilityTool['outputSchema'] {
  const { type, fields } = output;
  const properties = Object.fromEntries(fields.map((field) => [field, ANY_VALUE]));
  return {
    type: 'object',
    properties: {
      success: { type: 'boolean' },
      invocation_id: { type: 'string' },
      result: { type: 'object', description: type, properties, required: fields },
      failure: FAILURE,
    },
    required: ['success'],
    oneOf: [
      { properties: { success: { const: true } }, required: ['invocation_id', 'result'] },
      { properties: { success: { const: false } }, required: ['failure'] },
    ],
  };
}

/** A declaration names the fields of an output, without types. */
const ANY_VALUE: JsonObject = {};

/** The fields that a program acts on; the API description has all. */
const FAILURE: JsonObject = {
  type: 'object',
  description: 'Why the call was refused or failed, and what to do next',
  properties: {
    type: { type: 'string' },
    detail: { type: 'string' },
    retry: { type: 'boolean' },
    resolution: {
      type: 'object',
      properties: { action: { type: 'string' }, recovery_class: { type: 'string' } },
      required: ['action', 'recovery_class'],
    },
    approval_request_id: { type: 'string' },
  },
  required: ['type', 'detail', 'retry', 'resolution'],
};
