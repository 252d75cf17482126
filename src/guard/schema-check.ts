/**
 * Checks a value by the JSON Schema of a stranger: small, bounded, and without the stranger's regular expressions.
 *
 * Checks types, properties, lists, closed sets, bounds of numbers and lengths, and combinations. Other keywords
 * are left to the upstream: `pattern` above all, because a regular expression of a stranger can hold the event
 * loop, and `format`. So a value that passes may still not suit the upstream. A value that fails never suits it,
 * apart from a schema that takes more work than the bounds allow.
 *
 * @module
 */

import { canonicalJson } from '../domain/wire/canonical.ts';
import { isObject } from '../domain/wire/json.ts';
import type { JsonObject } from '../protocol/primitives.ts';
import { shownLine } from './text.ts';

/** As a schema library reports it. */
export interface SchemaIssue {
  readonly message: string;
  readonly path: readonly (string | number)[];
}

/** Schemas inside each other, references included. A value has 32 levels, each with a few schemas. */
const DEPTH_MAX = 200;

/** Comparisons of one value with one schema. A schema that combines much cannot hold the event loop. */
const STEPS_MAX = 100_000;

/** Characters that count as a step. */
const STEP_UNITS = 100;

/** Issues that one check reports. */
const ISSUES_MAX = 8;

/** Characters of a name in a message. */
const NAME_LENGTH_MAX = 64;

/** What is wrong with the value. Empty where the schema admits it. References lead into the document. */
export function schemaIssues(
  schema: JsonObject,
  value: unknown,
  document: JsonObject = schema,
): readonly SchemaIssue[] {
  const check: Check = { document, steps: 0, depth: 0, unsure: 0 };
  try {
    return issuesOf(check, schema, value, []).slice(0, ISSUES_MAX);
  } catch (error) {
    if (error === TOO_MUCH) return [{ message: 'the schema is too complex to check it', path: [] }];
    throw error;
  }
}

/** The schema with `definitions` of older drafts under their new name. */
export function withDefs(schema: JsonObject): JsonObject {
  if (!isObject(schema.definitions)) return schema;
  const { definitions, $defs, ...rest } = renamed(schema) as JsonObject;
  return { ...rest, $defs: { ...(definitions as JsonObject), ...(isObject($defs) ? $defs : {}) } };
}

function renamed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(renamed);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      key === '$ref' && typeof each === 'string'
        ? each.replace(/^#\/definitions\//, '#/$defs/')
        : renamed(each),
    ]),
  );
}

interface Check {
  readonly document: JsonObject;
  steps: number;
  depth: number;
  /** Schemas so far with keywords that are not checked here. */
  unsure: number;
}

type Path = readonly (string | number)[];

/** Thrown where the bound is reached, and caught in `schemaIssues`. */
const TOO_MUCH = Symbol('too much');

/** Counts work. Whatever is left unchecked is not admitted. */
function step(check: Check, count = 1): void {
  check.steps += count;
  if (check.steps > STEPS_MAX) throw TOO_MUCH;
}

function issuesOf(check: Check, schema: unknown, value: unknown, path: Path): SchemaIssue[] {
  step(check);
  if (schema === false) return [{ message: 'nothing is expected here', path }];
  if (!isObject(schema)) return [];
  if (check.depth >= DEPTH_MAX) throw TOO_MUCH;
  check.depth += 1;
  if (Object.keys(schema).some((keyword) => !KEYWORDS.has(keyword))) check.unsure += 1;
  const issues = RULES.flatMap((rule) => rule({ check, schema, value, path }));
  check.depth -= 1;
  return issues;
}

interface Given {
  readonly check: Check;
  readonly schema: JsonObject;
  readonly value: unknown;
  readonly path: Path;
}

type Rule = (given: Given) => SchemaIssue[];

function issue(path: Path, message: string): SchemaIssue[] {
  return [{ message, path }];
}

/** Keywords that are checked, and those that check nothing. */
const KEYWORDS = new Set(
  `$ref type enum const minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems
  minProperties maxProperties properties required additionalProperties items prefixItems additionalItems
  allOf anyOf oneOf not $schema $id $comment $defs definitions title description default examples deprecated
  readOnly writeOnly`.split(/\s+/),
);

/** `maybe`: nothing is wrong, but a keyword was left to the upstream. */
function admission({ check, value, path }: Given, schema: unknown): 'yes' | 'maybe' | 'no' {
  const { unsure } = check;
  if (issuesOf(check, schema, value, path).length > 0) return 'no';
  return check.unsure === unsure ? 'yes' : 'maybe';
}

const referred: Rule = ({ check, schema, value, path }) => {
  if (typeof schema.$ref !== 'string') return [];
  const target = pointed(check.document, schema.$ref);
  if (target === undefined) return issue(path, 'its schema refers to something that is not there');
  return issuesOf(check, target, value, path);
};

/** Where a reference leads: into the same document, and nowhere else. */
function pointed(document: JsonObject, reference: string): unknown {
  if (reference === '#') return document;
  if (!reference.startsWith('#/')) return undefined;
  let found: unknown = document;
  for (const part of reference.slice(2).split('/', DEPTH_MAX)) {
    const key = unescaped(part);
    const isThere = typeof found === 'object' && found !== null && Object.hasOwn(found, key);
    found = isThere ? (found as JsonObject)[key] : undefined;
  }
  return isObject(found) || typeof found === 'boolean' ? found : undefined;
}

