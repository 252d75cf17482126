/**
 * Issues of the schema as faults: what a malformed declaration should say, in the words of an author.
 *
 * @module
 */

import { KINDS } from '../values/kinds.ts';
import { type Fault, fault, pathText, similar } from './fault.ts';

/** The part of a schema error that is used here. */
interface SchemaError {
  readonly issues: readonly Issue[];
}

interface Issue {
  readonly code: string;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly keys?: readonly string[];
  readonly values?: readonly unknown[];
  readonly expected?: string;
  readonly origin?: string;
  readonly minimum?: number | bigint;
  readonly maximum?: number | bigint;
}

/** The part of a schema in which known fields are looked up. */
interface Schema {
  readonly def: object;
}

/** The issues of a schema as faults. `root` is the field for an empty path. */
export function issueFaults(
  capability: string,
  error: SchemaError,
  schema: Schema,
  root = 'declaration',
): Fault[] {
  return error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') return unknownFields(capability, issue, schema);
    const field = pathText(issue.path) || root;
    const [found, write] = issueWords(issue);
    return [fault(capability, field, found, write)];
  });
}

/** Fields of `defineCapability()` that are code and no part of the declaration. */
const CODE_FIELDS = ['input_details', 'handler', 'deadline', 'resolveBinding', 'price'];

function unknownFields(capability: string, { path, keys = [] }: Issue, schema: Schema): Fault[] {
  const known = [...fieldsAt(schema, path), ...(path.length === 0 ? CODE_FIELDS : [])];
  return keys.map((key) => {
    const write = similar(key, known) ?? `one of ${known.join(', ')}, or leave it out`;
    const field = pathText([...path, key]);
    return { ...fault(capability, field, 'there is no such field', write), written: 'is set' };
  });
}

function issueWords(issue: Issue): [found: string, write?: string] {
  const { code, message, values = [], expected = '' } = issue;
  if (!/^(?:Invalid|Too (?:big|small))\b/.test(message)) return [message];
  if (code === 'invalid_type' && message.endsWith('received undefined')) {
    return ['it is required', KINDS[expected] ?? expected];
  }
  if (code === 'invalid_type') return [`expected ${KINDS[expected] ?? expected}`];
  if (code === 'invalid_value') return [`expected ${values.map(quoted).join(' or ')}`];
  if (code === 'too_small') return [`expected at least ${issue.minimum}${unitOf(issue)}`];
  if (code === 'too_big') return [`expected at most ${issue.maximum}${unitOf(issue)}`];
  if (code !== 'invalid_union') return [message];
  const forms = FORMS[pathText(issue.path)];
  return forms ? [`expected ${forms}`] : ['it has none of the allowed forms'];
}

/** What a field with several forms takes. */
const FORMS: Readonly<Record<string, string>> = {
  'approval.when':
    '"always", { amount_above, input }, { unless }, { where } or { condition, needed }',
  refuse: '{ unless } or { when }',
};

function quoted(value: unknown): string {
  return JSON.stringify(value);
}

function unitOf({ origin = '', minimum, maximum }: Issue): string {
  const one = (minimum ?? maximum) === 1;
  if (origin === 'string') return one ? ' character' : ' characters';
  return origin === 'array' ? (one ? ' item' : ' items') : '';
}

/** The known fields of the object at a path of the schema, those of all forms where it has several. */
function fieldsAt(schema: unknown, path: readonly PropertyKey[]): string[] {
  const { type, shape, element, innerType, valueType, options } = definitionOf(schema);
  if (innerType) return fieldsAt(innerType, path);
  if (options) return [...new Set(options.flatMap((each) => fieldsAt(each, path)))];
  const [key, ...rest] = path;
  if (key === undefined) return type === 'object' && shape ? Object.keys(shape) : [];
  const inner = element ?? valueType ?? shape?.[String(key)];
  return inner === undefined ? [] : fieldsAt(inner, rest);
}

interface SchemaDefinition {
  readonly type?: string;
  readonly shape?: Readonly<Record<string, unknown>>;
  readonly element?: unknown;
  readonly innerType?: unknown;
  readonly valueType?: unknown;
  readonly options?: readonly unknown[];
}

function definitionOf(schema: unknown): SchemaDefinition {
  return (schema as { readonly def?: SchemaDefinition } | undefined)?.def ?? {};
}
