import assert from 'node:assert/strict';
import { test } from 'vitest';
import { changedFields } from './changes.ts';

const input = (name: string, more: object = {}) => ({ name, type: 'string', ...more });

const table: [name: string, before: unknown, after: unknown, fields: string[]][] = [
  ['nothing in equal declarations', { a: 1, b: [1, { c: 2 }] }, { b: [1, { c: 2 }], a: 1 }, []],
  ['a changed text', { description: 'a' }, { description: 'b' }, ['description']],
  ['an added field', {}, { cost: { certainty: 'fixed' } }, ['cost']],
  ['a removed field', { on_overrun: 'freeze' }, {}, ['on_overrun']],
  ['a nested field', { a: { b: { c: 1, d: 2 } } }, { a: { b: { c: 1, d: 3 } } }, ['a.b.d']],
  ['a list of values as one field', { scope: ['a', 'b'] }, { scope: ['a'] }, ['scope']],
  [
    'the item of a list of objects',
    { inputs: [input('a'), input('b', { allowed_values: [1] })] },
    { inputs: [input('a'), input('b', { allowed_values: [1, 2] })] },
    ['inputs[1].allowed_values'],
  ],
  [
    'an added and a removed item',
    { inputs: [input('a')], requires: [input('x')] },
    { inputs: [input('a'), input('b')], requires: [] },
    ['inputs[1]', 'requires[0]'],
  ],
  ['a field named as a method of objects', {}, JSON.parse('{"toString":1}'), ['toString']],
  ['the whole, where the kept one is no object', 'edited', { a: 1 }, ['declaration']],
];

for (const [name, before, after, fields] of table) {
  test(`changedFields() finds ${name}`, () => {
    assert.deepEqual(changedFields(before, after), fields);
  });
}

test('changedFields() finds a field that was edited into a deep nest', () => {
  const deep = JSON.parse(`${'['.repeat(2_000)}${']'.repeat(2_000)}`);

  assert.deepEqual(changedFields({ a: deep }, { a: [1] }), ['a']);
});
