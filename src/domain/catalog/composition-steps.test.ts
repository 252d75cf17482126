import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { faultsOf, travelWith, wholeOf } from '../../../test/support/declarations.ts';
import { ResolutionBehavior, ResolutionMode } from '../../protocol/capability.ts';

const one = [{ id: 'one', capability: 'first' }];
const two = [...one, { id: 'two', capability: 'second' }];

/** The faults of a step whose only input has this resolution and is not mapped. */
function unmapped(resolution: object, changes: object = {}): [string, string, string][] {
  const resolved = {
    name: 'region',
    type: 'string',
    allowed_values: ['eu'],
    catalog_ref: 'regions',
  };
  const inputs = [{ ...resolved, resolution, ...changes }];
  return faultsOf(wholeOf(one, { first: { inputs } }));
}

const needed = [['whole', 'composition.input_mapping.one', '"first" needs input "region"']];

for (const mode of ResolutionMode.options) {
  const supplies = mode === 'actor_policy' || mode === 'actor_policy_or_explicit';
  test(`compositionFaults ${supplies ? 'does not require' : 'requires'} an input of mode ${mode}`, () => {
    assert.deepEqual(unmapped({ mode }), supplies ? [] : needed);
    assert.deepEqual(unmapped({ mode }, { required: false }), []);
    // Where the caller must send a value, a default counts only if the policy says so.
    const mustBeSent = mode === 'explicit_only' || mode === 'app_selected';
    assert.deepEqual(unmapped({ mode }, { default: 'eu' }), mustBeSent ? needed : []);
    assert.deepEqual(unmapped({ mode, on_missing: 'use_default' }, { default: 'eu' }), []);
  });
}

for (const on_missing of ResolutionBehavior.options) {
  const supplies = ['use_default', 'use_actor_scope', 'omit'].includes(on_missing);
  test(`compositionFaults ${supplies ? 'does not require' : 'requires'} an input with on_missing ${on_missing}`, () => {
    const changes = on_missing === 'use_default' ? { default: 'eu' } : {};

    assert.deepEqual(
      unmapped({ mode: 'backend_resolved', on_missing }, changes),
      supplies ? [] : needed,
    );
    // A policy for a missing value applies whether or not the value is required.
    assert.deepEqual(
      unmapped({ mode: 'backend_resolved', on_missing }, { ...changes, required: false }),
      supplies ? [] : needed,
    );
  });
}

test('compositionFaults does not treat on_ambiguous or on_unresolved as on_missing', () => {
  const resolution = { mode: 'backend_resolved', on_ambiguous: 'omit', on_unresolved: 'omit' };

  assert.deepEqual(unmapped(resolution), needed);
});

const mapped = 'find_flights.inputs.1.resolution';
for (const mode of ResolutionMode.options.filter((each) => !/^(closed|backend)/.test(each))) {
  const refuses = mode === 'actor_policy';
  test(`compositionFaults ${refuses ? 'refuses' : 'accepts'} a mapping onto mode ${mode}`, () => {
    const words = '"find_flights" derives input "day" from the actor and takes no value for it';
    const found = [['plan_trip', 'composition.input_mapping.search.day', words]];

    assert.deepEqual(faultsOf(travelWith(mapped, { mode })), refuses ? found : []);
  });
}

test('compositionFaults refuses a step that only streams', () => {
  const place = 'find_flights.response_modes';
  const words = 'step "search": "find_flights" only streams, and a step is unary';

  assert.deepEqual(faultsOf(travelWith(place, ['streaming'])), [
    ['plan_trip', 'composition.steps[0].capability', words],
  ]);
  assert.deepEqual(faultsOf(travelWith(place, ['streaming', 'unary'])), []);
});

const usd = (certainty: string, amounts: object) => ({
  cost: { certainty, financial: { currency: 'USD', ...amounts } },
});
const fixed = (amount: number) => usd('fixed', { amount });
const dynamic = (upper_bound: number) => usd('dynamic', { upper_bound });
const estimated = usd('estimated', { range_min: 500 });

