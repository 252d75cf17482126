import assert from 'node:assert/strict';
import { test } from 'vitest';
import { digestOf } from '../wire/canonical.ts';
import { chainOf } from './chain.ts';
import {
  type Continuation,
  type GrantFacts,
  grantTerms,
  unsignedGrant,
  unusableGrant,
} from './grant.ts';

const NOW = new Date('2030-01-01T00:00:00.000Z');
const later = (ms: number) => new Date(NOW.getTime() + ms);

const policy = {
  allowed_grant_types: ['one_time' as const, 'session_bound' as const],
  default_grant_type: 'one_time' as const,
  expires_in_seconds: 900,
  max_uses: 3,
};

const terms: [name: string, asked: Parameters<typeof grantTerms>[1], given: object | undefined][] =
  [
    ['fills in the policy for one use', { grant_type: 'one_time' }, { uses: 1, ms: 900_000 }],
    [
      'takes values at the edge of the policy',
      { grant_type: 'session_bound', session_id: 's', max_uses: 3, expires_in_seconds: 900 },
      { uses: 3, ms: 900_000 },
    ],
    [
      'takes part of a second',
      { grant_type: 'one_time', expires_in_seconds: 0.5 },
      { uses: 1, ms: 500 },
    ],
    ['refuses no time at all', { grant_type: 'one_time', expires_in_seconds: 0.0001 }, undefined],
  ];

for (const [name, asked, given] of terms) {
  test(`grantTerms() ${name}`, () => {
    const found = grantTerms(policy, asked);

    const granted = 'terms' in found && {
      uses: found.terms.max_uses,
      ms: found.terms.expires_in_seconds * 1_000,
    };
    assert.deepEqual(granted || undefined, given);
    if ('failure' in found) assert.equal(found.failure.type, 'grant_policy_violation');
  });
}

test('grantTerms() refuses a type that the policy does not allow', () => {
  const strict = { ...policy, allowed_grant_types: ['session_bound' as const] };

  assert.ok('failure' in grantTerms(strict, { grant_type: 'one_time' }));
});

const CHAIN = chainOf('human:alice', ['agent:a']);
const grant: GrantFacts = {
  grant_id: 'gnt_1',
  approval_request_id: 'apr_1',
  capability: 'pay',
  contract_version: '1.0.0',
  declaration_digest: 'sha256:01',
  scope: ['a', 'b'],
  subject: 'agent:a',
  root_principal: 'human:alice',
  chain: CHAIN,
  parameters: { amount: 1 },
  parameters_digest: digestOf({ amount: 1 }),
  grant_type: 'session_bound',
  session_id: 's',
  approved_by: ['human:bob'],
  approved_through: ['human:deputy'],
  issued_at: NOW,
  expires_at: later(1),
  max_uses: 2,
  uses: 1,
};
const call: Continuation = {
  capability: 'pay',
  contract_version: '1.0.0',
  declarationDigest: 'sha256:01',
  scope: ['b', 'a'],
  parametersDigest: grant.parameters_digest,
  chain: CHAIN,
  session_id: 's',
  through: ['human:alice', 'agent:a'],
  now: NOW,
  isSigned: true,
};

const misfits: [
  name: string,
  changed: Partial<Continuation>,
  kept: Partial<GrantFacts>,
  why: RegExp,
][] = [
  ['no chain', {}, { chain: undefined as never }, /no such grant/],
  ['no declaration', {}, { declaration_digest: undefined as never }, /declaration of .* changed/],
  [
    'another declaration',
    { declarationDigest: 'sha256:02' },
    {},
    /declaration of "pay" has changed/,
  ],
  ['another scope', { scope: ['a'] }, {}, /another scope/],
  ['an approver in its hands', { through: ['human:bob', 'agent:a'] }, {}, /human:bob is/],
  ['a deputy in its hands', { through: ['human:deputy', 'agent:a'] }, {}, /human:deputy is/],
];

for (const [name, changed, kept, why] of misfits) {
  test(`unusableGrant() finds ${name}`, () => {
    const found = unusableGrant('gnt_1', { ...grant, ...kept }, { ...call, ...changed });

    assert.equal(found?.type, 'approval_grant_invalid');
    assert.match(found.detail, why);
  });
}

test('unusableGrant() accepts a grant that fits, with any session for a one_time grant', () => {
  assert.equal(unusableGrant('gnt_1', grant, call), undefined);
  const once: GrantFacts = { ...grant, grant_type: 'one_time', session_id: undefined };
  assert.equal(unusableGrant('gnt_1', once, { ...call, session_id: 'any' }), undefined);
});

test("unusableGrant() accepts the approval of the root principal in the caller's lineage", () => {
  const own: GrantFacts = { ...grant, approved_by: ['human:alice'], approved_through: [] };

  assert.equal(unusableGrant('gnt_1', own, call), undefined);
});

test('unusableGrant() gives the same answer for a foreign and an unknown grant', () => {
  const foreign = unusableGrant('gnt_1', grant, { ...call, chain: chainOf('human:eve', []) });

  assert.deepEqual(foreign, unusableGrant('gnt_1', undefined, call));
});

test('unsignedGrant() has everything the grant is bound to, without its uses', () => {
  const unsigned = unsignedGrant(grant);

  assert.deepEqual(unsigned.requester, {
    subject: 'agent:a',
    root_principal: 'human:alice',
    chain: CHAIN,
  });
  const [session_id, expires_in_seconds, max_uses] = ['s', 0.001, 2];
  const terms = { grant_type: 'session_bound', session_id, expires_in_seconds, max_uses };
  assert.equal(unsigned.terms_digest, digestOf(terms));
  assert.equal(unsigned.declaration_digest, 'sha256:01');
  assert.equal('uses' in unsigned, false);
  assert.equal('signature' in unsigned, false);
});
