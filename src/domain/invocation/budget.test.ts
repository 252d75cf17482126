import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { inSeconds } from '../../../test/authorities.ts';
import { smallest } from '../../../test/declarations.ts';
import type { Capability } from '../../protocol/capability.ts';
import type { Authority } from '../authority/narrowing.ts';
import { createCatalog } from '../catalog/catalog.ts';
import {
  type BoundPrice,
  type BudgetState,
  type Charge,
  checkBudget,
  leastRemaining,
  remainingOf,
  settledCost,
} from './budget.ts';

const usd = (amount: bigint): Charge => ({ currency: 'USD', amount });

function costing(cost?: object): Capability {
  const result = createCatalog(Object.entries({ act: { ...smallest(), ...(cost && { cost }) } }));
  if ('faults' in result) throw new Error(JSON.stringify(result.faults));
  return result.catalog.capabilities.get('act') as Capability;
}

const FREE = costing();
const FIXED = costing({ certainty: 'fixed', financial: { currency: 'USD', amount: 3 } });
const DYNAMIC = costing({ certainty: 'dynamic', financial: { currency: 'USD', upper_bound: 3 } });
const ESTIMATED = costing({ certainty: 'estimated', financial: { currency: 'USD', range_max: 9 } });
const COMPUTE = costing({ certainty: 'fixed', compute: { expected_duration: 'PT1S' } });

function tokenWith(budget?: Authority['budget']): Authority {
  return {
    subject: 'agent:a',
    root_principal: 'human:alice',
    scope: [],
    purpose: {},
    budget,
    caller_class: 'default',
    concurrent_branches: 'allowed',
    depth: 0,
    max_delegation_depth: 5,
    expires_at: inSeconds(60),
  };
}

function state(max: bigint, reserved = 0n, consumed = 0n): BudgetState {
  return { token_id: `t${max}`, currency: 'USD', max, reserved, consumed };
}

function check(capability: Capability, states: BudgetState[], bound?: BoundPrice) {
  const own = states.at(-1);
  const budget = own && { currency: own.currency, max_amount: Number(own.max) / 100 };
  return checkBudget(tokenWith(budget), capability, states, bound);
}

// Spec, "Budget enforcement": its rows, and the edges of each.
const TABLE: [
  name: string,
  capability: Capability,
  states: BudgetState[],
  expected: string | undefined,
  bound?: BoundPrice,
][] = [
  ['passes a fixed cost equal to the ceiling', FIXED, [state(300n)], undefined],
  ['refuses a fixed cost a cent above', FIXED, [state(299n)], 'budget_exceeded'],
  ['passes a dynamic bound equal to the ceiling', DYNAMIC, [state(300n)], undefined],
  ['refuses a dynamic bound a cent above', DYNAMIC, [state(299n)], 'budget_exceeded'],
  ['refuses an estimate nothing pins', ESTIMATED, [state(999n)], 'budget_not_enforceable'],
  ['passes a bound price equal to the ceiling', ESTIMATED, [state(300n)], undefined, usd(300n)],
  ['refuses a bound price a cent above', ESTIMATED, [state(300n)], 'budget_exceeded', usd(301n)],
  [
    'refuses a bound price in another currency',
    ESTIMATED,
    [state(300n)],
    'budget_not_enforceable',
    { currency: 'EUR', amount: 1n },
  ],
  ['waits for a price that a binding will pin', ESTIMATED, [state(0n)], undefined, 'pending'],
  ['passes a free capability under a budget of nothing', FREE, [state(0n)], undefined],
  ['passes a cost that is not money', COMPUTE, [state(0n)], undefined],
  ['counts what was spent', FIXED, [state(500n, 0n, 201n)], 'budget_exceeded'],
  ['counts what is reserved', FIXED, [state(500n, 201n, 0n)], 'budget_exceeded'],
  ['passes what spending and reservations leave', FIXED, [state(500n, 100n, 100n)], undefined],
  ['refuses what an ancestor has not left', FIXED, [state(299n), state(900n)], 'budget_exceeded'],
  ['passes any cost without a budget', FIXED, [], undefined],
  ['passes an estimate without a budget', ESTIMATED, [], undefined],
];
for (const [name, capability, states, expected, bound] of TABLE) {
  test(`checkBudget() ${name}`, () => {
    assert.equal(check(capability, states, bound).failure?.type, expected);
  });
}

