import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { JsonObject } from '../../protocol/primitives.ts';
import { schemaType } from './schema-type.ts';

/** On one line, to compare. */
function typed(schema: JsonObject): string[] {
  let count = 0;
  const nextName = () => {
    count += 1;
    return `T${count}`;
  };
  const { text, declarations } = schemaType(schema, '', nextName);
  return [text, ...declarations].map((each) => each.replaceAll(/\s+/g, ' '));
}

const object = (properties: JsonObject, more: JsonObject = {}) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  ...more,
});

const TYPES: [name: string, schema: JsonObject, type: string][] = [
  ['a text', { type: 'string', pattern: '^a' }, 'string'],
  ['an integer', { type: 'integer' }, 'number'],
  ['a boolean', { type: 'boolean' }, 'boolean'],
  ['nothing', {}, 'unknown'],
  ['a type that JSON Schema does not have', { type: 'date' }, 'unknown'],
  ['several types', { type: ['string', 'null'] }, 'string | null'],
  ['an enum', { type: 'string', enum: ['a', 'b', null] }, '"a" | "b" | null'],
  ['an empty enum', { enum: [] }, 'never'],
  ['a constant', { const: -5 }, '-5'],
  ['a constant null', { const: null }, 'null'],
  ['a constant object', { const: { a: 1 } }, 'unknown'],
  ['anyOf', { anyOf: [{ type: 'string' }, { type: 'number' }] }, 'string | number'],
  ['anyOf with an unknown member', { anyOf: [{ type: 'string' }, {}] }, 'unknown'],
  ['oneOf of the same type', { oneOf: [{ type: 'string' }, { type: 'string' }] }, 'string'],
  ['anyOf beside a type', { type: 'string', anyOf: [{ const: 'a' }] }, 'string & "a"'],
  [
    'allOf',
    { allOf: [object({ a: { type: 'string' } }), object({ b: { type: 'null' } })] },
    '{ a: string; } & { b: null; }',
  ],
  ['allOf with false', { allOf: [{ type: 'string' }, false] }, 'never'],
  ['an array', { type: 'array', items: { type: 'string' } }, 'string[]'],
  [
    'an array of a union',
    { type: 'array', items: { type: ['string', 'null'] } },
    '(string | null)[]',
  ],
  ['an array of anything', { type: 'array' }, 'unknown[]'],
  [
    'a tuple',
    { type: 'array', prefixItems: [{ type: 'string' }, { type: ['number', 'null'] }] },
    '[string, (number | null)]',
  ],
  [
    'a tuple with an optional part and a rest',
    {
      type: 'array',
      prefixItems: [{ type: 'string' }, { type: 'number' }],
      minItems: 1,
      items: { type: 'null' },
    },
    '[string, number?, ...null[]]',
  ],
  [
    'an object',
    { type: 'object', properties: { a: { type: 'string' }, b: {} }, required: ['a'] },
    '{ a: string; b?: unknown; }',
  ],
  ['an object without a type', { properties: { a: true } }, '{ a?: unknown; }'],
  ['an object of anything', { type: 'object' }, '{ [name: string]: unknown }'],
  ['an object without properties', object({}), '{ [name: string]: never }'],
  [
    'an object without any member',
    { type: 'object', additionalProperties: false },
    '{ [name: string]: never }',
  ],
  [
    'a record',
    { type: 'object', additionalProperties: { type: 'number' } },
    '{ [name: string]: number }',
  ],
  [
    'a record by a pattern',
    { type: 'object', patternProperties: { '^a': { type: 'number' } } },
    '{ [name: string]: unknown }',
  ],
  [
    'an open object',
    object({ a: { type: 'string' } }, { additionalProperties: { type: 'number' } }),
    '{ a: string; [name: string]: unknown; }',
  ],
  [
    'required names that have no schema of their own',
    { type: 'object', required: ['a'], additionalProperties: { type: 'number' } },
    '{ a: number; [name: string]: unknown; }',
  ],
];

describe('schemaType() of', () => {
  for (const [name, schema, type] of TYPES) {
    test(`${name} is ${type}`, () => {
      assert.deepEqual(typed(schema), [type]);
    });
  }

  const link = (name: string) => ({ $ref: `#/$defs/${name}` });

  test('a definition is a named type, which may refer to itself', () => {
    const node = object({ name: { type: 'string' }, next: link('node') });

    const found = typed(object({ a: link('node'), b: link('node') }, { $defs: { node } }));

    assert.deepEqual(found, ['{ a: T1; b: T1; }', 'type T1 = { name: string; next: T1; };']);
  });

  test('a schema that refers to itself as a whole is a named type', () => {
    const found = typed(object({ next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } }));

    assert.deepEqual(found, ['{ next: T1 | null; }', 'type T1 = { next: T1 | null; };']);
  });

  test('definitions that name each other are declared once each', () => {
    const $defs = {
      one: object({ other: link('other') }),
      other: { type: 'array', items: link('one') },
    };

    assert.deepEqual(typed({ ...link('one'), $defs }), [
      'T1',
      'type T1 = { other: T2; };',
      'type T2 = T1[];',
    ]);
  });

  test('a definition whose name is escaped is found', () => {
    const $defs = { 'a/b~c': { type: 'string' } };

    assert.deepEqual(typed({ ...link('a~1b~0c'), $defs }), ['T1', 'type T1 = string;']);
  });

  const LOOPS: [name: string, $defs: JsonObject][] = [
    ['itself', { a: link('a') }],
    ['itself over another', { a: link('b'), b: link('a') }],
    ['itself or a text', { a: { anyOf: [link('a'), { type: 'string' }] } }],
    ['itself and an object', { a: { allOf: [{ oneOf: [link('a')] }, object({})] } }],
  ];
  for (const [name, $defs] of LOOPS) {
    test(`a definition that is only ${name} is unknown`, () => {
      assert.deepEqual(typed(object({ x: link('a') }, { $defs })), ['{ x: unknown; }']);
    });
  }

  for (const $ref of ['#/$defs/none', '#/$defs/toString', 'https://a.example/b', '#/a', 5]) {
    test(`a reference to ${$ref} is unknown`, () => {
      assert.deepEqual(typed({ $ref, $defs: {} } as JsonObject), ['unknown']);
    });
  }

  const LARGE = 30_000;
  const names = Array.from({ length: LARGE }, (_, index) => `p${index}`);
  const HUGE: [name: string, property: JsonObject, $defs: JsonObject][] = [
    ['a definition with many members', link('a'), { a: { anyOf: names.map(() => link('a')) } }],
    [
      'a long chain of definitions',
      link('p0'),
      Object.fromEntries(names.map((name, index) => [name, link(`p${index + 1}`)])),
    ],
    ['many properties', { type: 'string' }, {}],
  ];
  for (const [name, property, $defs] of HUGE) {
    test(`${name} is unknown beyond the parts that it reads`, () => {
      const properties = Object.fromEntries(names.map((each) => [each, property]));

      const [text = ''] = typed({ type: 'object', properties, $defs });

      assert.match(text, /p29999\?: unknown; \}$/);
    });
  }
});
