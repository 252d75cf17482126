import assert from 'node:assert/strict';
import { test } from 'vitest';
import { faultsOf, smallest } from '../../../test/support/declarations.ts';
import { CostCertainty } from '../../protocol/capability.ts';

type Cost = Record<string, unknown>;

function costFaultsOf(certainty: string, financial: Cost): [string, string][] {
  const declared = { ...smallest(), cost: { certainty, financial } };
  return faultsOf({ alone: declared }).map(([, field, words]) => [
    field.replace('cost.financial.', ''),
    words,
  ]);
}

const usd = (amounts: Cost = {}): Cost => ({ currency: 'USD', ...amounts });

const accepted: [name: string, certainty: string, financial: Cost][] = [
  ['a fixed amount', 'fixed', usd({ amount: 12.34 })],
  ['a fixed amount of nothing', 'fixed', usd({ amount: 0 })],
  ['a fixed amount in yen', 'fixed', { currency: 'JPY', amount: 1_500 }],
  ['a fixed amount in thousandths', 'fixed', { currency: 'KWD', amount: 1.005 }],
  ['an estimate that says only the currency', 'estimated', usd()],
  ['an estimate with its range', 'estimated', usd({ range_min: 1, range_max: 2, typical: 1.5 })],
  ['a range of one amount', 'estimated', usd({ range_min: 2, range_max: 2, typical: 2 })],
  ['a range without an end', 'estimated', usd({ range_min: 2, typical: 1e6 })],
  ['a range without a start', 'estimated', usd({ range_max: 2, typical: 0 })],
  ['a dynamic cost with its bound', 'dynamic', usd({ upper_bound: 100 })],
];
for (const [name, certainty, financial] of accepted) {
  test(`costFaults accepts ${name}`, () => {
    assert.deepEqual(costFaultsOf(certainty, financial), []);
  });
}

const cents = 'Cannot read amount 1.005 USD: USD has 2 decimals';
type Row = [certainty: string, financial: Cost, field: string, words: string];
const refused: Row[] = [
  ['fixed', usd(), 'amount', 'a fixed cost needs it'],
  ['fixed', usd({ upper_bound: 1 }), 'amount', 'a fixed cost needs it'],
  ['dynamic', usd(), 'upper_bound', 'a dynamic cost needs it'],
  ['dynamic', usd({ range_max: 1 }), 'upper_bound', 'a dynamic cost needs it'],
  ['estimated', usd({ amount: 1 }), 'amount', 'only a fixed cost has it, not "estimated"'],
  [
    'dynamic',
    usd({ amount: 1, upper_bound: 1 }),
    'amount',
    'only a fixed cost has it, not "dynamic"',
  ],
  ['estimated', usd({ range_min: 2.01, range_max: 2 }), 'range_min', 'it is above range_max'],
  ['estimated', usd({ range_min: 2, typical: 1.99 }), 'typical', 'it lies outside the range'],
  ['estimated', usd({ range_max: 2, typical: 2.01 }), 'typical', 'it lies outside the range'],
  ['fixed', usd({ amount: 1.005 }), 'amount', cents],
  ['dynamic', usd({ upper_bound: 1.005 }), 'upper_bound', cents],
  ['estimated', usd({ range_min: 1.005 }), 'range_min', cents],
  ['estimated', usd({ range_max: 1.005 }), 'range_max', cents],
  ['estimated', usd({ typical: 1.005 }), 'typical', cents],
  [
    'fixed',
    { currency: 'JPY', amount: 1.5 },
    'amount',
    'Cannot read amount 1.5 JPY: JPY has 0 decimals',
  ],
  [
    'fixed',
    usd({ amount: 1e21 }),
    'amount',
    'Cannot read amount 1e+21 USD: the largest is 70368744177663.99',
  ],
  ['fixed', usd({ amount: -0 }), 'amount', 'Cannot read amount -0 USD: it is negative'],
  ['fixed', usd({ amount: -1 }), 'amount', 'expected at least 0'],
  ['fixed', { currency: 'XXX', amount: 1 }, 'currency', '"XXX" is not an ISO 4217 currency'],
  ['estimated', { currency: 'ZZZ' }, 'currency', '"ZZZ" is not an ISO 4217 currency'],
  ['estimated', { currency: 'usd' }, 'currency', 'expected an ISO 4217 code such as "USD"'],
];
for (const [certainty, financial, field, words] of refused) {
  test(`costFaults reports for ${certainty} ${JSON.stringify(financial)}: ${words}`, () => {
    assert.deepEqual(costFaultsOf(certainty, financial), [[field, words]]);
  });
}

test('costFaults reports every fault of one cost', () => {
  const financial = usd({ amount: 1.005, range_min: 3, range_max: 2, typical: 9 });

  assert.deepEqual(
    costFaultsOf('dynamic', financial).map(([field]) => field),
    ['amount', 'amount', 'upper_bound', 'range_min', 'typical'],
  );
});

for (const certainty of CostCertainty.options) {
  test(`costFaults requires no amount for a ${certainty} cost that is not money`, () => {
    const cost = { certainty, compute: { expected_duration: 'PT1S' }, determined_by: 'size' };
    assert.deepEqual(faultsOf({ alone: { ...smallest(), cost } }), []);
  });
}
