/**
 * JSON Schema as libraries write it, read as far as a declaration can say it: the type, the closed
 * set of values, the default and the description of each property.
 *
 * Everything else, such as ranges and patterns, stays in the schema, which the manifest carries.
 *
 * @module
 */

import { isObject } from '../../domain/wire/json.ts';
import type { DeclaredInput } from '../../protocol/capability.ts';
import type { JsonObject } from '../../protocol/primitives.ts';

/** One property of an object. */
export interface Property {
  readonly name: string;
  readonly schema: JsonObject;
  readonly isRequired: boolean;
  /** Null counts as absent, so an input that takes null is optional. */
  readonly isNullable: boolean;
}

export function propertiesOf(schema: JsonObject): Property[] {
  const { properties, required, ...root } = schema;
  const needed = Array.isArray(required) ? required : [];
  return Object.entries(isObject(properties) ? properties : {}).map(([name, property]) => ({
    name,
    schema: followSchema(isObject(property) ? property : {}, root),
    isRequired: needed.includes(name),
    isNullable: takesNull(property, root, new Map()),
  }));
}

/** Definitions that refer to each other are followed this far. */
const REFERENCES_MAX = 8;

/** A schema that only refers to a definition of the same document, replaced by that definition. */
export function followSchema(schema: JsonObject, document: JsonObject): JsonObject {
  let found = schema;
  for (let i = 0; i < REFERENCES_MAX && typeof found.$ref === 'string'; i++) {
    const target = definitionOf(found.$ref, document);
    if (!isObject(target)) return found;
    const { $ref: _, ...beside } = found;
    found = { ...target, ...beside };
  }
  return found;
}

/** What a reference within the document names. */
export function definitionOf(reference: string, { $defs }: JsonObject): unknown {
  const name = /^#\/\$defs\/([^/]+)$/.exec(reference)?.[1];
  const key = name?.replaceAll('~1', '/').replaceAll('~0', '~');
  return key !== undefined && isObject($defs) && Object.hasOwn($defs, key) ? $defs[key] : undefined;
}

/** An input as the manifest declares it. */
export function inputOf({ name, schema, isRequired, isNullable }: Property): DeclaredInput {
  const values = valuesOf(schema);
  const { default: given, description } = schema;
  return {
    name,
    type: typeOf(schema),
    required: isRequired && !isNullable && given === undefined,
    ...(given !== undefined && given !== null && { default: given }),
    ...(typeof description === 'string' && description !== '' && { description }),
    ...(values && { allowed_values: values }),
  };
}

/** A type that the service does not check by itself: the schema does. */
const ANY = 'any';

const FORMATS: Readonly<Record<string, string>> = { date: 'date', 'date-time': 'datetime' };

function typeOf(schema: JsonObject): string {
  const types = typesOf(schema).filter((type) => type !== 'null');
  const [type = ANY] = types;
  if (types.length > 1) return ANY;
  const { format } = schema;
  const isFormat =
    type === 'string' && typeof format === 'string' && Object.hasOwn(FORMATS, format);
  return isFormat ? (FORMATS[format] as string) : type;
}

/**
 * Whether the schema takes null: each of its parts has to. `known` keeps what was found about each schema, and
 * ends a schema that refers to itself.
 */
function takesNull(schema: unknown, document: JsonObject, known: Map<object, boolean>): boolean {
  if (!isObject(schema)) return schema === true;
  const earlier = known.get(schema);
  if (earlier !== undefined) return earlier;
  known.set(schema, false);
  const { type, anyOf, oneOf, allOf, not, $ref, ...more } = followSchema(schema, document);
  const takes = (each: unknown) => takesNull(each, document, known);
  const values = Array.isArray(more.enum) ? more.enum : 'const' in more ? [more.const] : [null];
  const found =
    (type === undefined || [type].flat().includes('null')) &&
    values.includes(null) &&
    [anyOf, oneOf].every((each) => !Array.isArray(each) || each.some(takes)) &&
    (!Array.isArray(allOf) || allOf.every(takes)) &&
    [not, $ref].every((each) => each === undefined);
  known.set(schema, found);
  return found;
}

/** The types of all alternatives, each once. Empty where the schema does not name them. */
function typesOf(schema: JsonObject): string[] {
  const { type, anyOf, oneOf } = schema;
  if (typeof type === 'string') return [type];
  if (Array.isArray(type)) return type.map(String);
  const values = closedSet(schema);
  if (values) return distinct(values.map(jsonType));
  const alternatives = [anyOf, oneOf].find(Array.isArray) ?? [];
  const found = alternatives.map((each) => (isObject(each) ? typesOf(each) : []));
  return found.some((types) => types.length === 0) ? [] : distinct(found.flat());
}

/** The closed set of values without null, or nothing where any value of the type is taken. */
function valuesOf(schema: JsonObject): unknown[] | undefined {
  const values = closedSet(schema)?.filter((value) => value !== null);
  return values && values.length > 0 ? values : undefined;
}

function closedSet(schema: JsonObject): readonly unknown[] | undefined {
  if (Array.isArray(schema.enum)) return schema.enum;
  if (schema.const !== undefined) return [schema.const];
  if (schema.type === 'null') return [null];
  const alternatives = [schema.anyOf, schema.oneOf].find(Array.isArray);
  if (!alternatives || alternatives.length === 0) return undefined;
  const sets = alternatives.map((each) => (isObject(each) ? closedSet(each) : undefined));
  return sets.every((set) => set !== undefined) ? sets.flat() : undefined;
}

function jsonType(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function distinct(types: readonly string[]): string[] {
  const found = [...new Set(types)];
  return found.includes('number') ? found.filter((type) => type !== 'integer') : found;
}

/** Some value that the schema may accept. Only a guess: the schema itself is asked about it. */
export function sampleOf(schema: JsonObject): unknown {
  if (schema.default !== undefined) return schema.default;
  const [first] = closedSet(schema) ?? [];
  if (first !== undefined) return first;
  const [example] = Array.isArray(schema.examples) ? schema.examples : [];
  if (example !== undefined) return example;
  switch (typeOf(schema)) {
    case 'date':
      return '2030-01-01';
    case 'datetime':
      return '2030-01-01T00:00:00Z';
    case 'string':
      return 'x'.repeat(Number(schema.minLength ?? 1));
    case 'integer':
    case 'number':
      return Number(schema.minimum ?? Math.min(1, Number(schema.maximum ?? 1)));
    case 'boolean':
      return false;
    case 'array':
      return [];
    case 'object':
      return Object.fromEntries(
        propertiesOf(schema)
          .filter(({ isRequired }) => isRequired)
          .map((each) => [each.name, sampleOf(each.schema)]),
      );
    default:
      return null;
  }
}
