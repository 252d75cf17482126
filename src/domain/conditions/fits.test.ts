import assert from 'node:assert/strict';
import { test } from 'vitest';
import { CapabilityDeclaration } from '../../protocol/capability.ts';
import type { Conditions } from './condition.ts';
import { misfits } from './fits.ts';
import { narrowedSchema } from './schema.ts';

const CAPABILITY = CapabilityDeclaration.parse({
  description: 'Pay',
  contract_version: '1.0.0',
  inputs: [
    { name: 'amount', type: 'number' },
    { name: 'count', type: 'integer' },
    { name: 'customer', type: 'string' },
    { name: 'region', type: 'string', allowed_values: ['eu', 'us'] },
    { name: 'flag', type: 'boolean' },
    { name: 'on', type: 'date' },
    { name: 'at', type: 'datetime' },
    { name: 'lines', type: 'array' },
    { name: 'note', type: 'any', required: false },
  ],
  input_schema: { type: 'object', properties: { count: { type: 'integer', minimum: 1 } } },
  output: { type: 'payment', fields: [] },
  side_effect: { type: 'write' },
  minimum_scope: ['pay'],
});

const FITS: readonly Conditions[] = [
  { amount: { at_least: 0, at_most: 50 } },
  // The input has a lowest value of its own.
  { count: { at_most: 5 } },
  { customer: { starts_with: ['C-'] } },
  { customer: { at_least: '2026-01-01' } },
  { region: { is: 'eu' } },
  { region: { starts_with: ['eu'] } },
  { flag: { is: true } },
  { on: { at_least: '2026-01-01' } },
  { at: { at_least: '2026-01-01T00:00:00Z' } },
  { 'lines.*.price': { at_least: 0, at_most: 5 } },
  { lines: { absent: true } },
  { note: { under: ['docs'], or_absent: true } },
];
for (const conditions of FITS) {
  test(`misfits() finds nothing in ${JSON.stringify(conditions)}`, () => {
    assert.deepEqual(misfits(conditions, CAPABILITY), []);
  });
}

const MISFITS: readonly [Conditions, RegExp, RegExp][] = [
  [{ amuont: { is: 1 } }, /"amuont" is no input/, /^amount$/],
  [{ amount: { at_most: 50 } }, /below zero/, /at_least: 0, at_most: 50/],
  [{ amount: { is: '50' } }, /no value of type "number"/, /type "number"/],
  [{ amount: { starts_with: ['50'] } }, /does not suit/, /at_least/],
  [{ 'amount.value': { is: 1 } }, /nothing below/, /"amount"/],
  [{ region: { is: 'asia' } }, /not among/, /"eu","us"/],
  [{ region: { starts_with: ['as'] } }, /no allowed value/, /"eu","us"/],
  [{ flag: { one_of: [true, false] } }, /does not suit/, /^one of is$/],
  [{ on: { at_least: '2026-01-01T00:00:00Z' } }, /no value of type "date"/, /"date"/],
  [{ at: { is: '2026-01-01' } }, /no value of type "datetime"/, /"datetime"/],
  [{ lines: { is: 'a' } }, /does not suit/, /same/],
  [{ $cost: { at_most: 5 } }, /no cost/, /input/],
];
for (const [conditions, fault, write] of MISFITS) {
  test(`misfits() says what is wrong with ${JSON.stringify(conditions)}`, () => {
    const [found, ...others] = misfits(conditions, CAPABILITY);

    assert.deepEqual(others, []);
    assert.match(found?.fault ?? '', fault);
    assert.match(found?.write ?? '', write);
  });
}

test('narrowedSchema() says what a model can be told, and widens nothing', () => {
  const schema = {
    type: 'object',
    properties: {
      amount: { type: 'number', minimum: 1, maximum: 10 },
      customer: { type: 'string' },
      note: { type: 'string' },
      bcc: { type: 'string' },
    },
    required: ['amount', 'bcc'],
  } as const;
  const narrowed = narrowedSchema(schema, {
    amount: { at_least: 0, at_most: 5 },
    customer: { one_of: ['a', 'b'] },
    note: { is: 'x', or_absent: true },
    bcc: { absent: true },
    'gone.*': { is: 'x' },
  });

  assert.deepEqual(narrowed, {
    type: 'object',
    properties: {
      amount: { type: 'number', minimum: 1, maximum: 5 },
      customer: { type: 'string', enum: ['a', 'b'] },
      note: { type: 'string', enum: ['x'] },
    },
    required: ['amount', 'customer'],
  });
});
