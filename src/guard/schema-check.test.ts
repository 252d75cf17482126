import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { test } from 'vitest';
import type { JsonObject } from '../protocol/primitives.ts';
import { schemaIssues, withDefs } from './schema-check.ts';
import { formParts, rootForm } from './schema-form.ts';
import { workFault } from './schema-work.ts';

type Row = [name: string, schema: JsonObject, good: unknown, bad: unknown, issue: string];

const TABLE: Row[] = [
  ['a type', { type: 'string' }, 'a', 1, 'expected a text'],
  ['several types', { type: ['integer', 'null'] }, null, 1.5, 'expected a whole number or null'],
  [
    'a closed set',
    { enum: ['a', { b: [1] }] },
    { b: [1] },
    'c',
    'it is not among the allowed values',
  ],
  ['a constant', { const: 0 }, 0, false, 'it is not among the allowed values'],
  ['a least number', { minimum: 1 }, 1, 0.5, 'expected at least 1'],
  ['a largest number', { maximum: 1 }, 1, 1.5, 'expected at most 1'],
  ['a number above', { exclusiveMinimum: 1 }, 1.5, 1, 'expected more than 1'],
  ['a number below', { exclusiveMaximum: 1 }, 0, 1, 'expected less than 1'],
  [
    'a least length',
    { minLength: 2 },
    'é\u{1f600}',
    '\u{1f600}',
    'expected a length of at least 2',
  ],
  ['a largest length', { maxLength: 1 }, '\u{1f600}', 'ab', 'expected a length of at most 1'],
  ['a least count of items', { minItems: 1 }, [0], [], 'expected a length of at least 1'],
  ['a largest count of keys', { maxProperties: 0 }, {}, { a: 1 }, 'expected a length of at most 0'],
  ['a required key', { required: ['a'] }, { a: null }, {}, '"a" is missing'],
  [
    'a key of a prototype',
    { required: ['toString'] },
    { toString: 1 },
    {},
    '"toString" is missing',
  ],
  ['a property', { properties: { a: { type: 'null' } } }, { b: 1 }, { a: 1 }, 'a: expected null'],
  [
    'other keys',
    { properties: { a: {} }, additionalProperties: false },
    { a: 1 },
    { constructor: 1 },
    'constructor: nothing is expected here',
  ],
  [
    'other keys by a schema',
    { additionalProperties: { type: 'null' } },
    {},
    { a: 1 },
    'a: expected null',
  ],
  ['items', { items: { type: 'null' } }, [null], [null, 1], '1: expected null'],
  [
    'first items',
    { prefixItems: [true], items: false },
    [1],
    [1, 2],
    '1: nothing is expected here',
  ],
  [
    'first items of older drafts',
    { items: [{ type: 'null' }] },
    [null, 1],
    [1],
    '0: expected null',
  ],
  ['all forms', { allOf: [{ minimum: 1 }, { maximum: 2 }] }, 1, 3, 'expected at most 2'],
  ['any form', { anyOf: [{ const: 1 }, { const: 2 }] }, 2, 3, 'it has none of the allowed forms'],
  ['no form', { oneOf: [{ const: 1 }] }, 1, 3, 'it has none of the allowed forms'],
  [
    'one form',
    { oneOf: [{ minimum: 1 }, { maximum: 2 }] },
    3,
    1,
    'it has more than one of the forms of which one is allowed',
  ],
  ['no such form', { not: { type: 'null' } }, 1, null, 'it has a form that is not allowed'],
  [
    'a reference',
    { $ref: '#/$defs/a~1b%20c', $defs: { 'a/b c': { type: 'null' } } },
    null,
    1,
    'expected null',
  ],
  [
    'a reference to a property',
    { properties: { a: { type: 'null' }, b: { $ref: '#/properties/a' } } },
    { b: null },
    { b: 1 },
    'b: expected null',
  ],
  [
    'a schema that refers to itself',
    { properties: { next: { $ref: '#' } }, required: ['id'] },
    { id: 1, next: { id: 2 } },
    { id: 1, next: {} },
    'next: "id" is missing',
  ],
];

for (const [name, schema, good, bad, expected] of TABLE) {
  test(`schemaIssues() checks ${name}`, () => {
    assert.deepEqual(schemaIssues(schema, good), []);
    const [found] = schemaIssues(schema, bad);
    assert.equal([found?.path.join('.'), found?.message].filter(Boolean).join(': '), expected);
  });
}

