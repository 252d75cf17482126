/**
 * The form of a dry run: which parameters the entered texts mean.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { controlOf, readInputs } from '../../src/console/views/capabilities/form.ts';
import type { Input } from '../../src/protocol/capability.ts';

const rows = [
  { name: 'text as it is', type: 'string', text: ' 007 ', value: ' 007 ' },
  { name: 'a whole number', type: 'integer', text: '12', value: 12 },
  { name: 'a number', type: 'number', text: '12.5', value: 12.5 },
  { name: 'a date', type: 'date', text: '2026-12-01', value: '2026-12-01' },
  { name: 'JSON for a list', type: 'array', text: '[1, "a"]', value: [1, 'a'] },
  {
    name: 'JSON for a type that it does not know',
    type: 'place',
    text: '{"a": 1}',
    value: { a: 1 },
  },
  { name: 'JSON for a type named like a built-in', type: 'constructor', text: 'null', value: null },
  { name: 'the first of two truths', type: 'boolean', text: '0', value: true },
  {
    name: 'a choice by its place',
    type: 'string',
    text: '1',
    value: 'b',
    allowed_values: ['a', 'b'],
  },
  {
    name: 'a choice that is no text',
    type: 'object',
    text: '0',
    value: { a: 1 },
    allowed_values: [{ a: 1 }],
  },
];
for (const { name, text, value, ...declared } of rows) {
  test(`readInputs() reads ${name}`, () => {
    const reading = readInputs([input(declared)], { it: text });

    assert.deepEqual(reading, { parameters: { it: value }, faults: {} });
  });
}

for (const { type, text } of [
  { type: 'integer', text: '1.5' },
  { type: 'integer', text: '9007199254740993' },
  { type: 'number', text: 'twelve' },
  { type: 'number', text: ' ' },
  { type: 'object', text: '{a: 1}' },
]) {
  test(`readInputs() refuses "${text}" for type ${type}`, () => {
    const { parameters, faults } = readInputs([input({ type })], { it: text });

    assert.deepEqual(parameters, {});
    assert.ok(faults.it);
  });
}

test('readInputs() leaves out what is empty, and what is no input', () => {
  assert.deepEqual(readInputs([input({})], { it: '', other: 'x' }), { parameters: {}, faults: {} });
});

test('controlOf() offers a choice where the values are listed', () => {
  assert.equal(controlOf(input({ type: 'string', allowed_values: ['a'] })), 'choice');
});

function input(fields: Partial<Input>): Input {
  return { name: 'it', type: 'string', required: true, ...fields };
}
