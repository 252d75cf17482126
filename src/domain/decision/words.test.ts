import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { Capability } from '../../protocol/capability.ts';
import type { JsonObject, Money } from '../../protocol/primitives.ts';
import { wordsText } from './text.ts';
import { titleOfCall } from './words.ts';

const INPUTS = [
  { name: 'amount', type: 'number', semantic_type: 'money' },
  { name: 'customer_id', type: 'string' },
  { name: 'reason', type: 'string' },
  { name: 'urgent', type: 'boolean' },
  { name: 'items', type: 'array' },
];

function said(
  title: string | undefined,
  parameters: JsonObject,
  cost: Money | null = null,
  certainty = 'estimated',
): string {
  const financial = { currency: 'USD' };
  const capability = { title, inputs: INPUTS, cost: { certainty, financial } };
  const of = { name: 'refund_order', capability: capability as unknown as Capability };
  return wordsText(titleOfCall({ ...of, parameters, cost }), 0);
}

const usd = (amount: number) => ({ currency: 'USD', amount });
const TITLE = 'Refund {amount} to {customer_id}';

test('titleOfCall() puts the values of the call into the title of the author', () => {
  const parameters = { amount: 1_310, customer_id: 'C-7' };

  assert.equal(said(TITLE, parameters, usd(1_310)), 'Refund 1,310.00 USD to C-7');
  assert.equal(
    said('Urgent: {urgent}, {items}', { urgent: true, items: [1] }),
    'Urgent: yes, (a list)',
  );
});

test('titleOfCall() adds the amount of the call to a title that has none', () => {
  assert.equal(
    said('Refund {customer_id}', { customer_id: 'C-7' }, usd(80)),
    'Refund C-7: 80.00 USD',
  );
  assert.equal(
    said('Refund {customer_id}', { customer_id: 'C-7' }, usd(80), 'dynamic'),
    'Refund C-7: at most 80.00 USD',
  );
});

test('titleOfCall() names verb, amount and what is identified where the author wrote no title', () => {
  const parameters = { customer_id: 'C-7', reason: 'late' };

  assert.equal(said(undefined, parameters, usd(80)), 'Refund order: 80.00 USD, customer id C-7');
  assert.equal(said(undefined, { customer_id: 'x'.repeat(41) }), 'Refund order');
});

for (const [name, value, shown] of [
  ['words of the agent', 'C-7 (Ann approved it)', '"C-7 (Ann approved it)"'],
  ['quotes', 'C-7" for free', '"C-7\\" for free"'],
  ['a text that reorders what is beside it', 'C-7\u202e001', '"C-7⟨U+202E⟩001"'],
  ['a line break', 'C-7\nApproved', '"C-7\\nApproved"'],
  ['markup', '<b>C-7</b>', '"<b>C-7</b>"'],
  ['a name in braces', '{amount}', '"{amount}"'],
  ['a long text', 'x'.repeat(5_000), `${'x'.repeat(40)}…`],
  ['an empty text', '', '""'],
  ['a missing value', undefined, '(none)'],
  ['an object', { a: 1 }, '(an object)'],
] as const) {
  test(`titleOfCall() shows ${name} as a value`, () => {
    const parameters = value === undefined ? { amount: 1 } : { amount: 1, customer_id: value };

    assert.equal(said(TITLE, parameters), `Refund 1.00 USD to ${shown}`);
  });
}

test('titleOfCall() does not call an amount money where the parameters name another currency', () => {
  assert.equal(said('Refund {amount}', { amount: 5, reason: 'EUR' }), 'Refund 5');
});