test('schemaIssues() refuses references that lead elsewhere', () => {
  for (const $ref of ['https://a.example/x.json', '#/$defs/none', '#name', '#/__proto__', 'x']) {
    assert.equal(schemaIssues({ $ref }, 1).length, 1);
  }
});

test('schemaIssues() never refuses a value because of a keyword that it does not check', () => {
  const patterned = [{ pattern: '^a' }, { pattern: '^b' }];

  assert.deepEqual(schemaIssues({ pattern: '(a+)+$' }, `${'a'.repeat(40)}b`), []);
  assert.deepEqual(schemaIssues({ oneOf: patterned }, 'a'), []);
  assert.deepEqual(schemaIssues({ not: { anyOf: patterned } }, 'c'), []);
  const open = { patternProperties: { '^x-': {} }, additionalProperties: false };
  assert.deepEqual(schemaIssues(open, { 'x-a': 1 }), []);
});

/** Each of `depth` definitions offers the next one twice, so that the ways through them double. */
function doubling(depth: number): JsonObject {
  const chain = Array.from({ length: depth }, (_, i) => {
    const next = { $ref: `#/$defs/d${i + 1}` };
    return [`d${i}`, i === depth - 1 ? { const: 0 } : { anyOf: [next, next] }] as const;
  });
  return { $ref: '#/$defs/d0', $defs: Object.fromEntries(chain) };
}

/** An expression of forms that all go on, as the schema of a language has it. */
const EXPRESSION: JsonObject = {
  $ref: '#/$defs/expression',
  $defs: {
    expression: {
      anyOf: [
        { type: 'string' },
        ...['and', 'or', 'then'].map((word) => ({
          type: 'object',
          properties: { left: { $ref: '#/$defs/expression' }, word: { const: word } },
          required: ['left', 'word'],
        })),
      ],
    },
  },
};

function expression(depth: number, word: string): unknown {
  return depth === 0 ? 'x' : { left: expression(depth - 1, word), word };
}

test('schemaIssues() compares one schema with one part of a value once, in however many ways it is reached', () => {
  assert.deepEqual(schemaIssues(doubling(40), 0), []);
  assert.equal(schemaIssues(doubling(40), 1)[0]?.message, 'it has none of the allowed forms');
  assert.deepEqual(schemaIssues(EXPRESSION, expression(30, 'then')), []);
  assert.equal(schemaIssues(EXPRESSION, expression(30, 'not')).length, 1);
});

test('rootForm() keeps of a list of types the names of JSON, however long the list is', () => {
  const long = [...Array(5_000).keys()].map((i) => `t${i}`);
  const types = (type: string[]) => formParts(rootForm({ type })).types;

  assert.deepEqual(types([...long, 'number', 'number', 'string']), ['string', 'number']);
  assert.deepEqual(types(long), ['t0']);
  assert.equal(schemaIssues({ type: long }, 1)[0]?.message, 'expected "t0"');
});

test('schemaIssues() refuses a value that takes too much work, and says so', () => {
  const wide = { anyOf: [{ $ref: '#' }, { $ref: '#' }], type: 'string' };
  const listed = { items: { allOf: Array.from({ length: 100 }, () => ({ minimum: 0 })) } };
  const texts = { allOf: Array.from({ length: 50 }, () => ({ maxLength: 9_000_000 })) };
  const lists = { allOf: Array.from({ length: 50 }, () => ({ not: { enum: [[1]] } })) };
  const rows: [JsonObject, unknown][] = [
    [{ $ref: '#' }, 1],
    [wide, 'a'],
    [listed, Array(100).fill(1)],
    [texts, 'x'.repeat(200_000)],
    [lists, Array(50_000).fill(1)],
  ];

  for (const [schema, value] of rows) {
    assert.match(schemaIssues(schema, value)[0]?.message ?? '', /^it takes more work to check/);
  }
});

test('schemaIssues() checks as much as an honest call carries', () => {
  const rows = Array.from({ length: 2_000 }, (_, i) => ({ id: i, name: 'a', tags: ['b', 'c'] }));
  const row = { type: 'object', properties: { id: { type: 'integer' }, tags: { items: {} } } };

  assert.deepEqual(schemaIssues({ items: row }, rows), []);
  assert.deepEqual(schemaIssues({ items: { type: 'integer' } }, Array(40_000).fill(1)), []);
});

const USABLE: [name: string, schema: JsonObject][] = [
  ['a schema that refers to itself below', { properties: { next: { $ref: '#' } } }],
  ['a language', EXPRESSION],
  ['ways that double', doubling(20)],
  ['many properties', { properties: numbered(1_000, { type: 'string' }), required: ['d1'] }],
];

