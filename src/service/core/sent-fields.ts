/**
 * Reads a request by the fields that were sent.
 *
 * A request has many optional fields, and a call sends few of them. What a field becomes that was not sent is
 * found once for each schema, so only the others are parsed.
 *
 * @module
 */

import * as z from 'zod';
import { isObject } from '../../domain/wire/json.ts';

interface Field {
  readonly name: string;
  readonly schema: z.ZodType;
  /** What the field becomes when it was not sent; `undefined` where it is required. */
  readonly absent: { readonly value: unknown } | undefined;
}

const plans = new WeakMap<z.ZodType, readonly Field[]>();

/**
 * What the schema makes of the input. `undefined` where it refuses the input, or is not a plain object: then the
 * schema itself says what is wrong.
 */
export function readSent(schema: z.ZodType, input: unknown): object | undefined {
  const fields = plans.get(schema) ?? planOf(schema);
  if (fields.length === 0 || !isObject(input)) return undefined;
  const read: Record<string, unknown> = {};
  for (const { name, schema: own, absent } of fields) {
    const sent = input[name];
    if (sent === undefined) {
      if (!absent) return undefined;
      if (absent.value !== undefined) read[name] = absent.value;
      continue;
    }
    const parsed = own.safeParse(sent);
    if (!parsed.success) return undefined;
    read[name] = parsed.data;
  }
  return read;
}

function planOf(schema: z.ZodType): readonly Field[] {
  const fields = isPlainObject(schema)
    ? Object.entries<z.ZodType>(schema.shape).map(([name, own]) => {
        const parsed = own.safeParse(undefined);
        return { name, schema: own, absent: parsed.success ? { value: parsed.data } : undefined };
      })
    : [];
  plans.set(schema, fields);
  return fields;
}

/** A rule about the whole object, or about fields that it does not name, needs the whole. */
function isPlainObject(schema: z.ZodType): schema is z.ZodObject<Record<string, z.ZodType>> {
  if (!(schema instanceof z.ZodObject)) return false;
  const { checks, catchall } = schema.def;
  return (checks?.length ?? 0) === 0 && catchall === undefined;
}
