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

import { type Fault, fault, similar } from '../../domain/catalog/fault.ts';
import { readForeignObject } from '../../domain/wire/foreign.ts';
import { isObject } from '../../domain/wire/json.ts';
import { atAnotherTime } from '../../platform.ts';
import type { DeclaredInput } from '../../protocol/capability.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { inputOf, type Property, propertiesOf, sampleOf } from './json-schema.ts';
import { isMade } from './schema-defaults.ts';
import { libraryOf } from './schema-library.ts';
import { faultAt, readSchemas, SCHEMA_LIMITS, type SchemaLocation } from './schema-reading.ts';
import type { AnySchema, DeclaredInputs, DeclaredOutput, InputDetails } from './typed.ts';
import { answersAtOnce } from './zod-timing.ts';

/** Reads a value by a schema. A promise only if the schema is asynchronous. Author code. */
export type SchemaReader = (value: JsonObject) => unknown;

export interface Derived {
  readonly declared: JsonObject;
  readonly faults: readonly Fault[];
  readonly read?: SchemaReader | undefined;
  /** Where functions make defaults, such as `.at`. */
  readonly made?: readonly string[] | undefined;
}

export function declaredInputs(
  name: string,
  inputs: DeclaredInputs,
  details: Readonly<Record<string, InputDetails | undefined>>,
): Derived {
  const location = { capability: name, field: 'inputs' } as const;
  if (!isSchema(inputs)) {
    if (Array.isArray(inputs)) return { declared: { inputs }, faults: inRows(name, details) };
    return { declared: { inputs: [] }, faults: [noSchema(location, inputs)] };
  }
  const reading = wrapped(location, inputs) ?? readSchemas(location, inputs);
  if ('faults' in reading) return { declared: { inputs: [] }, faults: reading.faults };
  const { sent, read } = reading;
  const properties = propertiesOf(sent);
  const returned = propertiesOf(read);
  const { defaults, made } = defaultsOf(inputs, properties, returned);
  const nullables = properties.filter((each) => each.isRequired && each.isNullable);
  const validate = validatorOf(inputs);
  return {
    declared: {
      inputs: properties.map((each) => declaredInput(each, defaults, details)),
      input_schema: sent,
    },
    faults: [
      ...renamed(name, properties, returned),
      ...openKeys(name, inputs, sent),
      ...strayDetails(name, properties, details),
    ],
    // Null counts as absent in every request, so a schema that takes null gets it back here.
    read: (value) => validate(withNulls(value, nullables)),
    made: [...reading.made, ...made],
  };
}

export function declaredOutput(name: string, output: DeclaredOutput): Derived {
  const location = { capability: name, field: 'output' } as const;
  const undeclared = { output: { type: name, fields: [] } };
  if (!isSchema(output)) {
    const isForm = isObject(output) && !Object.values(output).some(isSchema);
    if (isForm) return { declared: { output }, faults: [] };
    return { declared: undeclared, faults: [noSchema(location, output)] };
  }
  const reading = wrapped(location, output) ?? readSchemas(location, output);
  if ('faults' in reading) return { declared: undeclared, faults: reading.faults };
  const { read } = reading;
  const type = typeof read.title === 'string' && read.title !== '' ? read.title : name;
  return {
    declared: {
      output: { type, fields: propertiesOf(read).map((each) => each.name) },
      output_schema: read,
    },
    faults: [],
    read: validatorOf(output),
  };
}

function isSchema(value: unknown): value is AnySchema {
  const isHolder = (typeof value === 'object' && value !== null) || typeof value === 'function';
  return isHolder && '~standard' in value;
}

/**
 * Asks the schema. One of zod that may wait is asked asynchronously only: the standard function of zod tries it
 * synchronously first, and drops a promise that may reject.
 */
function validatorOf(schema: AnySchema): (value: unknown) => unknown {
  if (!isZod(schema)) return (value) => schema['~standard'].validate(value);
  return answersAtOnce(schema)
    ? (value) => resultOf(schema.safeParse(value))
    : (value) => schema.safeParseAsync(value).then(resultOf);
}

interface ZodResult {
  readonly data?: unknown;
  readonly error?: { readonly issues: unknown };
}

function resultOf({ data, error }: ZodResult): object {
  return error ? { issues: error.issues } : { value: data };
}

interface ZodSchema {
  safeParse(value: unknown): ZodResult;
  safeParseAsync(value: unknown): Promise<ZodResult>;
}

function isZod(schema: AnySchema): schema is AnySchema & ZodSchema {
  return schema['~standard'].vendor === 'zod' && 'safeParseAsync' in schema;
}