type Row = [name: string, whole: object, first: object, second: object, fault?: [string, string]];
const costs: Row[] = [
  ['a whole that costs what its steps do', fixed(30), fixed(10), fixed(20)],
  ['a bound that its steps reach', dynamic(30), fixed(10), fixed(20)],
  ['cents that only add up exactly', fixed(0.3), fixed(0.1), fixed(0.2)],
  ['an estimated step', fixed(10), fixed(10), estimated],
  ['a dynamic step that may take the rest', fixed(30), fixed(10), dynamic(20)],
  ['dynamic steps that may take too much together', dynamic(30), dynamic(20), dynamic(20)],
  ['an estimated whole', estimated, fixed(600), fixed(600)],
  ['a whole for nothing of steps for nothing', fixed(0), fixed(0), fixed(0)],
  [
    'a whole below one step',
    fixed(9.99),
    fixed(10),
    {},
    ['amount', 'step "one" costs 10.00 USD, the whole only 9.99'],
  ],
  [
    'a bound below one step',
    dynamic(9.99),
    fixed(0),
    fixed(10),
    ['upper_bound', 'step "two" costs 10.00 USD, the whole only 9.99'],
  ],
  [
    'a whole below its steps together',
    fixed(29.99),
    fixed(10),
    fixed(20),
    ['amount', 'steps "one", "two" together cost 30.00 USD, the whole only 29.99'],
  ],
  [
    'a bound below its steps together',
    dynamic(29.99),
    fixed(10),
    fixed(20),
    ['upper_bound', 'steps "one", "two" together cost 30.00 USD, the whole only 29.99'],
  ],
  [
    'a whole below its fixed steps, whatever else it has',
    fixed(1),
    fixed(2),
    estimated,
    ['amount', 'step "one" costs 2.00 USD, the whole only 1.00'],
  ],
  [
    'a dynamic step that could never begin',
    fixed(29.99),
    fixed(10),
    dynamic(20),
    ['amount', 'steps "one", "two" together cost 30.00 USD, the whole only 29.99'],
  ],
];
for (const [name, whole, first, second, found] of costs) {
  test(`compositionFaults ${found ? 'refuses' : 'accepts'} ${name}`, () => {
    const faults = found ? [['whole', `cost.financial.${found[0]}`, found[1]]] : [];

    assert.deepEqual(faultsOf(wholeOf(two, { first, second }, whole)), faults);
  });
}

test('compositionFaults counts a capability as often as it is a step', () => {
  const steps = ['a', 'b'].map((id) => ({ id, capability: 'first' }));

  assert.deepEqual(faultsOf(wholeOf(steps, { first: fixed(10) }, fixed(20))), []);
  assert.deepEqual(faultsOf(wholeOf(steps, { first: fixed(10) }, fixed(19))), [
    [
      'whole',
      'cost.financial.amount',
      'steps "a", "b" together cost 20.00 USD, the whole only 19.00',
    ],
  ]);
});

test('compositionFaults leaves an unreadable cost to the rule for costs', () => {
  const parts = { first: fixed(1.005), second: {} };
  const words = 'Cannot read amount 1.005 USD: USD has 2 decimals';

  assert.deepEqual(faultsOf(wholeOf(two, parts, fixed(1))), [
    ['first', 'cost.financial.amount', words],
  ]);
  assert.deepEqual(faultsOf(wholeOf(two, { first: fixed(2), second: {} }, fixed(1.005))), [
    ['whole', 'cost.financial.amount', words],
  ]);
});

test('compositionFaults accepts a cost of the whole from exactly the sum of its steps', () => {
  const cents = fc.integer({ min: 0, max: 1_000_000 });
  return fc.assert(
    fc.property(cents, cents, cents, (whole, first, second) => {
      const parts = { first: fixed(first / 100), second: fixed(second / 100) };
      const faults = faultsOf(wholeOf(two, parts, fixed(whole / 100)));

      assert.equal(faults.length, whole < first + second ? 1 : 0);
    }),
  );
});
