/**
 * Checks a value by the JSON Schema of a stranger: small, bounded, and without the stranger's regular expressions.
 *
 * Checks types, properties, lists, closed sets, bounds of numbers and lengths, and combinations. Other keywords
 * are left to the upstream: `pattern` above all, because a regular expression of a stranger can hold the event
 * loop, and `format`. So a value that passes may still not suit the upstream. A value that fails never suits it,
 * apart from a value that takes more work than the bound allows. A schema is compared with one part of a value once,
 * however many references lead to it.
 *
 * @module
 */

import { canonicalJson } from '../domain/wire/canonical.ts';
import { isObject } from '../domain/wire/json.ts';
import type { JsonObject } from '../protocol/primitives.ts';
import {
  type Form,
  type FormParts,
  formParts,
  isCombined,
  type RuleName,
  rootForm,
} from './schema-form.ts';
import { shownLine } from './text.ts';

/** As a schema library reports it. */
export interface SchemaIssue {
  readonly message: string;
  readonly path: readonly (string | number)[];
}

/** Schemas inside each other, references included. A value has 32 levels, each with a few schemas. */
const DEPTH_MAX = 400;

/**
 * Comparisons of one part of a value with one schema. Together some 5 ms at most, once compiled: no value holds the
 * event loop longer. Cheaper work counts as a part of a step.
 */
export const STEPS_MAX = 6_000;

/** Keys that are looked at, and comparisons with a schema that asks only for a type, that count as a step. */
export const KEYS_PER_STEP = 6;
const PLAIN_PER_STEP = 8;

/** Characters that count as a step where they are counted, and where a canonical text is made of them. */
const STEP_UNITS = 100;
const CANONICAL_UNITS = 10;

/** Required names that count as a step. */
export const REQUIRED_PER_STEP = 8;

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
  return formIssues(rootForm(document, schema), value);
}

