/**
 * The protocol's schemas as JSON Schema, for the API description.
 *
 * Answers become named components, so that a document says each shape once; requests are spelt out
 * where they are asked, since HTTP takes them apart into path, query, headers and body.
 *
 * @module
 */

import * as z from 'zod';
import * as agents from '../protocol/agents.ts';
import * as approval from '../protocol/approval.ts';
import * as audit from '../protocol/audit.ts';
import * as capability from '../protocol/capability.ts';
import * as composition from '../protocol/composition.ts';
import * as decision from '../protocol/decision.ts';
import * as failure from '../protocol/failure.ts';
import * as identity from '../protocol/identity.ts';
import * as invocation from '../protocol/invocation.ts';
import { type OperationName, operations } from '../protocol/operations.ts';
import * as operator from '../protocol/operator.ts';
import * as permissions from '../protocol/permissions.ts';
import * as primitives from '../protocol/primitives.ts';
import * as token from '../protocol/token.ts';
import * as trust from '../protocol/trust.ts';

export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  items?: Schema;
  enum?: unknown[];
  const?: unknown;
  format?: string;
  pattern?: string;
  maximum?: number;
  propertyNames?: object;
  additionalProperties?: unknown;
  [keyword: string]: unknown;
}

const MODULES: readonly object[] = [
  agents,
  approval,
  audit,
  capability,
  composition,
  decision,
  failure,
  identity,
  invocation,
  operator,
  permissions,
  primitives,
  token,
  trust,
];

/** The schemas of every operation. */
export interface Schemas {
  /** The fields of a request as a caller writes them. */
  readonly requests: Readonly<Record<OperationName, Schema>>;
  /** What answers refer to, by name. */
  readonly components: Readonly<Record<string, Schema>>;
}

export const COMPONENT = '#/components/schemas/';

const NAMES: ReadonlyMap<unknown, string> = new Map(
  MODULES.flatMap((module) => Object.entries(module))
    .filter(([, schema]) => schema instanceof z.ZodType)
    .map(([name, schema]) => [schema, name]),
);

/** Where a named schema is found in the document. */
export function refTo(schema: z.ZodType): Schema {
  const name = NAMES.get(schema);
  if (name === undefined) throw new Error('Cannot refer to a schema that no module exports');
  return { $ref: `${COMPONENT}${name}` };
}

/** Everything that these schemas refer to, directly or not, by name. */
export function componentsOf(
  from: readonly Schema[],
  schemas: Schemas['components'],
): Record<string, Schema> {
  const found = new Set<string>();
  const search = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const name = referred(value);
    if (name !== undefined && !found.has(name)) {
      found.add(name);
      search(schemas[name]);
    }
    for (const part of Object.values(value)) search(part);
  };
  search(from);
  return Object.fromEntries([...found].sort().map((name) => [name, schemas[name] as Schema]));
}

/** The component that a schema refers to, if it does nothing else. */
export function referred(schema: { $ref?: unknown }): string | undefined {
  const { $ref } = schema;
  return typeof $ref === 'string' ? $ref.slice(COMPONENT.length) : undefined;
}

/** Takes longer than the rest of a start, so a service reads what was made when the package was built. */
export function makeSchemas(): Schemas {
  const registry = z.registry<{ id: string }>();
  for (const [schema, id] of NAMES) registry.add(schema as z.ZodType, { id });
  const { schemas } = z.toJSONSchema(registry, {
    io: 'output',
    uri: (id) => `${COMPONENT}${id}`,
    // Requests stand in the registry too, but no answer refers to one.
    unrepresentable: 'any',
    override: asWritten,
  });
  const requests = Object.entries(operations).map(([name, { request }]) => {
    const { $schema: _, ...schema } = z.toJSONSchema(request, { io: 'input', override: asRead });
    return [name, schema];
  });
  return {
    requests: Object.fromEntries(requests),
    components: mapped(schemas as Record<string, Schema>),
  };
}

function mapped(schemas: Readonly<Record<string, Schema>>): Record<string, Schema> {
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _, $id: __, id: ___, ...schema }]) => [
      id,
      schema,
    ]),
  );
}

interface Made {
  readonly zodSchema: z.core.$ZodTypes;
  readonly jsonSchema: z.core.JSONSchema.BaseSchema;
}

/** A request, exactly as strict as it is read. */
function asRead(made: Made): void {
  const schema = plain(made);
  // The pattern is what is read by; the format of that name takes other texts.
  if (schema.pattern !== undefined) delete schema.format;
  // Decision 01: larger numbers are integers that not every reader keeps, and are refused.
  if (schema.type === 'number') schema.maximum ??= Number.MAX_SAFE_INTEGER;
}

/** An answer, as it is written. */
function asWritten(made: Made): void {
  const schema = plain(made);
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  // Not a format of JSON Schema, which says the same with `contentEncoding`.
  if (schema.format === 'base64') delete schema.format;
  // The format takes every zone, and the service writes UTC.
  else if (schema.format === 'date-time') schema.pattern = 'Z$';
  else if (schema.format !== undefined) delete schema.pattern;
}

/** Adds the rules that are written beside a schema, and closes only what the protocol closes. */
function plain({ zodSchema, jsonSchema }: Made): Schema {
  const schema = jsonSchema as Schema;
  const { id: _, ...rules } = z.globalRegistry.get(zodSchema) ?? {};
  Object.assign(schema, rules);
  if (schema.minLength === 0) delete schema.minLength;
  // That a name is a text says nothing.
  if (Object.keys(schema.propertyNames ?? {}).join() === 'type') delete schema.propertyNames;
  const { def } = zodSchema._zod;
  // A later version may add a field to an answer; where one is refused, the schema says so itself.
  if (def.type === 'object' && def.catchall === undefined) delete schema.additionalProperties;
  return schema;
}
