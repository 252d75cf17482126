import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { inSeconds } from '../../../test/support/authorities.ts';
import { smallest } from '../../../test/support/declarations.ts';
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

// The edges, to the minor unit. The store refuses them too, so that a call over HTTP cannot tell who did.
const EDGES: [
  name: string,
  capability: Capability,
  states: BudgetState[],
  expected: string | undefined,
  bound?: BoundPrice,
][] = [
  ['passes a fixed cost equal to the ceiling', FIXED, [state(300n)], undefined],
  ['refuses a fixed cost a cent above', FIXED, [state(299n)], 'budget_exceeded'],
  ['refuses a dynamic bound a cent above', DYNAMIC, [state(299n)], 'budget_exceeded'],
  ['refuses a bound price a cent above', ESTIMATED, [state(300n)], 'budget_exceeded', usd(301n)],
  ['counts what was spent', FIXED, [state(500n, 0n, 201n)], 'budget_exceeded'],
  ['counts what is reserved', FIXED, [state(500n, 201n, 0n)], 'budget_exceeded'],
  ['refuses what an ancestor has not left', FIXED, [state(299n), state(900n)], 'budget_exceeded'],
  ['waits for a price that a binding will pin', ESTIMATED, [state(0n)], undefined, 'pending'],
  ['passes a cost that is not money', COMPUTE, [state(0n)], undefined],
];
for (const [name, capability, states, expected, bound] of EDGES) {
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

test('settledCost() takes the largest declared amount where nothing was checked or reported', () => {
  const largest = { cost: { currency: 'USD', amount: 900n }, excess: false };

  assert.deepEqual(settledCost(ESTIMATED, undefined, undefined), largest);
  const free = costing({ certainty: 'estimated' });
  assert.deepEqual(settledCost(free, undefined, undefined), { cost: undefined, excess: false });
});

test('settledCost() does not tell a cost in a currency that is not declared', () => {
  const reported = { currency: 'EUR', amount: 1n };

  assert.deepEqual(settledCost(ESTIMATED, undefined, reported), { cost: undefined, excess: true });
});

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