export function formIssues(form: Form, value: unknown): readonly SchemaIssue[] {
  const check: Check = { steps: 0, issuesMax: ISSUES_MAX, depth: 0, unsure: 0 };
  try {
    return issuesOf(check, form, { value }).map(shown);
  } catch (error) {
    if (error !== TOO_MUCH) throw error;
    const message = `it takes more work to check than allowed (${STEPS_MAX} steps): send less`;
    return [{ message, path: [] }];
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
  steps: number;
  /** How many issues are of use: one where only that there is one counts. */
  issuesMax: number;
  depth: number;
  /** Schemas so far with keywords that are not checked here. */
  unsure: number;
}

/** A part of the value. */
interface Part {
  readonly value: unknown;
  readonly holder?: Part;
  readonly key?: string | number;
  /** Those that were looked at, by their keys. */
  parts?: Map<string | number, Part>;
  keys?: readonly string[];
  /** What shared schemas say about it. */
  results?: Map<Form, Result | typeof PENDING>;
}

/** Most are found where only their number counts, so each is put into words when the check has ended. */
interface Issue {
  readonly part: Part;
  readonly message: () => string;
}

interface Result {
  readonly issues: readonly Issue[];
  readonly isUnsure: boolean;
}

const PENDING = Symbol('pending');

/** Thrown where the bound is reached, and caught in `formIssues`. */
const TOO_MUCH = Symbol('too much');

const NONE: readonly Issue[] = [];

/** Counts work. Whatever is left unchecked is not admitted. */
function step(check: Check, count = 1): void {
  check.steps += count;
  if (check.steps > STEPS_MAX) throw TOO_MUCH;
}

function issuesOf(check: Check, form: Form, part: Part): readonly Issue[] {
  step(check);
  if (form.schema === true) return NONE;
  if (form.schema === false) return issue(part, () => 'nothing is expected here');
  if (!form.isShared) return ruled(check, form, part);
  part.results ??= new Map();
  const known = part.results.get(form);
  // A schema that asks itself about the same part has no answer.
  if (known === PENDING) throw TOO_MUCH;
  if (known) {
    if (known.isUnsure) check.unsure += 1;
    return known.issues;
  }
  const { unsure } = check;
  part.results.set(form, PENDING);
  const issues = ruled(check, form, part);
  part.results.set(form, { issues, isUnsure: check.unsure !== unsure });
  return issues;
}

function ruled(check: Check, form: Form, part: Part): readonly Issue[] {
  if (check.depth >= DEPTH_MAX) throw TOO_MUCH;
  check.depth += 1;
  const parts = formParts(form);
  if (parts.isUnsure) check.unsure += 1;
  const given: Given = { check, schema: form.schema as JsonObject, parts, part };
  let issues = NONE;
  for (const rule of parts.rules) {
    const found = RULES[rule](given);
    if (found.length > 0) issues = [...issues, ...found].slice(0, ISSUES_MAX);
    if (issues.length >= check.issuesMax) break;
  }
  check.depth -= 1;
  return issues;
}

interface Given {
  readonly check: Check;
  readonly schema: JsonObject;
  readonly parts: FormParts;
  readonly part: Part;
}

type Rule = (given: Given) => readonly Issue[];

function issue(part: Part, message: () => string): Issue[] {
  return [{ part, message }];
}

function shown({ part, message }: Issue): SchemaIssue {
  const path: (string | number)[] = [];
  for (let at: Part | undefined = part; at?.key !== undefined; at = at.holder) path.unshift(at.key);
  return { message: message(), path };
}

/** The same part for every schema that looks at it, so that results are kept. One comparison needs no keeping. */
function inside(holder: Part, key: string | number, form: Form): Part {
  const value = (holder.value as Record<string | number, unknown>)[key];
  if (!isCombined(form) && (typeof value !== 'object' || value === null)) {
    return { value, holder, key };
  }
  holder.parts ??= new Map();
  let part = holder.parts.get(key);
  if (!part) {
    part = { value, holder, key };
    holder.parts.set(key, part);
  }
  return part;
}

/** `maybe`: nothing is wrong, but a keyword was left to the upstream. */
function admission({ check, part }: Given, form: Form): 'yes' | 'maybe' | 'no' {
  if (isPlainly(check, form, part.value)) return 'yes';
  if (formParts(form).isPlain) return 'no';
  const { unsure, issuesMax } = check;
  check.issuesMax = 1;
  const issues = issuesOf(check, form, part);
  check.issuesMax = issuesMax;
  if (issues.length > 0) return 'no';
  return check.unsure === unsure ? 'yes' : 'maybe';
}

const referred: Rule = ({ check, parts: { target }, part }) => {
  if (target === undefined) return NONE;
  if (target === 'missing')
    return issue(part, () => 'its schema refers to something that is not there');
  return issuesOf(check, target, part);
};

const typed: Rule = ({ parts: { types }, part }) => {
  if (types.length === 0 || types.some((each) => isOfType(each, part.value))) return NONE;
  const words = (type: string) => WORDS.get(type) ?? `"${name(type)}"`;
  return issue(part, () => `expected ${types.map(words).join(' or ')}`);
};

/** Whether the form asks only for a type, which the value has. */
function isPlainly(check: Check, form: Form, value: unknown): boolean {
  const { isPlain, types } = formParts(form);
  if (!isPlain || form.schema === false) return false;
  step(check, 1 / PLAIN_PER_STEP);
  return types.length === 0 || types.some((each) => isOfType(each, value));
}

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

const closed: Rule = ({ check, parts, part }) => {
  const { value } = part;
  const isAllowed = parts.closed.every(({ plain, texts }) => {
    if (typeof value !== 'object' || value === null) return plain.has(value);
    if (texts.size === 0) return false;
    const text = canonicalJson(value);
    step(check, 1 + text.length / CANONICAL_UNITS);
    return texts.has(text);
  });
  return isAllowed ? NONE : issue(part, () => 'it is not among the allowed values');
};

const bounded: Rule = ({ schema, part }) => {
  const { value } = part;
  if (typeof value !== 'number') return NONE;
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  if (typeof minimum === 'number' && value < minimum) {
    return issue(part, () => `expected at least ${minimum}`);
  }
  if (typeof maximum === 'number' && value > maximum) {
    return issue(part, () => `expected at most ${maximum}`);
  }
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) {
    return issue(part, () => `expected more than ${exclusiveMinimum}`);
  }
  return typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum
    ? issue(part, () => `expected less than ${exclusiveMaximum}`)
    : NONE;
};

