import assert from 'node:assert/strict';
import { test } from 'vitest';
import { isOneLine, readDetails } from './details.ts';

const type = 'writ_delegation';

test('readDetails() reads the suggestions of a client', () => {
  const detail = {
    type,
    capabilities: ['search_flights', 'book_flight'],
    budget: { currency: 'USD', max_amount: 300 },
    purpose: 'March offsite',
    ttl_hours: 720,
    max_delegation_depth: 1,
  };
  const { type: _, ...suggestions } = detail;

  assert.deepEqual(readDetails(JSON.stringify([detail])), { suggestions });
  assert.deepEqual(readDetails(JSON.stringify([{ type }])), { suggestions: { capabilities: [] } });
  assert.deepEqual(readDetails(undefined), {});
});

const REFUSED: readonly [what: string, text: string][] = [
  ['what is not JSON', '[{]'],
  ['an object in place of a list', JSON.stringify({ type })],
  ['an empty list', '[]'],
  ['two details', JSON.stringify([{ type }, { type }])],
  ['a list in the list', '[[]]'],
  ['null', '[null]'],
  ['another type', JSON.stringify([{ type: 'payment_initiation' }])],
  ['no type', '[{}]'],
  ['an unknown member', JSON.stringify([{ type, scope: ['operator:*'] }])],
  ['a member of every object', '[{"type":"writ_delegation","__proto__":{"budget":1}}]'],
  ['a repeated member', '[{"type":"writ_delegation","ttl_hours":1,"ttl_hours":2}]'],
  ['a capability that is no name', JSON.stringify([{ type, capabilities: ['*'] }])],
  ['capabilities that are no list', JSON.stringify([{ type, capabilities: 'book' }])],
  ['too many capabilities', JSON.stringify([{ type, capabilities: Array(201).fill('a') }])],
  ['a budget without currency', JSON.stringify([{ type, budget: { max_amount: 1 } }])],
  ['a negative budget', JSON.stringify([{ type, budget: { currency: 'USD', max_amount: -1 } }])],
  ['parts of a cent', JSON.stringify([{ type, budget: { currency: 'USD', max_amount: 0.001 } }])],
  [
    'more in a budget',
    JSON.stringify([{ type, budget: { currency: 'USD', max_amount: 1, per: 'day' } }]),
  ],
  ['a purpose of two lines', JSON.stringify([{ type, purpose: 'a\nApproved by Bob' }])],
  ['a long purpose', JSON.stringify([{ type, purpose: 'a'.repeat(201) }])],
  ['no lifetime', JSON.stringify([{ type, ttl_hours: 0 }])],
  ['an endless lifetime', JSON.stringify([{ type, ttl_hours: 1e9 }])],
  ['half a level', JSON.stringify([{ type, max_delegation_depth: 0.5 }])],
  ['a negative depth', JSON.stringify([{ type, max_delegation_depth: -1 }])],
  ['null for a member', JSON.stringify([{ type, budget: null }])],
];

for (const [what, text] of REFUSED) {
  test(`readDetails() refuses ${what}`, () => {
    const reading = readDetails(text);

    assert.match(
      'fault' in reading ? reading.fault : 'admitted',
      /^Cannot .*authorization_details/,
    );
  });
}

test('isOneLine() counts characters, and refuses what breaks a line or a store', () => {
  assert.ok(isOneLine('😀'.repeat(5), 5));
  assert.ok(isOneLine('', 5));
  for (const text of ['a'.repeat(6), 'a\nb', 'a\u2028b', 'a\u0000', '\ud800', 5]) {
    assert.equal(isOneLine(text, 5), false, JSON.stringify(text));
  }
});
