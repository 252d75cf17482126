/**
 * One schema of a stranger, read once: which rules it has, and which schemas apply to the same value or to parts of it.
 *
 * A schema is read when a check first meets it, so a check costs as much as it uses.
 *
 * @module
 */

import { canonicalJson } from '../domain/wire/canonical.ts';
import { isObject } from '../domain/wire/json.ts';
import type { JsonObject } from '../protocol/primitives.ts';

export interface Form {
  readonly schema: JsonObject | boolean;
  /** Several schemas lead here, so what it says about one part of a value is kept. */
  isShared: boolean;
  readonly document: Forms;
  parts?: FormParts | undefined;
}

/** The schemas of one document that were met. */
interface Forms {
  readonly root: JsonObject;
  readonly met: Map<unknown, Form>;
}

export interface FormParts {
  readonly rules: readonly RuleName[];
  /** Other schemas apply to the same value. */
  readonly isCombined: boolean;
  /** It asks for nothing but a type. */
  readonly isPlain: boolean;
  /** It has keywords that the check leaves to the upstream. */
  readonly isUnsure: boolean;
  readonly types: readonly string[];
  /** Each has the values that are allowed: those of `enum`, and that of `const`. */
  readonly closed: readonly Closed[];
  readonly required: readonly string[];
  readonly properties: ReadonlyMap<string, Form>;
  /** Of the keys without a schema of their own. */
  readonly others?: Form | undefined;
  readonly first: readonly Form[];
  readonly rest?: Form | undefined;
  /** `missing`: the reference leads nowhere in this document. */
  readonly target?: Form | 'missing' | undefined;
  readonly all: readonly Form[];
  readonly any?: readonly Form[] | undefined;
  readonly one?: readonly Form[] | undefined;
  readonly not?: Form | undefined;
}

/** Allowed values: those without parts, and the canonical texts of objects and lists. */
interface Closed {
  readonly plain: ReadonlySet<unknown>;
  readonly texts: ReadonlySet<string>;
}

/** Parts of a reference that are followed. */
const REFERENCE_PARTS_MAX = 64;

/** The keywords of each rule. */
const KEYWORDS_OF = {
  referred: '$ref',
  typed: 'type',
  closed: 'enum const',
  bounded: 'minimum maximum exclusiveMinimum exclusiveMaximum',
  sized: 'minLength maxLength minItems maxItems minProperties maxProperties',
  members: 'properties required additionalProperties',
  elements: 'items prefixItems additionalItems',
  combined: 'allOf anyOf oneOf not',
};

export type RuleName = keyof typeof KEYWORDS_OF;

const RULE_OF = new Map(
  Object.entries(KEYWORDS_OF).flatMap(([rule, keywords]) =>
    keywords.split(' ').map((keyword) => [keyword, rule as RuleName] as const),
  ),
);

/** Keywords that check nothing. */
const IDLE = new Set(
  '$schema $id $comment $defs definitions title description default examples deprecated readOnly writeOnly'.split(
    ' ',
  ),
);

/** The schema of a document, or one inside it. */
export function rootForm(document: JsonObject, schema: JsonObject = document): Form {
  return formOf({ root: document, met: new Map() }, schema);
}

function formOf(document: Forms, schema: unknown): Form {
  const known = document.met.get(schema);
  if (known) {
    known.isShared = true;
    return known;
  }
  // What is neither an object nor false admits every value.
  const form: Form = {
    schema: isObject(schema) ? schema : schema !== false,
    isShared: false,
    document,
  };
  if (isObject(schema)) document.met.set(schema, form);
  return form;
}

export function formParts(form: Form): FormParts {
  form.parts ??= readParts(form.document, typeof form.schema === 'boolean' ? {} : form.schema);
  return form.parts;
}

/** The schemas that apply to the same value. */
export function besides(form: Form): readonly Form[] {
  const { target, all, any = [], one = [], not } = formParts(form);
  const direct = target === undefined || target === 'missing' ? [] : [target];
  return [...direct, ...all, ...any, ...one, ...(not ? [not] : [])];
}

export function isCombined(form: Form): boolean {
  return formParts(form).isCombined;
}

function readParts(document: Forms, schema: JsonObject): FormParts {
  const { type, required, properties, additionalProperties, patternProperties } = schema;
  const { items, prefixItems, additionalItems } = schema;
  const keywords = Object.keys(schema);
  const made = (each: unknown) => formOf(document, each);
  const some = (each: unknown) =>
    isObject(each) || each === false ? formOf(document, each) : undefined;
  const list = (each: unknown) => (Array.isArray(each) ? each.map(made) : undefined);
  const texts = (each: unknown) =>
    (Array.isArray(each) ? each : [each]).filter((one) => typeof one === 'string');
  // Older drafts have the list of the first schemas in `items`.
  const first = Array.isArray(items) ? items : prefixItems;
  const rules = [...new Set(keywords.flatMap((keyword) => RULE_OF.get(keyword) ?? []))];
  const isUnsure = keywords.some((keyword) => !RULE_OF.has(keyword) && !IDLE.has(keyword));
  return {
    isPlain: !isUnsure && rules.every((rule) => rule === 'typed'),
    isCombined: ['$ref', ...KEYWORDS_OF.combined.split(' ')].some((each) => each in schema),
    rules,
    isUnsure,
    types: typesOf(texts(type)),
    closed: [
      ...(Array.isArray(schema.enum) ? [closedSet(schema.enum)] : []),
      ...(schema.const === undefined ? [] : [closedSet([schema.const])]),
    ],
    required: Array.isArray(required) ? texts(required) : [],
    properties: new Map(
      isObject(properties)
        ? Object.entries(properties).map(([key, each]) => [key, made(each)])
        : [],
    ),
    // A key that a pattern may match is left to the upstream: patterns are never compiled here.
    others: patternProperties === undefined ? some(additionalProperties) : undefined,
    first: list(first) ?? [],
    rest: some(Array.isArray(items) ? additionalItems : items),
    target: typeof schema.$ref === 'string' ? pointed(document, schema.$ref) : undefined,
    all: list(schema.allOf) ?? [],
    any: list(schema.anyOf),
    one: list(schema.oneOf),
    not: schema.not === undefined ? undefined : made(schema.not),
  };
}

function closedSet(values: readonly unknown[]): Closed {
  const isPlain = (value: unknown) => typeof value !== 'object' || value === null;
  return {
    plain: new Set(values.filter(isPlain)),
    texts: new Set(values.filter((value) => !isPlain(value)).map(canonicalJson)),
  };
}

/** Where a reference leads: into the same document, and nowhere else. */
function pointed(document: Forms, reference: string): Form | 'missing' {
  if (reference === '#') return formOf(document, document.root);
  if (!reference.startsWith('#/')) return 'missing';
  let found: unknown = document.root;
  for (const part of reference.slice(2).split('/', REFERENCE_PARTS_MAX)) {
    const key = unescaped(part);
    const isThere = typeof found === 'object' && found !== null && Object.hasOwn(found, key);
    found = isThere ? (found as JsonObject)[key] : undefined;
  }
  return isObject(found) || typeof found === 'boolean' ? formOf(document, found) : 'missing';
}

function unescaped(part: string): string {
  const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

const JSON_TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

/** A list of types may be long and repeat itself. Only names of JSON fit a value; without one, a single name is kept for its sentence. */
function typesOf(names: readonly string[]): readonly string[] {
  const known = JSON_TYPES.filter((each) => names.includes(each));
  return known.length > 0 ? known : names.slice(0, 1);
}
