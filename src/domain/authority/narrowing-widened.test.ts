import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { Conditions } from '../conditions/condition.ts';
import type { Authority } from './narrowing.ts';
import { widenedFields } from './narrowing.ts';

const PARENT: Authority = {
  subject: 'agent:a',
  root_principal: 'human:r',
  scope: ['travel.search', 'travel.book'],
  capability: 'book',
  purpose: { task_id: 't' },
  budget: { currency: 'USD', max_amount: 10 },
  caller_class: 'default',
  concurrent_branches: 'exclusive',
  depth: 1,
  max_delegation_depth: 3,
  session_id: 's',
  conditions: {
    pay: { inputs: { amount: 'number' }, where: { amount: { at_least: 0, at_most: 50 } } },
  },
  expires_at: new Date(1_000),
};

const paying = (where: object, inputs: Record<string, string> = { amount: 'number' }) => ({
  conditions: { pay: { inputs, where: where as Conditions } },
});

const CHILD: Authority = { ...PARENT, subject: 'agent:b', depth: 2 };

const WITHIN: [name: string, child: Partial<Authority>][] = [
  ['all of its parent', {}],
  ['fewer scopes', { scope: ['travel.search'] }],
  ['a smaller budget', { budget: { currency: 'USD', max_amount: 9.99 } }],
  ['a further purpose', { purpose: { task_id: 't', more: 1 } }],
  ['further conditions', paying({ amount: { is: 5 }, note: { is: 'x' } })],
  ['less depth and time', { max_delegation_depth: 2, expires_at: new Date(999) }],
];
for (const [name, changed] of WITHIN) {
  test(`widenedFields() finds nothing in a child with ${name}`, () => {
    assert.deepEqual(widenedFields(PARENT, { ...CHILD, ...changed }), []);
  });
}

const WIDER: [field: keyof Authority, child: Partial<Authority>][] = [
  ['root_principal', { root_principal: 'human:other' }],
  ['scope', { scope: ['travel.search', 'operator:*'] }],
  ['capability', { capability: undefined }],
  ['capability', { capability: 'pay' }],
  ['purpose', { purpose: {} }],
  ['purpose', { purpose: { task_id: 'u' } }],
  ['budget', { budget: undefined }],
  ['budget', { budget: { currency: 'USD', max_amount: 10.01 } }],
  ['budget', { budget: { currency: 'EUR', max_amount: 1 } }],
  ['concurrent_branches', { concurrent_branches: 'allowed' }],
  ['depth', { depth: 1 }],
  ['depth', { depth: 4 }],
  ['max_delegation_depth', { max_delegation_depth: 4 }],
  ['session_id', { session_id: undefined }],
  ['expires_at', { expires_at: new Date(1_001) }],
  ['conditions', { conditions: undefined }],
  ['conditions', { conditions: {} }],
  ['conditions', paying({})],
  ['conditions', paying({ amount: { at_least: 0, at_most: 51 } })],
  ['conditions', paying({ amount: { at_least: 0 } })],
  ['conditions', paying({ note: { is: 'x' } })],
  ['conditions', paying({ amount: { is: 5 } }, { amount: 'number', more: 'string' })],
  // Forms that no issuance makes.
  ['conditions', paying({ amount: null })],
  ['conditions', paying({ amount: { at_most: [], at_least: 0 } })],
  ['conditions', { conditions: { pay: null } as never }],
  ['conditions', { conditions: { pay: {} } as never }],
];
for (const [field, changed] of WIDER) {
  test(`widenedFields() names ${field} of a child with ${JSON.stringify(changed)}`, () => {
    assert.deepEqual(widenedFields(PARENT, { ...CHILD, ...changed }), [field]);
  });
}

test('widenedFields() accepts any value for what the parent leaves open', () => {
  const open: Authority = {
    ...PARENT,
    capability: undefined,
    purpose: {},
    budget: undefined,
    conditions: undefined,
    concurrent_branches: 'allowed',
  };

  assert.deepEqual(widenedFields(open, CHILD), []);
});
