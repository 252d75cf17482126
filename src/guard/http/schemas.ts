/**
 * Turns schemas of an OpenAPI document into JSON Schemas that need no document: every reference leads into `$defs`.
 *
 * Schemas may refer to each other in circles: each target is converted once, and what a tool needs is collected by
 * name, within bounds. Knows which keywords contain schemas, so a property that is called `$ref` stays a property.
 *
 * @module
 */

import { isObject } from '../../domain/wire/json.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { followReference, quotedValue, targetOf, Unusable } from './document.ts';

export interface Schemas {
  /** Throws `Unusable`. */
  convert(schema: unknown): Converted;
  /** The schemas behind references, and behind theirs, by name. */
  definitions(refs: ReadonlySet<string>): JsonObject;
  /** The schema at the end of the references of a schema, as the document has it. */
  rootOf(schema: unknown): JsonObject;
}

interface Converted {
  readonly schema: JsonObject;
  /** References inside the document. */
  readonly refs: ReadonlySet<string>;
}

/** Schemas that one tool may refer to. More do not fit into the declaration of a capability. */
const DEFINITIONS_MAX = 200;

/** Schemas inside each other, in one definition. */
const DEPTH_MAX = 30;

export function createSchemas(root: JsonObject): Schemas {
  const isOld = /^3\.0/.test(String(root.openapi));
  const targets = new Map<string, Converted>();
  const names = new Map<string, string>();
  const taken = new Set<string>();

  function nameOf(ref: string): string {
    const known = names.get(ref);
    if (known !== undefined) return known;
    const last = ref.slice(ref.lastIndexOf('/') + 1).replaceAll(/[^A-Za-z0-9_.-]+/g, '_');
    const name = uniqueName(last.slice(0, 64) || 'schema', taken);
    names.set(ref, name);
    return name;
  }

  function convert(schema: unknown): Converted {
    const refs = new Set<string>();
    const converted = convertedSchema(schema, { isOld, refs, nameOf }, 0);
    return { schema: isObject(converted) ? converted : {}, refs };
  }

  function target(ref: string): Converted {
    const known = targets.get(ref);
    if (known) return known;
    const converted = convert(targetOf(root, ref));
    targets.set(ref, converted);
    return converted;
  }

  function definitions(refs: ReadonlySet<string>): JsonObject {
    const found = new Set(refs);
    const collected: JsonObject = {};
    for (const ref of found) {
      if (found.size > DEFINITIONS_MAX) {
        throw new Unusable(`its schemas refer to more than ${DEFINITIONS_MAX} others`);
      }
      const { schema, refs: further } = target(ref);
      collected[nameOf(ref)] = schema;
      for (const each of further) found.add(each);
    }
    return collected;
  }

  return { convert, definitions, rootOf: (schema) => followReference(root, schema) };
}

/** The name, or the first of `name_2`, `name_3` … that is free. Takes it. */
export function uniqueName(name: string, taken: Set<string>): string {
  let free = name;
  for (let count = 2; taken.has(free); count++) free = `${name}_${count}`;
  taken.add(free);
  return free;
}

interface Converting {
  readonly isOld: boolean;
  readonly refs: Set<string>;
  nameOf(ref: string): string;
}

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const ONE = new Set([
  'items',
  'additionalProperties',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
  'unevaluatedItems',
  'unevaluatedProperties',
  'additionalItems',
]);
const MANY = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const NAMED = new Set(['properties', 'patternProperties', 'dependentSchemas']);

/** They say nothing about a value, or only inside the document. */
const LEFT_OUT =
  /^(?:\$schema|\$comment|\$defs|definitions|example|examples|xml|externalDocs|discriminator|nullable|x-.*)$/;

/** They change where references lead. */
const REFUSED =
  /^\$(?:id|anchor|dynamicRef|dynamicAnchor|recursiveRef|recursiveAnchor|vocabulary)$/;

function convertedSchema(schema: unknown, converting: Converting, depth: number): unknown {
  if (typeof schema === 'boolean') return schema;
  if (!isObject(schema)) throw new Unusable('a schema in it is no object');
  if (depth > DEPTH_MAX) throw new Unusable(`its schema is nested deeper than ${DEPTH_MAX} levels`);
  const { isOld, refs, nameOf } = converting;
  const below = (each: unknown) => convertedSchema(each, converting, depth + 1);
  const made: JsonObject = {};
  if (typeof schema.$ref === 'string') {
    if (!schema.$ref.startsWith('#/')) throw new Unusable('it refers to another document');
    refs.add(schema.$ref);
    made.$ref = `#/$defs/${nameOf(schema.$ref)}`;
    // In 3.0 what stands beside a reference is ignored.
    if (isOld) return made;
  }
  for (const [key, value] of Object.entries(schema)) {
    if (REFUSED.test(key)) throw new Unusable(`its schema uses ${quotedValue(key)}`);
    if (key === '$ref' || LEFT_OUT.test(key)) continue;
    made[key] = convertedMember(key, value, below);
  }
  return isOld ? modern(made, schema) : made;
}

function convertedMember(key: string, value: unknown, below: (each: unknown) => unknown): unknown {
  if (ONE.has(key) && !Array.isArray(value)) return below(value);
  if (MANY.has(key) && Array.isArray(value)) return value.map(below);
  if (!NAMED.has(key) || !isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, below(each)]));
}

/** OpenAPI 3.0 has its own words for null and for exclusive bounds. */
function modern(made: JsonObject, { nullable }: JsonObject): JsonObject {
  for (const [flag, bound] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (typeof made[flag] !== 'boolean') continue;
    const { [flag]: isExclusive, [bound]: limit, ...rest } = made;
    return modern(
      { ...rest, ...(limit !== undefined && { [isExclusive ? flag : bound]: limit }) },
      { nullable },
    );
  }
  if (nullable !== true) return made;
  if (typeof made.type !== 'string') return { anyOf: [made, { type: 'null' }] };
  const { enum: values } = made;
  return {
    ...made,
    type: [made.type, 'null'],
    ...(Array.isArray(values) && { enum: [...new Set([...values, null])] }),
  };
}