test('checkBudget() refuses another currency before it looks at an amount', () => {
  const token = tokenWith({ currency: 'EUR', max_amount: 1 });
  const states = [{ ...state(100n), currency: 'EUR' }];

  for (const capability of [FIXED, DYNAMIC, ESTIMATED]) {
    const { failure, context } = checkBudget(token, capability, states);
    assert.equal(failure?.type, 'budget_currency_mismatch');
    assert.equal(failure?.resolution.grantable_by, 'human:alice');
    assert.equal(context, undefined);
  }
});

test('checkBudget() reports the budget of the token and what the whole lineage leaves of it', () => {
  const { context } = check(FIXED, [state(1000n, 0n, 600n), state(900n, 100n, 50n)]);

  assert.deepEqual(context, {
    budget_max: 9,
    budget_currency: 'USD',
    cost_check_amount: 3,
    cost_certainty: 'fixed',
    budget_spent: 0.5,
    budget_reserved: 1,
    budget_remaining: 4,
  });
});

test('checkBudget() names limit, spending and rest of the budget that is too small', () => {
  const { failure } = check(FIXED, [state(1000n, 300n, 500n), state(900n)]);

  assert.equal(
    failure?.detail,
    'Cannot spend 3.00 USD: the budget is 10.00, 8.00 is spent or reserved, 2.00 remains',
  );
});

// What was checked, what the handler reported, and what is charged for it.
const SETTLED: [
  name: string,
  capability: Capability,
  checked: Charge | undefined,
  reported: Charge | undefined,
  cost: Charge | undefined,
  excess: boolean,
][] = [
  ['charges what was checked', FIXED, usd(300n), undefined, usd(300n), false],
  ['charges less when less was reported', FIXED, usd(300n), usd(1n), usd(1n), false],
  ['charges nothing when nothing was reported as cost', FIXED, usd(300n), usd(0n), usd(0n), false],
  ['charges the reservation when it was reported', FIXED, usd(300n), usd(300n), usd(300n), false],
  ['charges the reservation when more was reported', FIXED, usd(300n), usd(301n), usd(300n), true],
  [
    'charges the reservation when another currency was reported',
    FIXED,
    usd(300n),
    { currency: 'EUR', amount: 1n },
    usd(300n),
    true,
  ],
  ['tells a cost for which nothing was reserved', ESTIMATED, undefined, usd(5n), usd(5n), false],
  [
    'does not tell a cost in a currency that is not declared',
    ESTIMATED,
    undefined,
    { currency: 'EUR', amount: 1n },
    undefined,
    true,
  ],
  ['does not tell a cost of a free capability', FREE, undefined, usd(5n), undefined, true],
];
for (const [name, capability, checked, reported, cost, excess] of SETTLED) {
  test(`settledCost() ${name}`, () => {
    assert.deepEqual(settledCost(capability, checked, reported), { cost, excess });
  });
}

test('settledCost() never charges more than was checked', () => {
  const charge = fc.record({ currency: fc.constantFrom('USD', 'EUR'), amount: fc.bigInt(0n, 99n) });
  fc.assert(
    fc.property(charge, charge, (checked, reported) => {
      const { cost } = settledCost(FIXED, checked, reported);
      assert.ok(cost && cost.currency === checked.currency && cost.amount <= checked.amount);
    }),
  );
});

test('checkBudget() admits exactly what every budget of the lineage has left', () => {
  const amount = fc.bigInt(0n, 600n);
  const anyState = fc.tuple(amount, amount, amount).map(([rest, reserved, consumed]) => {
    return state(rest + reserved + consumed, reserved, consumed);
  });
  fc.assert(
    fc.property(fc.array(anyState, { minLength: 1, maxLength: 6 }), amount, (states, price) => {
      const { failure, context } = check(ESTIMATED, states, usd(price));
      const fits = states.every((each) => price <= remainingOf(each));
      assert.equal(failure === undefined, fits);
      assert.equal(
        Math.round((context?.budget_remaining ?? -1) * 100),
        Number(leastRemaining(states)),
      );
    }),
  );
});
