import assert from 'node:assert/strict';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { describe, test } from 'vitest';
import * as z from 'zod';
import { defineCapability } from './define.ts';
import { createService, DefinitionError } from './definition.ts';
import type { AnySchema } from './typed.ts';

const COMMON = {
  name: 'transfer',
  description: 'Sends money',
  side_effect: 'write',
  minimum_scope: ['bank.send'],
} as const;

function declarationOf(inputs: AnySchema, output?: AnySchema) {
  const handler = () => ({});
  const capability = defineCapability({ ...COMMON, inputs, ...(output && { output }), handler });
  const service = createService({ id: 'bank', capabilities: [capability] });
  return service.catalog.capabilities.get('transfer');
}

function faultsOf(define: () => unknown): string[] {
  try {
    define();
  } catch (error) {
    assert.ok(error instanceof DefinitionError, String(error));
    return error.faults.map(({ field, fault }) => `${field}: ${fault}`);
  }
  return [];
}

/** The same inputs in three libraries. */
const LIBRARIES: Record<string, AnySchema> = {
  zod: z.object({
    to: z.string().describe('The account'),
    amount: z.number().min(1).max(500),
    speed: z.enum(['slow', 'fast']).default('slow'),
    note: z.string().optional(),
    count: z.int(),
    parts: z.array(z.object({ share: z.number() })),
  }),
  valibot: toStandardJsonSchema(
    v.object({
      to: v.pipe(v.string(), v.description('The account')),
      amount: v.pipe(v.number(), v.minValue(1), v.maxValue(500)),
      speed: v.optional(v.picklist(['slow', 'fast']), 'slow'),
      note: v.optional(v.string()),
      count: v.pipe(v.number(), v.integer()),
      parts: v.array(v.object({ share: v.number() })),
    }),
  ),
  arktype: type({
    to: type.string.describe('The account'),
    amount: '1 <= number <= 500',
    speed: "'slow' | 'fast' = 'slow'",
    'note?': 'string',
    count: 'number.integer',
    parts: type({ share: 'number' }).array(),
  }),
};

describe('createService() derives a declaration from a schema of', () => {
  for (const [library, schema] of Object.entries(LIBRARIES)) {
    test(library, () => {
      const declared = declarationOf(schema);

      const rows = Object.fromEntries(
        (declared?.inputs ?? []).map(({ name, ...row }) => [name, row]),
      );
      assert.deepEqual(rows.to, { type: 'string', required: true, description: 'The account' });
      assert.deepEqual(rows.amount, { type: 'number', required: true });
      const speed = { type: 'string', required: false, default: 'slow' };
      assert.deepEqual(
        { ...rows.speed, allowed_values: [...(rows.speed?.allowed_values ?? [])].sort() },
        { ...speed, allowed_values: ['fast', 'slow'] },
      );
      assert.deepEqual(rows.note, { type: 'string', required: false });
      assert.deepEqual(rows.count, { type: 'integer', required: true });
      assert.deepEqual(rows.parts, { type: 'array', required: true });
      const properties = declared?.input_schema?.properties as Record<string, object>;
      assert.deepEqual(properties.amount, { type: 'number', minimum: 1, maximum: 500 });
    });
  }

  test('any library: types, closed sets and defaults of each input', () => {
    const declared = declarationOf(
      z.object({
        day: z.iso.date(),
        at: z.iso.datetime(),
        yes: z.boolean(),
        deep: z.object({ list: z.array(z.string()) }),
        one: z.literal('only'),
        either: z.union([z.string(), z.number()]),
        maybe: z.string().nullable(),
        closed: z.union([z.literal('a'), z.literal('b')]),
      }),
    );

    assert.deepEqual(declared?.inputs, [
      { name: 'day', type: 'date', required: true },
      { name: 'at', type: 'datetime', required: true },
      { name: 'yes', type: 'boolean', required: true },
      { name: 'deep', type: 'object', required: true },
      { name: 'one', type: 'string', required: true, allowed_values: ['only'] },
      { name: 'either', type: 'any', required: true },
      { name: 'maybe', type: 'string', required: false },
      { name: 'closed', type: 'string', required: true, allowed_values: ['a', 'b'] },
    ]);
  });

  test('an output: its fields, and its title as the type', () => {
    const output = z.object({ id: z.string(), paid: z.boolean() }).meta({ title: 'receipt' });

    const declared = declarationOf(z.object({}), output);

    assert.deepEqual(declared?.output, { type: 'receipt', fields: ['id', 'paid'] });
    assert.deepEqual(declared?.output_schema?.required, ['id', 'paid']);
  });
});