function unescaped(part: string): string {
  const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

const typed: Rule = ({ schema: { type }, value, path }) => {
  const types = (Array.isArray(type) ? type : [type]).filter((each) => typeof each === 'string');
  if (types.length === 0 || types.some((each) => isOfType(each, value))) return [];
  return issue(
    path,
    `expected ${types.map((each) => WORDS.get(each) ?? `"${name(each)}"`).join(' or ')}`,
  );
};

const WORDS = new Map([
  ['string', 'a text'],
  ['number', 'a number'],
  ['integer', 'a whole number'],
  ['boolean', 'true or false'],
  ['array', 'a list'],
  ['object', 'an object'],
  ['null', 'null'],
]);

function isOfType(type: string, value: unknown): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isObject(value);
  if (type === 'integer') return Number.isInteger(value);
  return typeof value === type;
}

const closed: Rule = ({ check, schema, value, path }) => {
  const values = Array.isArray(schema.enum) ? schema.enum : undefined;
  if (values === undefined && schema.const === undefined) return [];
  const all = [...(values ?? []), ...(schema.const === undefined ? [] : [schema.const])];
  const text = canonicalJson(value);
  step(check, all.length + text.length / STEP_UNITS);
  const isAmong = values === undefined || values.some((each) => canonicalJson(each) === text);
  const isConst = schema.const === undefined || canonicalJson(schema.const) === text;
  return isAmong && isConst ? [] : issue(path, 'it is not among the allowed values');
};

const bounded: Rule = ({ schema, value, path }) => {
  if (typeof value !== 'number') return [];
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  return [
    ...(typeof minimum === 'number' && value < minimum
      ? issue(path, `expected at least ${minimum}`)
      : []),
    ...(typeof maximum === 'number' && value > maximum
      ? issue(path, `expected at most ${maximum}`)
      : []),
    ...(typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum
      ? issue(path, `expected more than ${exclusiveMinimum}`)
      : []),
    ...(typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum
      ? issue(path, `expected less than ${exclusiveMaximum}`)
      : []),
  ];
};

/** How many there are of what the keywords about a length bound. */
const sized: Rule = ({ check, schema, value, path }) => {
  if (typeof value === 'string') step(check, value.length / STEP_UNITS);
  const [size, least, most] = Array.isArray(value)
    ? [value.length, schema.minItems, schema.maxItems]
    : isObject(value)
      ? [Object.keys(value).length, schema.minProperties, schema.maxProperties]
      : typeof value === 'string'
        ? [lengthOf(value, schema), schema.minLength, schema.maxLength]
        : [0, undefined, undefined];
  return [
    ...(typeof least === 'number' && size < least
      ? issue(path, `expected a length of at least ${least}`)
      : []),
    ...(typeof most === 'number' && size > most
      ? issue(path, `expected a length of at most ${most}`)
      : []),
  ];
};

/** JSON Schema counts characters, not UTF-16 units. Counted only where a bound asks. */
function lengthOf(text: string, { minLength, maxLength }: JsonObject): number {
  return minLength === undefined && maxLength === undefined ? 0 : [...text].length;
}

const members: Rule = ({ check, schema, value, path }) => {
  if (!isObject(value)) return [];
  const { properties, required, additionalProperties: others, patternProperties } = schema;
  const known = isObject(properties) ? properties : {};
  const needed = Array.isArray(required) ? required.filter((key) => typeof key === 'string') : [];
  step(check, needed.length);
  const absent = needed.filter((key) => !Object.hasOwn(value, key));
  return [
    ...absent.slice(0, ISSUES_MAX).flatMap((key) => issue(path, `"${name(key)}" is missing`)),
    ...Object.entries(value).flatMap(([key, each]) => {
      const inside = [...path, key];
      if (Object.hasOwn(known, key)) return issuesOf(check, known[key], each, inside);
      // A key that a pattern may match is left to the upstream: patterns are never compiled here.
      return patternProperties === undefined ? issuesOf(check, others, each, inside) : [];
    }),
  ];
};

const elements: Rule = ({ check, schema, value, path }) => {
  if (!Array.isArray(value)) return [];
  const { items, prefixItems, additionalItems } = schema;
  // Older drafts have the list of the first schemas in `items`.
  const first = Array.isArray(items) ? items : Array.isArray(prefixItems) ? prefixItems : [];
  const rest = Array.isArray(items) ? additionalItems : items;
  return value.flatMap((each, index) =>
    issuesOf(check, index < first.length ? first[index] : rest, each, [...path, index]),
  );
};

const combined: Rule = (given) => {
  const { check, schema, value, path } = given;
  const { allOf, anyOf, oneOf, not } = schema;
  const forms = (list: unknown) =>
    Array.isArray(list) ? list.map((each) => admission(given, each)) : undefined;
  const isNone = (found: readonly string[] | undefined) => found?.every((each) => each === 'no');
  const one = forms(oneOf);
  return [
    ...(Array.isArray(allOf) ? allOf.flatMap((each) => issuesOf(check, each, value, path)) : []),
    ...(isNone(forms(anyOf)) || isNone(one) ? issue(path, 'it has none of the allowed forms') : []),
    ...((one ?? []).filter((each) => each === 'yes').length > 1
      ? issue(path, 'it has more than one of the forms of which one is allowed')
      : []),
    ...(not !== undefined && admission(given, not) === 'yes'
      ? issue(path, 'it has a form that is not allowed')
      : []),
  ];
};

const RULES: readonly Rule[] = [
  referred,
  typed,
  closed,
  bounded,
  sized,
  members,
  elements,
  combined,
];

function name(text: string): string {
  return shownLine(text, NAME_LENGTH_MAX);
}
