/**
 * Changes: the fields in which two declarations differ, as a fault names a field.
 *
 * @module
 */

import { canonicalJson } from '../wire/canonical.ts';
import { pathText } from './fault.ts';

/**
 * The paths of all fields that differ, such as `inputs[1].allowed_values`, in the order of the new
 * declaration. A list of plain values is one field; a list of objects is compared item by item.
 */
export function changedFields(before: unknown, after: unknown): string[] {
  return differences(before, after, []).map((path) => pathText(path) || 'declaration');
}

type Path = readonly (string | number)[];

function differences(before: unknown, after: unknown, path: Path): Path[] {
  if (before === after) return [];
  if (isListOfObjects(before) && isListOfObjects(after)) {
    const count = Math.max(before.length, after.length);
    return Array.from({ length: count }, (_, index) => index).flatMap((index) =>
      differences(before[index], after[index], [...path, index]),
    );
  }
  if (isObject(before) && isObject(after)) {
    const names = new Set([...Object.keys(after), ...Object.keys(before)]);
    return [...names].flatMap((name) =>
      differences(own(before, name), own(after, name), [...path, name]),
    );
  }
  return isSame(before, after) ? [] : [path];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isListOfObjects(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.every(isObject);
}

function own(value: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

function isSame(before: unknown, after: unknown): boolean {
  if (before === undefined || after === undefined) return false;
  try {
    return canonicalJson(before) === canonicalJson(after);
  } catch {
    // The kept text was edited and is nested too deeply to be compared.
    return false;
  }
}
