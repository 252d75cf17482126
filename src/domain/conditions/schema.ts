/**
 * The schema of a tool's parameters under conditions: what a model can be told, so that it does not ask for what will
 * be refused. The service judges every call, whatever a schema says.
 *
 * @module
 */

import type { JsonObject } from '../../protocol/primitives.ts';
import { isObject } from '../wire/json.ts';
import { admitsAbsence, type Condition, type Conditions, listedValues } from './condition.ts';

interface Parameters extends JsonObject {
  readonly properties: JsonObject;
  readonly required: readonly string[];
}

/** Only `enum`, `minimum` and `maximum`: providers of models reject other keywords. */
export function narrowedSchema<Schema extends Parameters>(
  schema: Schema,
  conditions: Conditions,
): Schema {
  const properties: JsonObject = { ...schema.properties };
  const required = new Set(schema.required);
  for (const [path, condition] of Object.entries(conditions)) {
    const [name = ''] = path.split('.');
    if (!Object.hasOwn(properties, name)) continue;
    if (!admitsAbsence(condition)) required.add(name);
    if (name !== path) continue;
    if (condition.absent) {
      delete properties[name];
      required.delete(name);
    } else {
      const declared = properties[name];
      properties[name] = narrowedProperty(isObject(declared) ? declared : {}, condition);
    }
  }
  return { ...schema, properties, required: [...required] };
}

function narrowedProperty(declared: JsonObject, condition: Condition): JsonObject {
  const { at_least, at_most } = condition;
  const listed = listedValues(condition);
  const [lowest, highest] = [
    numberOr(declared.minimum, -Infinity),
    numberOr(declared.maximum, Infinity),
  ];
  return {
    ...declared,
    ...(listed && { enum: [...listed] }),
    ...(typeof at_least === 'number' && { minimum: Math.max(lowest, at_least) }),
    ...(typeof at_most === 'number' && { maximum: Math.min(highest, at_most) }),
  };
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}
