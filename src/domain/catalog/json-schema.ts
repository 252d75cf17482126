/**
 * JSON Schemas of a capability: the parameters that a caller sends, and the result that it gets.
 *
 * From the schema of the author where there is one, else from the declared list. The service checks every
 * call again, whatever a schema allows.
 *
 * @module
 */

import type { CapabilityDeclaration, Input } from '../../protocol/capability.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { defaultApplies, resolverOf } from '../invocation/inputs.ts';
import { isObject } from '../wire/json.ts';

export interface ObjectSchema extends JsonObject {
  readonly type: 'object';
  readonly properties: JsonObject;
  readonly required: string[];
}

export function parametersSchema(capability: CapabilityDeclaration): ObjectSchema {
  // The service refuses a derived input when a caller sends it.
  const inputs = capability.inputs.filter(({ resolution }) => resolution?.mode !== 'actor_policy');
  const { properties: _, required: __, ...declared }: JsonObject = capability.input_schema ?? {};
  return {
    ...declared,
    type: 'object',
    properties: Object.fromEntries(
      inputs.map((input) => [input.name, propertyOf(input, capability)]),
    ),
    required: inputs.filter(isNeeded).map(({ name }) => name),
    additionalProperties: false,
  };
}

/**
 * Without a schema of the author, every declared field is required: a transport writes null for one that
 * the handler left out.
 */
export function resultSchema({ output, output_schema }: CapabilityDeclaration): JsonObject {
  if (output_schema) return output_schema;
  const { type, fields } = output;
  const properties = Object.fromEntries(fields.map((field) => [field, ANY_VALUE]));
  return { type: 'object', description: type, properties, required: fields };
}

/** A declaration names the fields of an output, without types. */
const ANY_VALUE: JsonObject = {};

/** The schema at another pointer of a document: its references to itself point there. */
export function rebased<Value>(schema: Value, pointer: string): Value {
  if (Array.isArray(schema)) return schema.map((each) => rebased(each, pointer)) as Value;
  if (!isObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) =>
      keyword === '$ref' && typeof value === 'string' && value.startsWith('#')
        ? [keyword, `${pointer}${value.slice(1)}`]
        : [keyword, rebased(value, pointer)],
    ),
  ) as Value;
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
  const declared = isObject(capability.input_schema?.properties)
    ? capability.input_schema.properties[input.name]
    : undefined;
  // The schema describes the value that a resolver finds, not the text that a caller sends.
  const isOpen = resolverOf(input) !== undefined;
  const form = Object.hasOwn(FORMS, input.type) ? FORMS[input.type] : undefined;
  const { default: _, ...schema } = !isOpen && isObject(declared) ? declared : (form ?? {});
  const description = inputText(input, capability, form === undefined && input.type !== 'any');
  return {
    ...schema,
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
