import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { Capability, Cost } from '../../protocol/capability.ts';
import {
  amountWords,
  approvalWords,
  costWords,
  effectOf,
  type GivenConsent,
  spanOf,
  summaryOf,
  titleOf,
} from './consent-words.ts';

const COSTS: readonly [certainty: Cost['certainty'], financial: object, words: string][] = [
  ['fixed', { amount: 25 }, '25.00 USD each'],
  ['fixed', { amount: 0 }, 'free'],
  ['fixed', { amount: 1_234_567.5 }, '1,234,567.50 USD each'],
  ['fixed', { amount: 1_500, currency: 'JPY' }, '1,500 JPY each'],
  ['fixed', { amount: 1.234, currency: 'KWD' }, '1.234 KWD each'],
  ['dynamic', { upper_bound: 1_000 }, 'up to 1,000.00 USD each'],
  ['estimated', { range_min: 200, range_max: 600 }, '200.00 to 600.00 USD each'],
  ['estimated', { range_min: 0, range_max: 600 }, 'up to 600.00 USD each'],
  ['estimated', { range_max: 600 }, 'up to 600.00 USD each'],
  ['estimated', { range_min: 200 }, 'from 200.00 USD each'],
  ['estimated', { typical: 9 }, 'about 9.00 USD each'],
  ['estimated', {}, 'a price in USD that each call fixes'],
];

for (const [certainty, financial, words] of COSTS) {
  test(`costWords() says "${words}"`, () => {
    assert.equal(costWords({ certainty, financial: { currency: 'USD', ...financial } }), words);
  });
}

test('costWords() calls free what has no price', () => {
  assert.equal(costWords(undefined), 'free');
  assert.equal(costWords({ certainty: 'fixed', compute: {} }), 'free');
});

test('amountWords() shows an amount that its currency cannot have as it is', () => {
  assert.equal(amountWords(0.001, 'USD'), '0.001 USD');
});

const EFFECTS: readonly [side_effect: Capability['side_effect'], kind: string, words: string][] = [
  [{ type: 'read' }, 'reads', 'Reads'],
  [{ type: 'write' }, 'changes', 'Changes something'],
  [{ type: 'irreversible' }, 'final', 'Cannot be undone'],
  [{ type: 'transactional' }, 'undo', 'Can be undone'],
  [{ type: 'transactional', rollback_window: 'PT15M' }, 'undo', 'Can be undone for 15 min'],
  [{ type: 'transactional', rollback_window: 'P7D' }, 'undo', 'Can be undone for 7 days'],
];

for (const [side_effect, kind, words] of EFFECTS) {
  test(`effectOf() says "${words}"`, () => {
    assert.deepEqual(effectOf({ side_effect } as Capability), { kind, words });
  });
}

test('approvalWords() says how many people decide, and whether always', () => {
  const words = (when: unknown, approvals_required = 1) =>
    approvalWords({ approval: { when, approvals_required } } as Capability);

  assert.equal(words('always'), 'A person approves each one');
  assert.equal(words('always', 2), '2 people approve each one');
  assert.equal(words({ amount_above: 100 }), 'A person may have to approve it');
  assert.equal(words({ condition: 'late' }, 2), '2 people may have to approve it');
  assert.equal(approvalWords({} as Capability), undefined);
});

test('titleOf() makes words of a name', () => {
  assert.equal(titleOf('search_flights'), 'Search flights');
  assert.equal(titleOf('crm.leads-export'), 'Crm leads export');
  assert.equal(titleOf('a'), 'A');
});

test('spanOf() uses the largest unit', () => {
  const minute = 60_000;
  const spans = [0, 59, 60, 90, 47 * 60, 48 * 60, 168 * 60].map((each) => spanOf(each * minute));

  assert.deepEqual(spans, ['1 min', '59 min', '1 h', '2 h', '47 h', '2 days', '7 days']);
});

const GIVEN: GivenConsent = {
  scope: ['travel.search'],
  capability: 'search_flights',
  purpose: {},
  budget: { currency: 'USD', max_amount: 0 },
  created_at: new Date('2026-10-03T12:00:00Z'),
  expires_at: new Date('2026-10-10T12:00:00Z'),
};

const SUMMARIES: readonly [changed: Partial<GivenConsent>, words: string][] = [
  [{}, 'search flights, with no money, for 7 days'],
  [
    { budget: { currency: 'USD', max_amount: 1_300 } },
    'search flights, with at most 1,300.00 USD, for 7 days',
  ],
  [{ budget: undefined }, 'search flights, without a limit of money, for 7 days'],
  [
    { capability: undefined, purpose: { only_capabilities: ['a_b', 'c'] } },
    'a b and c, with no money, for 7 days',
  ],
  [
    { capability: undefined, purpose: { only_capabilities: ['a', 'b', 'c', 'd', 'e'] } },
    'a, b, c and 2 more, with no money, for 7 days',
  ],
  [{ capability: undefined }, 'use travel.search, with no money, for 7 days'],
  [
    { capability: undefined, purpose: { only_capabilities: 'all' } },
    'use travel.search, with no money, for 7 days',
  ],
  [{ capability: undefined, scope: [] }, 'use nothing, with no money, for 7 days'],
];

for (const [changed, words] of SUMMARIES) {
  test(`summaryOf() says "${words}"`, () => {
    assert.equal(summaryOf({ ...GIVEN, ...changed }), `On 3 Oct 2026 you let it ${words}`);
  });
}
