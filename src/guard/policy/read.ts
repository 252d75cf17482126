/**
 * Reads the policy of a guard. Every fault has its line and column.
 *
 * @module
 */

import type * as z from 'zod';
import { pathText, similar } from '../../domain/catalog/fault.ts';
import { KINDS } from '../../domain/values/kinds.ts';
import { Policy, type ToolPolicy } from './schema.ts';
import type { UpstreamPolicy } from './upstream-schema.ts';
import { readYaml, type TextPosition, type YamlText } from './yaml.ts';

/** Printed as `writ-guard.yaml:12:5: tools.write_file.effect: …`. */
export interface PolicyFault extends TextPosition {
  /** A path into the policy. Empty for the whole file. */
  readonly where: string;
  readonly why: string;
}

/** A policy that was read, with its defaults. */
export interface GuardPolicy {
  /** The id of the service. */
  readonly guard: string;
  readonly upstream: UpstreamPolicy;
  readonly tools_as: 'all' | 'search';
  readonly budget?: { readonly currency: string; readonly amount: number } | undefined;
  /** By the name of the capability. */
  readonly tools: ReadonlyMap<string, ToolPolicy>;
  /** Where a value stands in the file. */
  positionOf(path: readonly PropertyKey[]): TextPosition;
}

export type PolicyReading =
  | { readonly policy: GuardPolicy }
  | { readonly faults: readonly PolicyFault[] };

export function readPolicy(text: string): PolicyReading {
  const yaml = readYaml(text);
  if ('faults' in yaml) {
    return {
      faults: yaml.faults.map(({ path, ...fault }) => ({ ...fault, where: pathWords(path) })),
    };
  }
  const parsed = Policy.safeParse(yaml.value);
  if (parsed.success) return { policy: policyOf(parsed.data, yaml) };
  const faults = parsed.error.issues.flatMap((issue) => faultsOf(issue as Issue, yaml, []));
  const byPosition = (one: TextPosition, other: TextPosition) =>
    one.line - other.line || one.column - other.column;
  return { faults: faults.sort(byPosition).slice(0, FAULTS_MAX) };
}

/** Faults of one policy that are reported. */
const FAULTS_MAX = 50;

function policyOf(
  { tools, ...given }: z.infer<typeof Policy>,
  { positionOf }: YamlText,
): GuardPolicy {
  const complete = Object.entries(tools).map(([capability, tool]): [string, ToolPolicy] => {
    const { tool: name = capability, scope = `${given.guard}.${SCOPES[tool.effect]}` } = tool;
    return [capability, { ...tool, tool: name, scope }];
  });
  return { ...given, tools: new Map(complete), positionOf };
}

/** The last word of the scope that a tool needs unless its policy names another. */
const SCOPES: Readonly<Record<ToolPolicy['effect'], string>> = {
  read: 'read',
  write: 'write',
  transactional: 'write',
  irreversible: 'irreversible',
};

/** The part of an issue of zod that is used here. */
interface Issue {
  readonly code: string;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly input?: unknown;
  readonly expected?: string;
  readonly keys?: readonly string[];
  readonly values?: readonly unknown[];
  readonly minimum?: number | bigint;
  readonly maximum?: number | bigint;
  /** Of a union: the issues of each form. */
  readonly errors?: readonly (readonly Issue[])[];
  /** Of a key. */
  readonly issues?: readonly Issue[];
}

function faultsOf(issue: Issue, yaml: YamlText, above: readonly PropertyKey[]): PolicyFault[] {
  const path = [...above, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    return (issue.keys ?? []).map((key) => unknownKey([...path, key], yaml));
  }
  if (issue.code === 'invalid_union') {
    return nearestForm(issue.errors ?? []).flatMap((each) => faultsOf(each, yaml, path));
  }
  if (issue.code === 'invalid_key') {
    const why = issue.issues?.[0]?.message ?? 'this name is not allowed';
    return [{ ...yaml.keyPositionOf(path), where: pathWords(path), why }];
  }
  return [{ ...yaml.positionOf(path), where: pathWords(path), why: issueText(issue, path, yaml) }];
}

/** The form that a person probably meant: one of the right type, with the fewest issues. */
function nearestForm(forms: readonly (readonly Issue[])[]): readonly Issue[] {
  const isOtherType = (issues: readonly Issue[]) =>
    issues.some(({ code, path }) => path.length === 0 && /^invalid_(?:type|value)$/.test(code));
  const fitting = forms.filter((issues) => !isOtherType(issues));
  const [nearest = []] = [...(fitting.length > 0 ? fitting : forms)].sort(
    (one, other) => one.length - other.length,
  );
  return nearest;
}

function unknownKey(path: readonly PropertyKey[], yaml: YamlText): PolicyFault {
  const known = keysAt(Policy, path.slice(0, -1));
  const name = similar(String(path.at(-1)).slice(0, NAME_LENGTH_MAX), known);
  const why = name
    ? `there is no such key; did you mean ${name}?`
    : `there is no such key; expected one of ${known.join(', ')}`;
  return { ...yaml.keyPositionOf(path), where: pathWords(path), why };
}

function issueText(issue: Issue, path: readonly PropertyKey[], yaml: YamlText): string {
  const { code, message, expected = '', values = [], minimum, maximum } = issue;
  if (!/^(?:Invalid|Too (?:big|small))\b/.test(message)) return message;
  const words =
    code === 'invalid_value'
      ? values.map((value) => JSON.stringify(value)).join(', ')
      : code === 'too_small'
        ? `at least ${minimum}`
        : code === 'too_big'
          ? `at most ${maximum}`
          : (KINDS[expected] ?? 'another form');
  return isAbsent(path, yaml) ? `it is required: expected ${words}` : `expected ${words}`;
}

function isAbsent(path: readonly PropertyKey[], { value }: YamlText): boolean {
  let found: unknown = value;
  for (const key of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return true;
    found = (found as Readonly<Record<PropertyKey, unknown>>)[key];
  }
  return false;
}

/** The known keys of the object at a path of the schema, those of all forms where it has several. */
function keysAt(schema: unknown, path: readonly PropertyKey[]): string[] {
  const { shape, innerType, in: from, valueType, element, options } = definitionOf(schema);
  const wrapped = innerType ?? from;
  if (wrapped) return keysAt(wrapped, path);
  if (options) return [...new Set(options.flatMap((each) => keysAt(each, path)))];
  const [key, ...rest] = path;
  if (key === undefined) return Object.keys(shape ?? {});
  const inner = shape?.[String(key)] ?? valueType ?? element;
  return inner === undefined ? [] : keysAt(inner, rest);
}

interface SchemaDefinition {
  readonly shape?: Readonly<Record<string, unknown>>;
  readonly innerType?: unknown;
  readonly in?: unknown;
  readonly valueType?: unknown;
  readonly element?: unknown;
  readonly options?: readonly unknown[];
}

function definitionOf(schema: unknown): SchemaDefinition {
  return (schema as { readonly def?: SchemaDefinition } | undefined)?.def ?? {};
}

/** Characters of a key that a message repeats. */
const NAME_LENGTH_MAX = 128;

function pathWords(path: readonly PropertyKey[]): string {
  const cut = path.map((part) =>
    typeof part === 'string' && part.length > NAME_LENGTH_MAX
      ? `${part.slice(0, NAME_LENGTH_MAX)}…`
      : part,
  );
  return pathText(cut);
}
