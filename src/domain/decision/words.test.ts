import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { Capability } from '../../protocol/capability.ts';
import type { Decision } from '../../protocol/decision.ts';
import type { JsonObject, Money } from '../../protocol/primitives.ts';
import { textWords } from './lines.ts';
import { wordsText } from './text.ts';
import { actOf, actText, effectSentence, headingWords, titleOfCall } from './words.ts';

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

test('titleOfCall() names the file that a tool works on', () => {
  assert.equal(said(undefined, { path: 'docs/pricing.md' }), 'Refund order docs/pricing.md');
  assert.equal(said(undefined, { path: 'a b' }), 'Refund order "a b"');
  assert.match(
    said(undefined, { path: `${'x/'.repeat(90)}end.md` }),
    /^Refund order ….*\/end\.md$/,
  );
});

function decided(title: string | undefined, parameters: JsonObject, more: object = {}): Decision {
  const financial = { currency: 'USD' };
  const cost = { certainty: 'estimated', financial };
  const capability = { title, inputs: INPUTS, cost, side_effect: { type: 'irreversible' } };
  const request = { capability: 'refund_order', parameters, preview: null, ...more };
  const viewer = { principal: 'human:bob' };
  return { request, capability, cost: usd(310), viewer } as unknown as Decision;
}

test('headingWords() asks until the request is decided, and then says who decided what', () => {
  const heading = (more: object) =>
    wordsText(headingWords(decided(TITLE, { amount: 310, customer_id: 'C-7' }, more)), 0);
  const approvals = ['human:ann', 'human:bob'].map((approver) => ({ approver }));

  assert.equal(heading({ status: 'pending', approvals: [] }), 'Refund 310.00 USD to C-7?');
  assert.equal(
    heading({ status: 'approved', approvals }),
    'ann and you approved: Refund 310.00 USD to C-7.',
  );
  assert.equal(
    heading({ status: 'denied', approvals: [], decided_by: 'human:bob' }),
    'You denied: Refund 310.00 USD to C-7.',
  );
  assert.equal(heading({ status: 'expired', approvals }), 'Expired: Refund 310.00 USD to C-7.');
});

for (const [title, act, text] of [
  [TITLE, 'refund', 'refund 310.00 USD'],
  ['Charter one jet for {customer_id}', '“charter one jet”', 'charter one jet for 310.00 USD'],
  ['IBAN of {customer_id}', 'IBAN', 'IBAN for 310.00 USD'],
  ['{customer_id} is refunded', '“refund order”', 'refund order for 310.00 USD'],
  [undefined, '“refund order”', 'refund order for 310.00 USD'],
] as const) {
  test(`actOf() and actText() say what the buttons of "${title}" do`, () => {
    const of = decided(title, { amount: 310, customer_id: 'C-7' });

    assert.deepEqual([actOf(of), actText(of)], [act, text]);
  });
}

test('effectSentence() says that money leaves only for a price in a currency', () => {
  const of = decided(TITLE, {});
  const quota = { ...of, cost: { currency: 'XXX', amount: 1 } };

  assert.equal(effectSentence(of), 'Money leaves. It cannot be undone.');
  assert.equal(effectSentence(quota), 'It cannot be undone.');
});

test('textWords() shows each line of a text, and what differs from the text that it replaces', () => {
  const text = (values: JsonObject, name: string) => wordsText(textWords(name, values), 0);

  assert.equal(
    text({ content: 'one\n\ntwo\u200b' }, 'content'),
    '3 lines, nothing to compare with\n1  one\n2\n3  two⟨U+200B⟩',
  );
  assert.equal(
    text({ oldText: 'a\nb\nc', newText: 'a\nB\nc' }, 'newText'),
    'lines: 1 added, 1 removed, 2 equal\n2 − b\n2 + B',
  );
  assert.equal(
    text({ edits: [{ oldText: 'a', newText: 'b' }] }, 'edits'),
    'lines: 1 added, 1 removed, 0 equal\n1 − a\n1 + b',
  );
  assert.deepEqual(textWords('note', { note: 'one line' }), []);
});
