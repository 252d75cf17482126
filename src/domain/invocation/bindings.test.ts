import assert from 'node:assert/strict';
import { test } from 'vitest';
import { smallest } from '../../../test/support/declarations.ts';
import type { Capability } from '../../protocol/capability.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { createCatalog } from '../catalog/catalog.ts';
import { type BindingFacts, boundPrice, checkBindings, handlesOf } from './bindings.ts';

const ISSUED = new Date('2030-01-01T00:00:00.000Z');
const MINUTE_MS = 60_000;
const USD = (amount: bigint) => ({ currency: 'USD', amount });

const good: BindingFacts = {
  type: 'quote',
  capability: 'book',
  root_principal: 'human:alice',
  price: USD(500n),
  data: {},
  issued_at: ISSUED,
};

function capabilityWith(...requires_binding: object[]): Capability {
  const inputs = ['quote', 'hold'].map((name) => ({ name, type: 'string', required: false }));
  const book = { ...smallest(), inputs, requires_binding };
  const result = createCatalog(Object.entries({ book, search: smallest() }));
  if ('faults' in result) throw new Error(JSON.stringify(result.faults));
  return result.catalog.capabilities.get('book') as Capability;
}

const QUOTE = { type: 'quote', field: 'quote', source_capability: 'search', max_age: 'PT1M' };
const HOLD = { type: 'hold', field: 'hold' };

function check(
  parameters: JsonObject,
  { facts = good, afterMs = 0, capability = capabilityWith(QUOTE) } = {},
) {
  return checkBindings(capability, parameters, {
    root_principal: 'human:alice',
    at: new Date(ISSUED.getTime() + afterMs),
    find: (handle) => (handle === 'h' ? facts : undefined),
  });
}

test('checkBindings() never finds a binding without max_age stale', () => {
  const capability = capabilityWith(HOLD);
  const facts = { ...good, type: 'hold' };
  const afterMs = 1_000 * 365 * 24 * 60 * MINUTE_MS;

  assert.equal(check({ hold: 'h' }, { facts, afterMs, capability }).failure, undefined);
});

test('checkBindings() names the capability that issues the binding', () => {
  const capability = capabilityWith(HOLD);

  assert.deepEqual(check({}).failure?.resolution.requires, ['quote', 'search']);
  assert.deepEqual(check({}, { capability }).failure?.resolution.requires, ['hold']);
});

test('checkBindings() answers the same for a foreign binding, stale or not', () => {
  const foreign = { facts: { ...good, root_principal: 'human:bob' } };

  assert.deepEqual(
    check({ quote: 'h' }, { ...foreign, afterMs: 2 * MINUTE_MS }).failure,
    check({ quote: 'none' }).failure,
  );
});

test('checkBindings() reads only own properties, and checks every requirement', () => {
  const parameters = Object.create({ quote: 'h' }) as JsonObject;
  const both = capabilityWith(QUOTE, HOLD);

  assert.equal(check(parameters).failure?.type, 'binding_missing');
  assert.deepEqual(handlesOf(both, parameters), []);
  assert.equal(check({ quote: 'h' }, { capability: both }).failure?.type, 'binding_missing');
  assert.deepEqual(handlesOf(both, { hold: 'b', quote: 'a' }), ['a', 'b']);
  assert.deepEqual(handlesOf(both, { hold: 1, quote: 'a' }), ['a']);
});

test('boundPrice() is the price when exactly one binding pins one', () => {
  const priced = (...prices: (bigint | undefined)[]) =>
    boundPrice(
      new Map(
        prices.map((price, index) => [
          `f${index}`,
          { ...good, price: price === undefined ? undefined : USD(price) },
        ]),
      ),
    );

  assert.equal(priced(), undefined);
  assert.equal(priced(undefined), undefined);
  assert.deepEqual(priced(5n), USD(5n));
  assert.deepEqual(priced(undefined, 5n), USD(5n));
  assert.equal(priced(5n, 5n), undefined);
});
