/**
 * Defaults that stay: finds the defaults of a JSON Schema that a function of the author makes, and leaves
 * them out, because the manifest must be the same at every start and on every replica.
 *
 * A library evaluates such a function when it writes the schema, and does not say so. The schema is therefore
 * read twice, the second time under another clock; what differs was made. A function that always returns
 * the same value is as good as a constant.
 *
 * @module
 */

import { isObject } from '../../domain/wire/json.ts';
import { atAnotherTime } from '../../platform.ts';
import type { JsonObject } from '../../protocol/primitives.ts';

export interface Settled {
  readonly schema: unknown;
  /** Where a default was left out, such as `.stops[].at`. */
  readonly made: readonly string[];
}

/**
 * What `make` returns, without the defaults that a function makes. In the schema of what a caller sends, a
 * property with such a default may be left out.
 */
export function settled(make: () => unknown, isSent: boolean): Settled {
  const made: string[] = [];
  const schema = schemaOf(make(), atAnotherTime(make), { isSent, made, path: '' });
  return { schema, made };
}

/** Whether two readings of one value show that a function made it. */
export function isMade(first: unknown, second: unknown): boolean {
  return JSON.stringify(first) !== JSON.stringify(second);
}

interface Reading {
  readonly isSent: boolean;
  readonly made: string[];
  readonly path: string;
}

/** Keywords whose values are schemas by a name that the author chose. */
const BY_NAME: ReadonlySet<string> = new Set([
  '$defs',
  'definitions',
  'dependentSchemas',
  'patternProperties',
  'properties',
]);

/** Keywords whose values are data. */
const DATA: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'examples']);

function schemaOf(first: unknown, second: unknown, reading: Reading): unknown {
  if (Array.isArray(first)) {
    const others = Array.isArray(second) ? second : [];
    return first.map((each, index) => schemaOf(each, others[index], reading));
  }
  if (!isObject(first) || !isObject(second)) return first;
  const kept = Object.entries(first).filter(
    ([key, value]) => key !== 'default' || !isMade(value, second.default),
  );
  if (kept.length < Object.keys(first).length) reading.made.push(reading.path);
  const schema = Object.fromEntries(
    kept.map(([key, value]) => [key, keywordOf(key, [value, second[key]], reading)]),
  );
  return reading.isSent ? withoutMade(schema, first) : schema;
}

function keywordOf(key: string, [first, second]: [unknown, unknown], reading: Reading): unknown {
  if (DATA.has(key)) return first;
  const at = (step: string): Reading => ({ ...reading, path: `${reading.path}${step}` });
  if (!BY_NAME.has(key)) return schemaOf(first, second, key === 'items' ? at('[]') : reading);
  if (!isObject(first) || !isObject(second)) return first;
  const prefix = key === 'properties' ? '' : `.${key}`;
  return Object.fromEntries(
    Object.entries(first).map(([name, each]) => [
      name,
      schemaOf(each, second[name], at(`${prefix}.${name}`)),
    ]),
  );
}

/** Some libraries require a property with a default, and the default says that it may be left out. */
function withoutMade(schema: JsonObject, { properties: before }: JsonObject): JsonObject {
  const { required, properties } = schema;
  if (!Array.isArray(required) || !isObject(properties) || !isObject(before)) return schema;
  const hasDefault = (each: unknown) => isObject(each) && Object.hasOwn(each, 'default');
  const needed = required.filter(
    (name) => hasDefault(properties[name]) || !hasDefault(before[name]),
  );
  return { ...schema, required: needed };
}