describe('createService() reports', () => {
  test('details of an input that the schema does not have', () => {
    const inputs = z.object({ a: z.string() });
    const capability = defineCapability({
      ...COMMON,
      inputs,
      // @ts-expect-error The compiler knows the names, too.
      input_details: { b: { entity_reference: true } },
      handler: () => ({}),
    });

    assert.deepEqual(
      faultsOf(() => createService({ id: 'bank', capabilities: [capability] })),
      ['input_details.b: the schema has no such input'],
    );
  });

  test('a price without an estimated cost, and a price that is no function', () => {
    const price = () => ({ currency: 'USD', amount: 1 });
    const cost = { currency: 'USD', amount: 5 };
    const fixed = defineCapability({ ...COMMON, cost, price, handler: () => ({}) });
    const wrong = defineCapability({
      ...COMMON,
      name: 'other',
      price: 'much' as never,
      handler: () => ({}),
    });

    assert.deepEqual(
      faultsOf(() => createService({ id: 'bank', capabilities: [fixed, wrong] })),
      [
        'price: only a cost that is "estimated" has a price for each call',
        'price: expected a function',
      ],
    );
  });
});

test('input_details() add what only the protocol knows to an input of a schema', () => {
  const capability = defineCapability({
    ...COMMON,
    inputs: z.object({ to: z.string() }),
    input_details: { to: { entity_reference: true, semantic_type: 'account' } },
    handler: () => ({}),
  });

  const service = createService({ id: 'bank', capabilities: [capability] });

  assert.deepEqual(service.catalog.capabilities.get('transfer')?.inputs, [
    {
      name: 'to',
      type: 'string',
      required: true,
      entity_reference: true,
      semantic_type: 'account',
    },
  ]);
});

test('an amount alone is a fixed cost, and a grant policy has a default', () => {
  const capability = defineCapability({
    ...COMMON,
    cost: { currency: 'USD', amount: 5 },
    approval: { when: 'always' },
    handler: () => ({}),
  });

  const service = createService({ id: 'bank', capabilities: [capability] });

  const declared = service.catalog.capabilities.get('transfer');
  assert.deepEqual(declared?.cost, {
    certainty: 'fixed',
    financial: { currency: 'USD', amount: 5 },
  });
  assert.deepEqual(declared?.approval?.grant_policy, {
    allowed_grant_types: ['one_time'],
    default_grant_type: 'one_time',
    expires_in_seconds: 900,
    max_uses: 1,
  });
});

test('createService() finds null behind references, alternatives and parts', () => {
  const text = z.string().nullable().meta({ id: 'Text' });
  const tree: z.ZodType = z.lazy(() => z.union([z.array(tree), z.string()])).meta({ id: 'Tree' });
  const { inputs = [] } =
    declarationOf(
      z.object({
        union: z.union([text, z.number()]),
        both: z.intersection(text, z.string().nullable()),
        one: z.intersection(text, z.string()),
        value: z.literal(['a', null]),
        texts: z.union([z.string(), z.number()]),
        tree: z.union([tree, z.number()]),
      }),
    ) ?? {};

  assert.deepEqual(
    inputs.filter(({ required }) => !required).map(({ name }) => name),
    ['union', 'both', 'value'],
  );
});

test('createService() takes ids of schemas that a reference writes in another form', () => {
  const node = z.object({ name: z.string() }).meta({ id: 'Node/1~a' });

  assert.deepEqual(
    declarationOf(node)?.inputs.map(({ name }) => name),
    ['name'],
  );
  assert.equal(declarationOf(z.object({ node }))?.inputs[0]?.type, 'object');
});

test('createService() asks no check of a schema of zod, and leaves no rejection unhandled', () => {
  let checks = 0;
  const schema = z.object({
    id: z.string().default(() => String(Math.random())),
    name: z.string().refine(async () => {
      checks += 1;
      throw new Error('the database is down');
    }),
  });

  assert.equal(declarationOf(schema)?.inputs.length, 2);
  assert.equal(checks, 0);
});

test('createService() refuses a schema of zod in a wrapper, and asks none of its checks', () => {
  let checks = 0;
  const inner = z.object({
    name: z.string().refine(async () => {
      checks += 1;
      throw new Error('the database is down');
    }),
    id: z.string().default('x'),
  });
  const wrapper: AnySchema = { '~standard': inner['~standard'] };
  const handler = () => ({ name: 'x' });
  const capability = defineCapability({ ...COMMON, inputs: wrapper, output: wrapper, handler });

  const lacks =
    'it lacks safeParseAsync(), without which an asynchronous check that rejects stops the process';
  assert.deepEqual(
    faultsOf(() => createService({ id: 'bank', capabilities: [capability] })),
    [`inputs: ${lacks}`, `output: ${lacks}`],
  );
  assert.equal(checks, 0);
});

test('createService() takes a check of valibot that JSON Schema cannot say', () => {
  const text = v.pipe(
    v.string(),
    v.trim(),
    v.regex(/^a/i),
    v.minLength(3),
    v.check((id) => id !== 'abc'),
    v.brand('id'),
  );

  const schema = declarationOf(toStandardJsonSchema(v.object({ text })))?.input_schema;

  assert.deepEqual(schema?.properties, { text: { type: 'string', minLength: 3 } });
});
