import assert from 'node:assert/strict';
import { test } from 'vitest';
import { faultsOf, smallest } from '../../../test/support/declarations.ts';
import { titleParts } from './title.ts';

const INPUTS = [
  { name: 'amount', type: 'number' },
  { name: 'customer_id', type: 'string' },
];
const declared = (title: unknown) => ({ alone: { ...smallest(), inputs: INPUTS, title } });

test('titleParts() finds the names in braces', () => {
  assert.deepEqual(titleParts('Refund {amount} to {customer_id}'), [
    'Refund ',
    { input: 'amount' },
    ' to ',
    { input: 'customer_id' },
  ]);
});

test('titleFaults accepts names of inputs, and a title without any', () => {
  assert.deepEqual(faultsOf(declared('Refund {amount} to {customer_id}')), []);
  assert.deepEqual(faultsOf(declared('Refund everything')), []);
});

for (const [title, words] of [
  ['Refund {amuont}', '"amuont" is not an input'],
  ['Refund {}', '"" is not an input'],
  ['Refund { amount }', '" amount " is not an input'],
  ['Refund {constructor}', '"constructor" is not an input'],
  ['Refund {amount', 'a brace has no partner'],
  ['Refund amount}', 'a brace has no partner'],
  ['Refund\n{amount}', 'expected one line of visible characters'],
  ['Refund \u202e{amount}', 'expected one line of visible characters'],
] as const) {
  test(`titleFaults reports of ${JSON.stringify(title)}: ${words}`, () => {
    assert.deepEqual(faultsOf(declared(title)), [['alone', 'title', words]]);
  });
}

test('titleFaults blames no title for inputs that are malformed themselves', () => {
  const inputs = [{ name: 'the amount', type: 'number' }];

  const found = faultsOf({ alone: { ...smallest(), inputs, title: 'Refund {amount}' } });

  assert.deepEqual(
    found.map(([, field]) => field),
    ['inputs[0].name'],
  );
});
