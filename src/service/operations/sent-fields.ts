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
  /** The schema takes every object as it is. */
  readonly isAnyObject: boolean;
  /** What the field becomes when it was not sent; `undefined` where it is required. */
  readonly absent: { readonly value: unknown } | undefined;
}

interface Plan {
  readonly byName: ReadonlyMap<string, Field>;
  /** Fields that are required, or become something when they were not sent. */
  readonly needed: readonly Field[];
  /** A name that the schema does not know is refused. */
  readonly isStrict: boolean;
}

/** `null` for a schema that has to read the whole input. */
const plans = new WeakMap<z.ZodType, Plan | null>();

/**
 * What the schema makes of the input. `undefined` where it refuses the input, or is not a plain object: then the
 * schema itself says what is wrong.
 */
export function readSent(schema: z.ZodType, input: unknown): object | undefined {
  const known = plans.get(schema);
  const plan = known === undefined ? planOf(schema) : known;
  if (!plan || !isObject(input)) return undefined;
  const read: Record<string, unknown> = {};
  for (const name of Object.keys(input)) {
    const field = plan.byName.get(name);
    if (!field && plan.isStrict) return undefined;
    if (field && input[name] !== undefined && !readField(field, input[name], read))
      return undefined;
  }
  for (const { name, absent } of plan.needed) {
    if (Object.hasOwn(read, name)) continue;
    if (!absent) return undefined;
    read[name] = absent.value;
  }
  return read;
}

/** False for a value that the schema of the field refuses. */
function readField(
  { name, schema, isAnyObject }: Field,
  sent: unknown,
  read: Record<string, unknown>,
): boolean {
  if (isAnyObject && isPlain(sent)) {
    read[name] = sent;
    return true;
  }
  const parsed = schema.safeParse(sent);
  if (parsed.success) read[name] = parsed.data;
  return parsed.success;
}

function planOf(schema: z.ZodType): Plan | null {
  const plan = isPlainObject(schema) ? planFor(schema) : null;
  plans.set(schema, plan);
  return plan;
}

function planFor({ shape, def }: z.ZodObject<Record<string, z.ZodType>>): Plan {
  const fields = Object.entries(shape).map(([name, schema]): Field => {
    const parsed = schema.safeParse(undefined);
    const absent = parsed.success ? { value: parsed.data } : undefined;
    return { name, schema, isAnyObject: isRecord(schema), absent };
  });
  return {
    byName: new Map(fields.map((field) => [field.name, field])),
    needed: fields.filter(({ absent }) => absent?.value !== undefined || !absent),
    isStrict: def.catchall !== undefined,
  };
}

function isRecord(schema: z.ZodType): boolean {
  if (!(schema instanceof z.ZodRecord) || (schema.def.checks?.length ?? 0) > 0) return false;
  const { keyType, valueType } = schema.def;
  const isAnyKey = keyType instanceof z.ZodString && (keyType.def.checks?.length ?? 0) === 0;
  return isAnyKey && valueType instanceof z.ZodUnknown;
}

/** An object as JSON makes it. The schema itself drops a member named `__proto__`. */
function isPlain(value: unknown): boolean {
  return (
    isObject(value) &&
    Object.getPrototypeOf(value) === Object.prototype &&
    !Object.hasOwn(value, '__proto__')
  );
}

/** A rule about the whole object, or about fields that it does not name, needs the whole. */
function isPlainObject(schema: z.ZodType): schema is z.ZodObject<Record<string, z.ZodType>> {
  if (!(schema instanceof z.ZodObject)) return false;
  const { checks, catchall } = schema.def;
  const namesAll = catchall === undefined || catchall instanceof z.ZodNever;
  return (checks?.length ?? 0) === 0 && namesAll;
}
