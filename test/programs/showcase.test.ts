import assert from 'node:assert/strict';
import { test } from 'vitest';
import { travelDesk } from '../../examples/travel/service.ts';
import { faultsOf, type RawDeclarations } from '../support/declarations.ts';

/** What the showcase declares, as its manifest publishes it. */
function showcase(): RawDeclarations {
  const declared = [...travelDesk.catalog.capabilities].map(([key, { name, ...rest }]) => {
    assert.equal(key, name);
    return [key, structuredClone(rest)];
  });
  return Object.fromEntries(declared);
}

test('createCatalog() finds no fault in the showcase', () => {
  const declarations = showcase();

  assert.ok(Object.hasOwn(declarations, 'plan_trip'));
  assert.deepEqual(faultsOf(declarations), []);
});

test('createCatalog() finds the fault of a showcase whose trip costs less than its hold', () => {
  const { plan_trip: trip, ...others } = showcase();
  const cost = { certainty: 'fixed', financial: { currency: 'USD', amount: 14.99 } };

  assert.deepEqual(faultsOf({ ...others, plan_trip: { ...(trip as object), cost } }), [
    ['plan_trip', 'cost.financial.amount', 'step "hold" costs 15.00 USD, the whole only 14.99'],
  ]);
});
