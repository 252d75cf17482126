import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import * as mini from 'zod/mini';
import { answersAtOnce } from './zod-timing.ts';

const Tree = z.object({
  name: z.string(),
  get children() {
    return z.array(Tree);
  },
});

const AT_ONCE: readonly z.ZodType[] = [
  z.object({
    origin: z.string().min(2).max(3),
    date: z.iso.date(),
    count: z.int().min(0).default(3),
  }),
  z
    .object({ email: z.email().optional(), tags: z.array(z.string().trim()).readonly() })
    .catchall(z.number()),
  z.object({
    size: z.enum(['S', 'M']).nullable(),
    kind: z.literal('a'),
    more: z.unknown(),
    any: z.any(),
  }),
  z.object({
    either: z.union([z.string(), z.number().multipleOf(5)]),
    pair: z.tuple([z.string(), z.null()]),
  }),
  z.object({
    by: z.record(z.string(), z.boolean()),
    both: z.intersection(Tree, z.object({ a: z.string() })),
  }),
  z.object({
    one: z.discriminatedUnion('t', [z.object({ t: z.literal(1) }), z.object({ t: z.literal(2) })]),
  }),
  z.object({
    text: z.string().regex(/^a/).toLowerCase().describe('d').meta({ title: 't' }),
    never: z.never().optional(),
  }),
  Tree,
  z.strictObject({
    day: z.string().prefault('today'),
    url: z.url(),
    rest: z.tuple([z.string()], z.number()),
  }),
];

const LATER: readonly (readonly [string, unknown])[] = [
  ['refine', z.string().refine(() => true)],
  ['superRefine', z.string().superRefine(() => undefined)],
  ['check', z.string().check(() => undefined)],
  ['transform', z.string().transform((text) => text.length)],
  ['preprocess', z.preprocess((value) => value, z.string())],
  ['pipe', z.string().pipe(z.string())],
  ['codec', z.codec(z.string(), z.number(), { decode: Number, encode: String })],
  ['catch', z.string().catch('a')],
  ['lazy', z.lazy(() => z.string())],
  ['json', z.json()],
  ['custom', z.custom<string>(() => true)],
  ['instanceof', z.instanceof(Date)],
  ['a format of the author', z.stringFormat('own', () => true)],
  ['a promise', z.promise(z.string())],
  ['a map', z.map(z.string(), z.string())],
  ['a set', z.set(z.string())],
  [
    'a refinement in a record',
    z.record(
      z.string(),
      z.string().refine(() => true),
    ),
  ],
  [
    'a refinement of keys',
    z.record(
      z.string().refine(() => true),
      z.string(),
    ),
  ],
  ['a refinement of other members', z.object({}).catchall(z.string().refine(() => true))],
  [
    'a refinement of the rest',
    z.tuple(
      [z.string()],
      z.string().refine(() => true),
    ),
  ],
  ['a refinement of the whole', z.object({ a: z.string() }).refine(() => true)],
  ['a refinement under a union', z.union([z.string(), z.array(z.string().refine(() => true))])],
  [
    'a refinement under a default',
    z
      .string()
      .refine(() => true)
      .default('a'),
  ],
  ['a refinement in mini', mini.object({ a: mini.string().check(mini.refine(() => true)) })],
  ['no schema', { _zod: { def: { type: 'object' } } }],
  ['an unknown type', { _zod: { def: { type: 'other' } } }],
  ['nothing', undefined],
];

describe('schemas without a function of the author answer at once', () => {
  test.each(AT_ONCE.map((schema, place) => [place, schema] as const))('%i', async (_, schema) => {
    expect(answersAtOnce(schema)).toBe(true);
    const members = fc.dictionary(
      fc.constantFrom(
        'origin',
        'date',
        'count',
        'email',
        'tags',
        'size',
        'kind',
        'either',
        'pair',
        'by',
        'one',
        't',
        'text',
        'name',
        'children',
        'day',
        'url',
        'rest',
        'x',
      ),
      fc.constantFrom<unknown>(
        'SEA',
        '2030-01-02',
        3,
        5,
        null,
        [],
        ['a', null],
        { t: 1 },
        { a: true },
        'a@b.example',
        'M',
        'a',
        'https://a.example',
        ['a', 1],
      ),
    );
    await fc.assert(
      fc.asyncProperty(members, async (value) => {
        assert.deepEqual(schema.safeParse(value), await schema.safeParseAsync(value));
      }),
      { numRuns: 60 },
    );
  });

  test('also in mini', () => {
    expect(answersAtOnce(mini.object({ a: mini.string().check(mini.minLength(2)) }))).toBe(true);
  });
});

test.each(LATER)('%s is waited for', (_, schema) => {
  expect(answersAtOnce(schema)).toBe(false);
  expect(answersAtOnce(z.object({ a: z.array(schema as z.ZodType) }))).toBe(false);
});
