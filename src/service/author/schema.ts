/**
 * Schemas of authors: derives the declared inputs and the declared output from a Standard Schema, and
 * makes the function that reads a value by it.
 *
 * What the schema returns is what the service digests, shows, stores and runs. So a schema must be
 * able to describe what it returns as JSON Schema. A schema is author code: whatever it throws or
 * returns is read as such.
 *
 * @module
 */

import { type Fault, fault } from '../../domain/catalog/fault.ts';
import { readForeignObject } from '../../domain/wire/foreign.ts';
import { isObject, type JsonLimits } from '../../domain/wire/json.ts';
import type { DeclaredInput } from '../../protocol/capability.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import {
  followed,
  inputOf,
  isNullable,
  type Property,
  propertiesOf,
  sampleOf,
} from './json-schema.ts';
import type { AnySchema, DeclaredInputs, DeclaredOutput, InputDetails } from './typed.ts';

/** Reads a value by a schema. A promise only if the schema is asynchronous. Author code. */
export type SchemaReader = (value: JsonObject) => unknown;

/** Bounds the JSON Schema of a capability, which is part of the manifest. */
const SCHEMA_LIMITS: JsonLimits = { bytes: 65_536, depth: 32, keys: 5_000 };

export interface Derived {
  readonly declared: JsonObject;
  readonly faults: readonly Fault[];
  readonly read?: SchemaReader | undefined;
}

export function declaredInputs(
  name: string,
  inputs: DeclaredInputs,
  details: Readonly<Record<string, InputDetails | undefined>>,
): Derived {
  if (!isSchema(inputs)) {
    const stray = Object.keys(details).map((each) =>
      fault(
        name,
        `input_details.${each}`,
        'a list has the details of an input in its own row',
        'them in the row',
      ),
    );
    return { declared: { inputs }, faults: stray };
  }
  const reading = readSchemas(inputs);
  if ('fault' in reading) {
    return { declared: { inputs: [] }, faults: [fault(name, 'inputs', reading.fault)] };
  }
  const { sent, read } = reading;
  const properties = propertiesOf(sent);
  const returned = propertiesOf(read);
  const defaults = defaultsOf(inputs, properties, returned);
  const nullables = properties.filter((each) => each.isRequired && isNullable(each.schema));
  return {
    declared: {
      inputs: properties.map((each) => declaredInput(each, defaults, details)),
      input_schema: sent,
    },
    faults: [
      ...renamed(name, properties, returned),
      ...Object.keys(details)
        .filter((each) => properties.every((property) => property.name !== each))
        .map((each) =>
          fault(
            name,
            `input_details.${each}`,
            'the schema has no such input',
            'the name of a property of the schema',
          ),
        ),
    ],
    // Null counts as absent in every request, so a schema that takes null gets it back here.
    read: (value) => validated(inputs, withNulls(value, nullables)),
  };
}

export function declaredOutput(name: string, output: DeclaredOutput): Derived {
  if (!isSchema(output)) return { declared: { output }, faults: [] };
  const reading = readSchemas(output);
  if ('fault' in reading) {
    const declared = { output: { type: name, fields: [] } };
    return { declared, faults: [fault(name, 'output', reading.fault)] };
  }
  const { read } = reading;
  const type = typeof read.title === 'string' && read.title !== '' ? read.title : name;
  return {
    declared: {
      output: { type, fields: propertiesOf(read).map((each) => each.name) },
      output_schema: read,
    },
    faults: [],
    read: (value) => validated(output, value),
  };
}

function isSchema(value: unknown): value is AnySchema {
  const isHolder = (typeof value === 'object' && value !== null) || typeof value === 'function';
  return isHolder && '~standard' in value;
}

/**
 * Asks the schema. A check of zod that is asynchronous is asked asynchronously only: the standard function of
 * zod tries it synchronously first, and drops a promise that may reject.
 */
function validated(schema: AnySchema, value: unknown): unknown {
  if (!isZod(schema)) return schema['~standard'].validate(value);
  return schema
    .safeParseAsync(value)
    .then(({ data, error }) => (error ? { issues: error.issues } : { value: data }));
}

interface ZodSchema {
  safeParseAsync(
    value: unknown,
  ): Promise<{ readonly data?: unknown; readonly error?: { readonly issues: unknown } }>;
}

function isZod(schema: AnySchema): schema is AnySchema & ZodSchema {
  return schema['~standard'].vendor === 'zod' && 'safeParseAsync' in schema;
}

interface SchemaPair {
  /** What a caller sends. */
  readonly sent: JsonObject;
  /** What the schema returns. */
  readonly read: JsonObject;
}

const TARGET = { target: 'draft-2020-12' };

/** The JSON Schemas of a schema, or why it cannot be declared. */
function readSchemas(schema: AnySchema): SchemaPair | { readonly fault: string } {
  const { vendor, jsonSchema } = schema['~standard'] as {
    readonly vendor: string;
    readonly jsonSchema?: Record<'input' | 'output', (options: object) => unknown> | undefined;
  };
  if (jsonSchema === undefined) return { fault: `${HAS_NONE}; ${hintFor(vendor)}` };
  const describe = (side: 'input' | 'output') => readSide(() => jsonSchema[side](TARGET));
  const read = describe('output');
  if ('fault' in read) return { fault: `${HAS_NONE} of what it returns: ${read.fault}; ${HINT}` };
  // A schema that can describe only what it returns still takes exactly that.
  const sent = describe('input');
  return { sent: 'fault' in sent ? read.value : sent.value, read: read.value };
}