/** How many there are of what the keywords about a length bound. */
const sized: Rule = ({ check, schema, part }) => {
  const { value } = part;
  const [size, least, most] = Array.isArray(value)
    ? [value.length, schema.minItems, schema.maxItems]
    : isObject(value)
      ? [keysOf(part).length, schema.minProperties, schema.maxProperties]
      : typeof value === 'string'
        ? [lengthOf(check, value, schema), schema.minLength, schema.maxLength]
        : [0, undefined, undefined];
  if (typeof least === 'number' && size < least) {
    return issue(part, () => `expected a length of at least ${least}`);
  }
  return typeof most === 'number' && size > most
    ? issue(part, () => `expected a length of at most ${most}`)
    : NONE;
};

/** JSON Schema counts characters, not UTF-16 units. Counted only where a bound asks. */
function lengthOf(check: Check, text: string, { minLength, maxLength }: JsonObject): number {
  if (minLength === undefined && maxLength === undefined) return 0;
  step(check, text.length / STEP_UNITS);
  let pairs = 0;
  for (let at = 1; at < text.length; at += 1) {
    const isPair = (text.charCodeAt(at - 1) & 0xfc00) === 0xd800;
    if (isPair && (text.charCodeAt(at) & 0xfc00) === 0xdc00) pairs += 1;
  }
  return text.length - pairs;
}

function keysOf(part: Part): readonly string[] {
  part.keys ??= Object.keys(part.value as object);
  return part.keys;
}

const members: Rule = ({ check, parts: { required, properties, others }, part }) => {
  const { value } = part;
  if (!isObject(value)) return NONE;
  step(check, required.length / REQUIRED_PER_STEP);
  const absent = required.filter((key) => !Object.hasOwn(value, key)).slice(0, ISSUES_MAX);
  const issues = absent.flatMap((key) => issue(part, () => `"${name(key)}" is missing`));
  if (properties.size === 0 && !others) return issues;
  const keys = keysOf(part);
  step(check, keys.length / KEYS_PER_STEP);
  for (const key of keys) {
    if (issues.length >= check.issuesMax) break;
    const form = properties.get(key) ?? others;
    if (form && !isPlainly(check, form, value[key]))
      issues.push(...issuesOf(check, form, inside(part, key, form)));
  }
  return issues;
};

const elements: Rule = ({ check, parts: { first, rest }, part }) => {
  if (!Array.isArray(part.value)) return NONE;
  const issues: Issue[] = [];
  const count = rest ? part.value.length : Math.min(first.length, part.value.length);
  for (let index = 0; index < count && issues.length < check.issuesMax; index += 1) {
    const form = first[index] ?? (rest as Form);
    if (!isPlainly(check, form, part.value[index]))
      issues.push(...issuesOf(check, form, inside(part, index, form)));
  }
  return issues;
};

const combined: Rule = (given) => {
  const { check, parts, part } = given;
  const issues: Issue[] = [];
  for (const each of parts.all) issues.push(...issuesOf(check, each, part));
  const one = parts.one && admitting(given, parts.one, 2);
  if (one === 0 || (parts.any && admitting(given, parts.any, 1) === 0)) {
    issues.push(...issue(part, () => 'it has none of the allowed forms'));
  }
  if (one === 2) {
    issues.push(...issue(part, () => 'it has more than one of the forms of which one is allowed'));
  }
  if (parts.not && admission(given, parts.not) === 'yes') {
    issues.push(...issue(part, () => 'it has a form that is not allowed'));
  }
  return issues;
};

/** How many of the forms surely admit the part, up to `enough`; between 0 and 1 where one may. */
function admitting(given: Given, forms: readonly Form[], enough: number): number {
  let sure = 0;
  let isOpen = false;
  for (const form of forms) {
    const found = admission(given, form);
    if (found === 'yes') sure += 1;
    if (found === 'maybe') isOpen = true;
    if (sure === enough) break;
  }
  return sure === 0 && isOpen ? 0.5 : sure;
}

const RULES: Readonly<Record<RuleName, Rule>> = {
  referred,
  typed,
  closed,
  bounded,
  sized,
  members,
  elements,
  combined,
};

function name(text: string): string {
  return shownLine(text, NAME_LENGTH_MAX);
}
