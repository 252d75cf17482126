/**
 * Schemas for what another version of the product published: a field that it added is kept, not refused.
 *
 * What a schema knows is checked as before. Where a value may have several forms, it may have one that is not known.
 *
 * @module
 */

import * as z from 'zod';

/** The same schema, with objects that take fields which they do not know. */
export function lenient<Schema extends z.ZodType>(schema: Schema): Schema {
  return loosened(schema) as Schema;
}

type AnyDef = z.core.$ZodTypeDef & Record<string, unknown>;

function loosened(schema: z.ZodType): z.ZodType {
  const def = schema.def as AnyDef;
  const changed = CHANGES[def.type]?.(def);
  return changed ? schema.clone({ ...def, ...changed }) : schema;
}

const inner = ({ innerType }: AnyDef) => ({ innerType: loosened(innerType as z.ZodType) });

/** By the type of a schema: the parts of its definition that change. */
const CHANGES: Readonly<Record<string, (def: AnyDef) => object>> = {
  object: ({ shape }) => ({
    shape: Object.fromEntries(
      Object.entries(shape as z.ZodRawShape).map(([name, each]) => [
        name,
        loosened(each as z.ZodType),
      ]),
    ),
    catchall: z.unknown(),
  }),
  union: ({ options }) => ({
    options: [...(options as z.ZodType[]).map(loosened), z.looseObject({})],
  }),
  array: ({ element }) => ({ element: loosened(element as z.ZodType) }),
  record: ({ valueType }) => ({ valueType: loosened(valueType as z.ZodType) }),
  optional: inner,
  nullable: inner,
  default: inner,
};