for (const [name, schema] of USABLE) {
  test(`workFault() admits ${name}`, () => {
    assert.equal(workFault(rootForm(schema)), undefined);
  });
}

const UNUSABLE: [name: string, schema: JsonObject][] = [
  ['a schema that is itself', { $ref: '#' }],
  [
    'a schema that is one of its own forms',
    { properties: { a: { anyOf: [{ $ref: '#/properties/a' }] } } },
  ],
  ['a long chain', doubling(100)],
  [
    'many forms of one value',
    { items: { anyOf: Array.from({ length: 400 }, () => ({ minimum: 0 })) } },
  ],
  [
    'many required names in many forms',
    { anyOf: Array.from({ length: 40 }, () => ({ required: Object.keys(numbered(100, 0)) })) },
  ],
  [
    'forms that meet further down',
    {
      allOf: Array.from({ length: 20 }, () => ({
        properties: { a: { allOf: Array.from({ length: 20 }, () => ({ minimum: 0 })) } },
      })),
    },
  ],
];

for (const [name, schema] of UNUSABLE) {
  test(`workFault() refuses ${name}`, () => {
    assert.match(workFault(rootForm(schema)) ?? '', /refers to itself|steps to check/);
  });
}

function numbered(count: number, each: unknown): JsonObject {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`d${i}`, each]));
}

test('workFault() refuses a schema whose forms meet in more sets than it looks at', () => {
  const at = (i: number) => ({ $ref: `#/$defs/d${i}` });
  const later = Array.from({ length: 18 }, (_, i) => [
    `d${i + 1}`,
    { properties: { a: at(i + 2), b: at(i + 2) } },
  ]);
  const first = { properties: { a: { allOf: [at(0), at(1)] }, b: at(0) } };
  const $defs = { ...Object.fromEntries(later), d0: first, d19: { minimum: 0 } };

  assert.match(workFault(rootForm({ ...at(0), $defs })) ?? '', /steps to check/);
});

test('schemaIssues() reports a bounded number of issues', () => {
  assert.equal(schemaIssues({ items: false }, Array(1_000).fill(0)).length, 8);
});

test('withDefs() reads the definitions of older drafts', () => {
  const schema = {
    definitions: { a: { type: 'null' } },
    properties: { a: { $ref: '#/definitions/a' } },
  };
  const found = withDefs(schema);

  assert.deepEqual(found, {
    $defs: { a: { type: 'null' } },
    properties: { a: { $ref: '#/$defs/a' } },
  });
  assert.equal(schemaIssues(found, { a: 1 }).length, 1);
});

/** Schemas of the checked keywords, and values that they are likely to be about. */
const { schema: SCHEMAS } = fc.letrec<{ schema: JsonObject }>((tie) => {
  const inner = tie('schema');
  const inside = { maxLength: 2, minLength: 1 };
  return {
    schema: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom<JsonObject>({ type: 'string' }, { type: 'integer' }, { type: 'object' }, {}),
      fc.constantFrom<JsonObject>({ minimum: 1 }, { maxLength: 1 }, { minItems: 1 }, { const: 1 }),
      fc.constantFrom<JsonObject>(
        { enum: ['a', 1, null] },
        { required: ['a'] },
        { $ref: '#/$defs/x' },
      ),
      fc.array(inner, inside).map((anyOf) => ({ anyOf })),
      fc.array(inner, inside).map((oneOf) => ({ oneOf })),
      fc.array(inner, inside).map((allOf) => ({ allOf })),
      inner.map((not) => ({ not })),
      inner.map((items) => ({ items })),
      fc.record({ a: inner }).map((properties) => ({ properties, additionalProperties: false })),
    ),
  };
});
const VALUES = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<unknown>('a', 'ab', '', 0, 1, 1.5, null, true, {}, []),
    fc.array(tie('value'), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom('a', 'b'), tie('value'), { maxKeys: 2 }),
  ),
})).value;

test('schemaIssues() agrees with another validator', () => {
  const ajv = new Ajv2020({ strict: false, validateSchema: false });
  fc.assert(
    fc.property(SCHEMAS, VALUES, (schema, value) => {
      const document = { ...schema, $defs: { x: { type: ['string', 'null'] } } };
      assert.equal(schemaIssues(document, value).length === 0, ajv.validate(document, value));
      ajv.removeSchema();
    }),
    { numRuns: 300 },
  );
});