/** The same schema without the defaults that a function makes anew each time: the schema applies them. */
function settled(first: unknown, second: unknown): unknown {
  if (Array.isArray(first)) {
    const others = Array.isArray(second) ? second : [];
    return first.map((each, index) => settled(each, others[index]));
  }
  if (!isObject(first) || !isObject(second)) return first;
  return Object.fromEntries(
    Object.entries(first)
      .filter(([key, value]) => key !== 'default' || !isMade(value, second.default))
      .map(([key, value]) => [key, settled(value, second[key])]),
  );
}

/** A time of the clock can be the same twice within a millisecond, so whatever looks like one counts as made. */
function isMade(first: unknown, second: unknown): boolean {
  if (JSON.stringify(first) !== JSON.stringify(second)) return true;
  if (typeof first === 'number') return first > 1e12 && first < 1e13;
  return typeof first === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(first);
}

const HAS_NONE = 'the schema has no JSON Schema';
const HINT = 'use types that JSON has, such as z.iso.date() in place of z.date(), and no transform';

function hintFor(vendor: string): string {
  return vendor === 'valibot'
    ? 'wrap it in toStandardJsonSchema() of @valibot/to-json-schema'
    : 'use a version of its library that implements Standard JSON Schema';
}

function readSide(make: () => unknown): { value: JsonObject } | { fault: string } {
  let made: unknown;
  try {
    made = settled(make(), make());
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
  const reading = readForeignObject(made, SCHEMA_LIMITS);
  if ('fault' in reading) return reading;
  const { $schema: _, ...document } = reading.value;
  // A schema with an id of its own is a definition that the document refers to.
  const value: JsonObject = followed(document, document);
  if (value.type !== 'object' || !isObject(value.properties ?? {})) {
    return { fault: 'it does not describe an object with named properties' };
  }
  return { value };
}

/** Names are what callers, approvers and the log know, so a schema must not change them. */
function renamed(name: string, sent: readonly Property[], read: readonly Property[]): Fault[] {
  const names = (properties: readonly Property[]) => properties.map((each) => each.name).sort();
  if (names(sent).join() === names(read).join()) return [];
  const found = `it takes ${quoted(names(sent))} and returns ${quoted(names(read))}`;
  return [
    fault(
      name,
      'inputs',
      `the schema changes the names of inputs: ${found}`,
      'a schema that keeps them',
    ),
  ];
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ');
}

function declaredInput(
  property: Property,
  defaults: ReadonlyMap<string, unknown>,
  details: Readonly<Record<string, InputDetails | undefined>>,
): DeclaredInput {
  const derived = inputOf(property);
  const known = defaults.get(property.name);
  return {
    ...derived,
    ...(derived.default === undefined && known !== undefined && { default: known }),
    ...(Object.hasOwn(details, property.name) && details[property.name]),
  };
}

/**
 * Defaults that the JSON Schema leaves out, as some libraries do. An input that may be left out but is
 * always returned has one: the schema itself fills it into a sample. Without a sample that the schema
 * accepts, the manifest does not show the default, and the schema still applies it.
 */
function defaultsOf(
  schema: AnySchema,
  sent: readonly Property[],
  read: readonly Property[],
): ReadonlyMap<string, unknown> {
  const always = new Set(read.filter((each) => each.isRequired).map((each) => each.name));
  const hidden = sent.filter(
    (each) => !each.isRequired && always.has(each.name) && each.schema.default === undefined,
  );
  // The JSON Schema of zod has every default that stays the same.
  if (hidden.length === 0 || isZod(schema)) return new Map();
  const first = filledSample(schema, sent);
  const second = filledSample(schema, sent);
  const settling = hidden.filter(({ name }) => !isMade(first[name], second[name]));
  return new Map(settling.map(({ name }) => [name, first[name]]));
}

/** What the schema makes of a sample of the required inputs. Empty if it does not accept the sample at once. */
function filledSample(schema: AnySchema, sent: readonly Property[]): JsonObject {
  const needed = sent.filter((each) => each.isRequired);
  try {
    const sample = Object.fromEntries(needed.map((each) => [each.name, sampleOf(each.schema)]));
    const filled: unknown = schema['~standard'].validate(sample);
    // An asynchronous schema tells nothing here, and its rejection must not stay unhandled.
    if (filled instanceof Promise) filled.catch(() => undefined);
    if (!isObject(filled) || filled.issues) return {};
    const reading = readForeignObject(filled.value, SCHEMA_LIMITS);
    return 'value' in reading ? reading.value : {};
  } catch {
    return {};
  }
}

function withNulls(value: JsonObject, nullables: readonly Property[]): JsonObject {
  const absent = nullables.filter(({ name }) => !Object.hasOwn(value, name));
  if (absent.length === 0) return value;
  return { ...value, ...Object.fromEntries(absent.map(({ name }) => [name, null])) };
}
