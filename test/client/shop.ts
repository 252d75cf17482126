/**
 * A shop whose capabilities are declared in every way that an author can declare them: by a list, and
 * by schemas of zod, valibot and arktype.
 *
 * @module
 */

import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { createService, defineCapability } from 'writ';
import * as z from 'zod';

const COMMON = { side_effect: 'read', minimum_scope: ['travel.shop'] } as const;

const byList = defineCapability({
  ...COMMON,
  name: 'by_list',
  description: 'Inputs by a list',
  inputs: [
    { name: 'text', type: 'string', description: 'Any text' },
    { name: 'count', type: 'integer', default: 1 },
    { name: 'size', type: 'string', allowed_values: ['small', 'large'], required: false },
    { name: 'parts', type: 'array', required: false },
    { name: 'extra', type: 'object', required: false },
    { name: 'place', type: 'shop:place', required: false },
    { name: 'note', type: 'string', resolution: { mode: 'explicit_only', on_missing: 'omit' } },
  ],
  output: { type: 'echo', fields: ['text', 'count'] },
  handler: ({ text, count }) => ({ text, count }),
});

const nothing = defineCapability({
  ...COMMON,
  name: 'nothing.at-all',
  description: 'Takes no input',
  handler: () => ({ done: true }),
});

const Category = z.object({
  name: z.string(),
  get children() {
    return z.array(Category);
  },
});

const byZod = defineCapability({
  ...COMMON,
  name: 'by_zod',
  description: 'Inputs and output by zod',
  inputs: z.object({
    to: z.string().describe('The "account" */ that gets it'),
    amount: z.number().min(1).max(500),
    speed: z.enum(['slow', 'fast']).default('slow'),
    note: z.string().optional(),
    limit: z.number().nullable(),
    address: z.object({ street: z.string(), lines: z.array(z.string()) }),
    either: z.union([z.string(), z.boolean()]),
    place: z.tuple([z.number(), z.number()]),
    way: z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('post'), code: z.string() }),
      z.object({ kind: z.literal('mail'), at: z.string() }),
    ]),
    tags: z.record(z.string(), z.number()),
    root: Category.optional(),
  }),
  output: z.object({
    sent: z.object({ to: z.string(), amount: z.number(), speed: z.enum(['slow', 'fast']) }),
    way: z.string().nullable(),
    again: z.string().optional(),
    found: Category.optional(),
  }),
  handler: ({ to, amount, speed, way }) => ({ sent: { to, amount, speed }, way: way.kind }),
});

const byValibot = defineCapability({
  ...COMMON,
  name: 'by_valibot',
  description: 'Inputs and output by valibot',
  inputs: toStandardJsonSchema(
    v.object({
      to: v.string(),
      speed: v.optional(v.picklist(['slow', 'fast']), 'slow'),
      note: v.optional(v.string()),
      address: v.object({ street: v.string(), lines: v.array(v.string()) }),
    }),
  ),
  output: toStandardJsonSchema(v.object({ to: v.string(), amount: v.nullable(v.number()) })),
  handler: ({ to }) => ({ to, amount: null }),
});

const byArktype = defineCapability({
  ...COMMON,
  name: 'by_arktype',
  description: 'Inputs and output by arktype',
  inputs: type({
    to: 'string',
    speed: "'slow' | 'fast' = 'slow'",
    'note?': 'string',
    address: { street: 'string', lines: 'string[]' },
  }),
  output: type({ to: 'string', 'amount?': 'number | null' }),
  handler: ({ to }) => ({ to, amount: 5 }),
});

const streamed = defineCapability({
  ...COMMON,
  name: 'streamed',
  description: 'Counts up',
  inputs: z.object({ until: z.int().max(9) }),
  output: z.object({ total: z.number() }),
  response_modes: ['unary', 'streaming'],
  async handler({ until }, context) {
    await context.progress({ at: 1 });
    return { total: until };
  },
});

export const shop = createService({
  id: 'shop',
  capabilities: [byList, nothing, byZod, byValibot, byArktype, streamed],
});
