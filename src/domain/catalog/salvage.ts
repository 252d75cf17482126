/**
 * Salvage: the part of a malformed declaration that the rules can still check.
 *
 * An author gets all faults at once, so one misspelt field must not hide the others. Every malformed part
 * is removed or filled with a harmless value, and the rules check the rest. A fault that a rule finds in
 * such a part, or in names that were lost with it, is not the author's and is dropped.
 *
 * @module
 */

import { CapabilityDeclaration } from '../../protocol/capability.ts';
import { isObject } from '../wire/json.ts';
import { pathText } from './fault.ts';

export interface Salvaged {
  readonly declaration: CapabilityDeclaration;
  /** Whether a fault at this part is about what was declared, not about what was removed. */
  judges(field: string): boolean;
}

type Path = readonly PropertyKey[];

/** Each round repairs at least one part. A declaration that still does not parse is given up. */
const ROUNDS_MAX = 100;

export function salvage(declared: unknown): Salvaged | undefined {
  const value = copyOf(declared);
  const damaged: string[] = [];
  for (let round = 0; round < ROUNDS_MAX && isObject(value); round += 1) {
    const parsed = CapabilityDeclaration.safeParse(value);
    if (parsed.success) return { declaration: parsed.data, judges: judging(damaged) };
    const [issue] = parsed.error.issues;
    if (!issue) return undefined;
    const paths =
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => [...issue.path, key])
        : [issue.path];
    for (const path of paths) {
      const cut = cutOut(value, path);
      if (cut.length === 0) return undefined;
      damaged.push(pathText(path), pathText(cut));
    }
  }
  return undefined;
}

/** Values for mandatory fields, which cannot be removed. `*` stands for an index. */
const FILLINGS: Readonly<Record<string, (path: Path) => unknown>> = {
  description: () => 'damaged',
  contract_version: () => '1.0.0',
  inputs: () => [],
  'inputs.*': (path) => ({ name: nameAt(path), type: 'damaged' }),
  'inputs.*.name': (path) => nameAt(path.slice(0, -1)),
  'inputs.*.type': () => 'damaged',
  output: () => ({ type: 'object', fields: [] }),
  'output.type': () => 'object',
  'output.fields': () => [],
  'output.fields.*': (path) => nameAt(path),
  side_effect: () => ({ type: 'transactional' }),
  'side_effect.type': () => 'transactional',
  minimum_scope: () => [],
  'minimum_scope.*': (path) => nameAt(path),
  kind: () => undefined,
  'composition.authority_boundary': () => 'same_service',
  'composition.input_mapping': () => ({}),
  'composition.output_mapping': () => ({}),
  'composition.failure_policy': () => 'propagate',
  'composition.audit_policy': () => ({ record_child_invocations: true, parent_task_lineage: true }),
};

/** Parts that define names. When one is lost, references to its name look like faults. */
const NAMING = /^(inputs(\[\d+\](\.(name|type))?)?|output(\.fields(\[\d+\])?)?)$/;
const NAMED_BY =
  /^(requires_binding|observability|composition|side_effect\.compensation|approval|title)/;

function judging(damaged: readonly string[]): (field: string) => boolean {
  const namesLost = damaged.some((part) => NAMING.test(part));
  const kindLost = damaged.includes('kind');
  return (field) => {
    if (namesLost && NAMED_BY.test(field)) return false;
    if (kindLost && field === 'composition') return false;
    if (damaged.some((part) => within(field, part))) return false;
    return REPEATS_ONLY.has(field) || !damaged.some((part) => within(part, field));
  };
}

/** Lists for which the only rule is that no name repeats. Fillings have unique names. */
const REPEATS_ONLY: ReadonlySet<string> = new Set(['inputs', 'output.fields']);

function within(part: string, whole: string): boolean {
  return part === whole || (part.startsWith(whole) && /^[.[]/.test(part.slice(whole.length)));
}

/**
 * Fills or removes one part. If neither is possible, it removes the part around it. Returns the path that
 * it changed; an empty path when nothing is left.
 */
function cutOut(value: unknown, path: Path): Path {
  const key = path.at(-1);
  if (key === undefined) return [];
  const holder = path.slice(0, -1).reduce<unknown>(valueAt, value);
  const filling = FILLINGS[path.map((part) => (typeof part === 'number' ? '*' : part)).join('.')];
  if (filling && (Array.isArray(holder) || isObject(holder))) {
    (holder as Record<PropertyKey, unknown>)[key] = filling(path);
    return path;
  }
  if (!isObject(holder) || !Object.hasOwn(holder, key)) return cutOut(value, path.slice(0, -1));
  delete holder[String(key)];
  return path;
}

function nameAt(path: Path): string {
  return `damaged${String(path.at(-1))}`;
}

function valueAt(value: unknown, key: PropertyKey): unknown {
  return (value as Record<PropertyKey, unknown> | undefined)?.[key];
}

/** Copies only the containers: the values inside may be of any kind and are not cloned. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, held]) => [key, copyOf(held)]));
}
