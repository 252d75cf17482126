/**
 * What the reviewed schemas of a tool declare: the inputs and the output of its capability.
 *
 * The service refuses inputs that are not declared, so the inputs are the properties that the schema names. A
 * property whose name no input can have is left out, and a tool that requires one cannot be offered.
 *
 * @module
 */

import { wrongType } from '../domain/invocation/inputs.ts';
import { canonicalJson } from '../domain/wire/canonical.ts';
import { readForeignObject } from '../domain/wire/foreign.ts';
import { copyOf, isObject } from '../domain/wire/json.ts';
import type { DeclaredInput } from '../protocol/capability.ts';
import { FieldName, type JsonObject } from '../protocol/primitives.ts';
import {
  followSchema,
  inputOf,
  type Property,
  propertiesOf,
} from '../service/author/json-schema.ts';
import { SCHEMA_LIMITS } from '../service/author/schema-reading.ts';
import { formIssues, type SchemaIssue, schemaIssues, withDefs } from './schema-check.ts';
import { rootForm } from './schema-form.ts';
import { workFault } from './schema-work.ts';
import { shownLine, shownText } from './text.ts';
import type { UpstreamTool } from './upstream.ts';

/** Names with this prefix belong to the protocol. */
const RESERVED = /^svc_/;

/** Characters of a text inside a schema, and of a name in a sentence. */
const TEXT_LENGTH_MAX = 8_192;
const NAME_LENGTH_MAX = 64;

export interface ToolInputs {
  readonly inputs: readonly DeclaredInput[];
  readonly schema: JsonObject;
  /** The parameters with the reviewed defaults. */
  filled(parameters: JsonObject): JsonObject;
  issues(parameters: JsonObject): readonly SchemaIssue[];
}

export type Declared<Value> = Value | { readonly fault: string };

export function toolInputs({ inputSchema }: UpstreamTool): Declared<ToolInputs> {
  const schema = objectSchema(inputSchema);
  if ('fault' in schema) return { fault: `its input schema cannot be used: ${schema.fault}` };
  const properties = propertiesOf(schema.value);
  const usable = properties.filter(({ name }) => isUsable(name));
  const lacking = properties.find((each) => each.isRequired && !usable.includes(each));
  if (lacking) {
    const name = shownLine(lacking.name, NAME_LENGTH_MAX);
    return { fault: `it requires "${name}", which is no name of an input` };
  }
  const declared = declaredSchema(schema.value, usable);
  const form = rootForm(declared);
  const work = workFault(form);
  if (work !== undefined) return { fault: `its input schema cannot be used: ${work}` };
  const inputs = usable.map((each) => declaredInput(each, declared));
  const defaults = inputs.filter((input) => input.default !== undefined);
  // Null counts as absent in every request, so a schema that requires null gets it back here.
  const nulls = usable.filter((each) => each.isRequired && each.isNullable);
  const absent: JsonObject = Object.fromEntries([
    ...nulls.map(({ name }) => [name, null]),
    ...defaults.map((input) => [input.name, input.default]),
  ]);
  return {
    inputs,
    schema: declared,
    filled: (parameters) => ({ ...copyOf(absent), ...parameters }),
    issues: (parameters) => formIssues(form, parameters),
  };
}

/** Why the tool cannot be offered with its input schema, reviewed or not. */
export function inputFault(tool: UpstreamTool): string | undefined {
  const inputs = toolInputs(tool);
  return 'fault' in inputs ? inputs.fault : undefined;
}

export interface ToolOutput {
  readonly fields: readonly string[];
  readonly schema?: JsonObject | undefined;
  issues(result: JsonObject): readonly SchemaIssue[];
}

/**
 * A schema that cannot be declared or checked is left out: the capability then returns any object. So is that of an HTTP
 * API, of which only the names of fields count: answers often differ from their document, and a call that
 * acted must not fail for it.
 */
export function toolOutput({ outputSchema, route }: UpstreamTool): ToolOutput {
  const schema = outputSchema ? objectSchema(outputSchema) : { fault: 'there is none' };
  if ('fault' in schema) return { fields: [], issues: () => [] };
  const { value } = schema;
  const names = propertiesOf(value).map(({ name }) => name);
  const fields = names.filter((name) => FieldName.safeParse(name).success);
  const form = rootForm(value);
  if (route || workFault(form) !== undefined) return { fields, issues: () => [] };
  return { fields, schema: value, issues: (result) => formIssues(form, result) };
}

/** The schema as a declaration carries it: of an object, self-contained, bounded, and hiding no character. */
function objectSchema(
  given: JsonObject,
): { readonly value: JsonObject } | { readonly fault: string } {
  const reading = readForeignObject(given, SCHEMA_LIMITS);
  if ('fault' in reading) return reading;
  const document = shownSchema(withDefs(reading.value)) as JsonObject;
  const { $schema: _, $id: __, ...root } = followSchema(document, document);
  if (root.type !== undefined && root.type !== 'object') return { fault: 'expected an object' };
  if (typeof root.$ref === 'string') return { fault: 'it only refers to another schema' };
  return { value: { ...root, type: 'object' } };
}

/** Keywords whose values are data, not schemas. */
const DATA = new Set(['const', 'default', 'enum', 'examples', 'required']);
const TEXTS = new Set(['title', 'description', '$comment']);

/** The texts of a schema without hidden characters, because agents and people read them. */
function shownSchema(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shownSchema);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([keyword, each]) => {
      if (DATA.has(keyword)) return [keyword, each];
      const isText = TEXTS.has(keyword) && typeof each === 'string';
      return [keyword, isText ? shownText(each, TEXT_LENGTH_MAX) : shownSchema(each)];
    }),
  );
}

function isUsable(name: string): boolean {
  return FieldName.safeParse(name).success && !RESERVED.test(name);
}

function declaredSchema(schema: JsonObject, usable: readonly Property[]): JsonObject {
  const properties = isObject(schema.properties) ? schema.properties : {};
  return {
    ...schema,
    properties: Object.fromEntries(usable.map(({ name }) => [name, properties[name]])),
    required: usable.filter(({ isRequired }) => isRequired).map(({ name }) => name),
  };
}

/** Types whose form only the upstream knows: formats are not checked here. */
const FORMATS = new Set(['date', 'datetime']);

function declaredInput(property: Property, document: JsonObject): DeclaredInput {
  const { default: given, allowed_values, ...input } = inputOf(property);
  const type = FORMATS.has(input.type) ? 'string' : input.type;
  const values = distinct(allowed_values ?? []);
  const isClosed = values.length > 0 && values.every((value) => !wrongType(type, value));
  const isDefault =
    given !== undefined &&
    !wrongType(type, given) &&
    schemaIssues(property.schema, given, document).length === 0;
  return {
    ...input,
    type,
    required: property.isRequired && !property.isNullable && !isDefault,
    ...(isDefault && { default: given }),
    ...(isClosed && { allowed_values: values }),
  };
}

function distinct(values: readonly unknown[]): unknown[] {
  return [...new Map(values.map((value) => [canonicalJson(value), value])).values()];
}
