/**
 * Describes a capability as a tool: name, description, input schema and hints.
 *
 * Pure: uses the declaration alone. The service decides which capabilities a caller sees as
 * tools, and checks every call again, whatever the schema allows.
 *
 * @module
 */

import { parametersSchema, rebased, resultSchema } from '../domain/catalog/json-schema.ts';
import type { Conditions } from '../domain/conditions/condition.ts';
import { narrowedSchema } from '../domain/conditions/schema.ts';
import { conditionWords } from '../domain/conditions/words.ts';
import type { CapabilityDeclaration, SideEffectType } from '../protocol/capability.ts';
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

export function toolOf(
  name: string,
  capability: CapabilityDeclaration,
  conditions?: Conditions,
): CapabilityTool {
  return {
    name,
    description: descriptionOf(capability, conditions),
    inputSchema: inputSchemaOf(capability, conditions),
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

/** A client may strip what a schema says of a value, so every condition of the token is also a sentence. */
export function descriptionOf(capability: CapabilityDeclaration, conditions?: Conditions): string {
  const { description, side_effect, requires = [], verify_via = [] } = capability;
  const { compensation, rollback_window } = side_effect;
  return [
    description,
    EFFECTS[side_effect.type],
    conditions && `You may call it only where ${conditionWords(conditions).join(' and ')}.`,
    compensation &&
      `Undone by ${compensation}${rollback_window ? ` within ${rollback_window}` : ''}.`,
    costText(capability),
    ...requires.map(({ capability: name, reason, called_by }) =>
      called_by ? `Calls ${name} itself: ${reason}.` : `Needs ${name} first: ${reason}.`,
    ),
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

function inputSchemaOf(
  capability: CapabilityDeclaration,
  conditions: Conditions | undefined,
): CapabilityTool['inputSchema'] {
  const schema = limitedSchema(capability, conditions);
  return { ...schema, properties: { ...schema.properties, ...reservedProperties(capability) } };
}

/** The schema of the parameters under the conditions of a token. */
export function limitedSchema(capability: CapabilityDeclaration, conditions?: Conditions) {
  const schema = parametersSchema(capability);
  return conditions ? narrowedSchema(schema, conditions) : schema;
}

function reservedProperties({ approval, side_effect }: CapabilityDeclaration): JsonObject {
  return reservedSchema([
    ...(approval ? [GRANT_PARAMETER] : []),
    ...(side_effect.type !== 'read' ? [KEY_PARAMETER] : []),
  ]);
}

const RESERVED: Readonly<Record<string, string>> = {
  [GRANT_PARAMETER]:
    'Optional: the approval grant to use; without it, one that waits for this call is used',
  [KEY_PARAMETER]: 'Optional: the same value on a repeated call keeps it from happening twice',
};

/** The properties of reserved parameters. */
export function reservedSchema(names: readonly string[]): JsonObject {
  return Object.fromEntries(
    names.map((name) => [name, { type: 'string', description: RESERVED[name] }]),
  );
}

function outputSchemaOf(capability: CapabilityDeclaration): CapabilityTool['outputSchema'] {
  return answerSchema(rebased(resultSchema(capability), '#/properties/result'));
}

/** Covers failures too, because clients of the first generation validate errors against it as well. */
export function answerSchema(result: JsonObject): CapabilityTool['outputSchema'] {
  return {
    type: 'object',
    properties: {
      success: { type: 'boolean' },
      invocation_id: { type: 'string' },
      result,
      failure: FAILURE_SCHEMA,
    },
    required: ['success'],
    oneOf: [
      { properties: { success: { const: true } }, required: ['invocation_id', 'result'] },
      { properties: { success: { const: false } }, required: ['failure'] },
    ],
  };
}

/** The fields that a program acts on; the API description has all. */
export const FAILURE_SCHEMA: JsonObject = {
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
    decision_url: { type: 'string' },
  },
  required: ['type', 'detail', 'retry', 'resolution'],
};
