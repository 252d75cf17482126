import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import * as z from 'zod';
import { consoleMethods } from '../../protocol/console/methods.ts';
import { operations } from '../../protocol/operations.ts';
import { readSent } from './sent-fields.ts';

const schemas = new Map<string, z.ZodType>([
  ...Object.entries(operations).map(([name, { request }]) => [name, request] as const),
  ...Object.entries(consoleMethods),
]);

const PLAIN = new Set<z.ZodType>([operations.invoke.request, operations['tokens.issue'].request]);

/** Values that some fields take, and values that none takes. */
const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  1,
  50,
  -1,
  1.5,
  '',
  'x',
  'true',
  'USD',
  'travel.read',
  'agent:planner',
  `tok_${'0a'.repeat(16)}`,
  'inv-0123456789ab',
  '2030-01-01T00:00:00Z',
  'P1D',
  'x'.repeat(300),
  [],
  ['travel.read'],
  {},
  { currency: 'USD', max_amount: 5 },
  { task_id: 't' },
  JSON.parse('{"__proto__":{"a":1},"b":2}'),
  Object.create({ a: 1 }),
  new Date(0),
  new Map(),
];

/** Names that every object has, or that set its prototype. */
const INHERITED = ['__proto__', 'constructor', 'toString', 'then'];

describe('a request read by its sent fields is what its schema makes of it', () => {
  test.each([...schemas])('%s', (_name, schema) => {
    const names = schema instanceof z.ZodObject ? Object.keys(schema.shape) : ['x'];
    const member = fc.tuple(
      fc.constantFrom(...names, 'unknown', ...INHERITED),
      fc.constantFrom(...VALUES),
    );
    const inputs = fc
      .array(member, { maxLength: names.length + 2 })
      .map((members) => Object.fromEntries(members));

    fc.assert(
      fc.property(inputs, (input) => {
        const read = readSent(schema, input);
        const parsed = schema.safeParse(input);
        assert.deepEqual(read ?? parsed.data, parsed.data);
        if (PLAIN.has(schema)) assert.equal(read !== undefined, parsed.success);
      }),
      { numRuns: 60 },
    );
  });
});

test('what is not an object, or has a rule about the whole, is left to the schema', () => {
  const whole = z.object({ a: z.string() }).refine(({ a }) => a !== 'b');
  const others = z.object({ a: z.string() }).catchall(z.string());

  for (const schema of [whole, others]) assert.equal(readSent(schema, { a: 'c' }), undefined);
  for (const input of [undefined, null, 'a', ['a']]) {
    assert.equal(readSent(z.object({ a: z.string().optional() }), input), undefined);
  }
});