/** A wrapper has only the standard function, which drops promises of zod that may reject. */
function wrapped(
  location: SchemaLocation,
  schema: AnySchema,
): { readonly faults: Fault[] } | undefined {
  if (schema['~standard'].vendor !== 'zod' || isZod(schema)) return undefined;
  const sentence = {
    path: '',
    written: 'is a zod schema in a wrapper',
    why: 'it lacks safeParseAsync(), without which an asynchronous check that rejects stops the process',
    write: 'the schema of zod itself',
  };
  return { faults: [faultAt(location, sentence)] };
}

/** Other libraries take an object of schemas, so authors try it. */
function noSchema(location: SchemaLocation, value: unknown): Fault {
  const inside = isObject(value) ? Object.values(value).find(isSchema) : undefined;
  const form = FORMS[location.field];
  const sentence = inside
    ? {
        written: 'is an object of schemas',
        write: `${libraryOf(inside['~standard'].vendor).object('…')} around it`,
      }
    : {
        written: `is ${typeof value === 'object' ? 'an object' : `a ${typeof value}`}`,
        write: `a schema such as z.object({ … }), or ${form}`,
      };
  return faultAt(location, { path: '', why: `it is neither a schema nor ${form}`, ...sentence });
}

const FORMS = { inputs: 'a list of inputs', output: '{ type, fields }' };

function inRows(name: string, details: object): Fault[] {
  return Object.keys(details).map((each) => ({
    ...fault(
      name,
      `input_details.${each}`,
      'a list has the details of an input in its own row',
      'them in the row',
    ),
    written: 'is set',
  }));
}

/** A caller may send declared inputs only, so a schema that takes others takes what never comes. */
function openKeys(capability: string, schema: AnySchema, sent: JsonObject): Fault[] {
  const { additionalProperties: others = false, patternProperties } = sent;
  if (others === false && patternProperties === undefined) return [];
  const { object, record } = libraryOf(schema['~standard'].vendor);
  const sentence = {
    path: '',
    written: 'takes keys that it does not name',
    why: 'the service refuses inputs that are not declared',
    write: `${object(`…, more: ${record}`)}, with the other keys in a property`,
  };
  return [faultAt({ capability, field: 'inputs' }, sentence)];
}

function strayDetails(name: string, properties: readonly Property[], details: object): Fault[] {
  const known = properties.map((property) => property.name);
  return Object.keys(details)
    .filter((each) => !known.includes(each))
    .map((each) => {
      const write =
        similar(each, known) ?? (known.length > 0 ? `one of ${quoted(known)}` : 'nothing here');
      return {
        ...fault(name, `input_details.${each}`, 'the schema has no such input', write),
        written: 'is set',
      };
    });
}

/**
 * An approval is for exact parameters. A call that leaves out such an input gets another value when it is repeated
 * with its grant, so the grant never covers it.
 */
export function unapprovable(capability: string, made: readonly string[]): Fault[] {
  const sentence = {
    written: 'has a default that a function makes',
    why: 'an approval is for exact parameters, and a repeated call would get another value',
    write: 'it without this default, and make the value in the handler',
  };
  const location = { capability, field: 'inputs' } as const;
  return made.map((path) => faultAt(location, { path, ...sentence }));
}

/** Names are what callers, approvers and the log know, so a schema must not change them. */
function renamed(
  capability: string,
  sent: readonly Property[],
  read: readonly Property[],
): Fault[] {
  const names = (properties: readonly Property[]) => properties.map((each) => each.name).sort();
  if (names(sent).join() === names(read).join()) return [];
  const sentence = {
    path: '',
    written: `takes ${quoted(names(sent))} and returns ${quoted(names(read))}`,
    why: 'callers, approvers and the log know an input by one name',
    write: 'a schema that returns the names it takes, and rename in the handler',
  };
  return [faultAt({ capability, field: 'inputs' }, sentence)];
}

function quoted(names: readonly string[]): string {
  if (names.length === 0) return 'nothing';
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
): { readonly defaults: ReadonlyMap<string, unknown>; readonly made: readonly string[] } {
  const always = new Set(read.filter((each) => each.isRequired).map((each) => each.name));
  const hidden = sent.filter(
    (each) => !each.isRequired && always.has(each.name) && each.schema.default === undefined,
  );
  // The JSON Schema of zod has every default that stays the same.
  if (hidden.length === 0 || isZod(schema)) return { defaults: new Map(), made: [] };
  const first = filledSample(schema, sent);
  const second = atAnotherTime(() => filledSample(schema, sent));
  const filled = hidden
    .map(({ name }) => name)
    .filter((name) => Object.hasOwn(first, name) && Object.hasOwn(second, name));
  const made = filled.filter((name) => isMade(first[name], second[name]));
  const settling = filled.filter((name) => !made.includes(name));
  return {
    defaults: new Map(settling.map((name) => [name, first[name]])),
    made: made.map((name) => `.${name}`),
  };
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
