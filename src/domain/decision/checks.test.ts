import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { ApprovalRequest } from '../../protocol/approval.ts';
import type { Capability } from '../../protocol/capability.ts';
import type { Decision } from '../../protocol/decision.ts';
import { chainOf } from '../authority/chain.ts';
import { decisionDigest } from '../passkey/decision.ts';
import { digestOf } from '../wire/canonical.ts';
import { decisionIdentity, decisionPayload, digestsOf, faultsOf } from './checks.ts';

const PARAMETERS = { amount: 250, booking_id: 'BK-1000', reason: 'canc\u202eelled' };
const PREVIEW = { action: 'Refund', amount: '250.00 USD' };
const TERMS = {
  grant_type: 'one_time',
  session_id: null,
  expires_in_seconds: 900,
  max_uses: 1,
} as const;

const DECLARATION = { description: 'Refunds', side_effect: { type: 'irreversible' } };

const [ANN, PLANNER] = ['human:ann', 'agent:planner'];
const REQUESTER = { subject: PLANNER, root_principal: ANN, chain: chainOf(ANN, [PLANNER]) };
const CHAIN = [ANN, PLANNER].map((principal) => ({ principal, state: 'active' }));

/** As a service answers, with the digests of what it shows. */
function decision(change: Partial<ApprovalRequest> = {}, other: Partial<Decision> = {}): Decision {
  const request = {
    approval_request_id: `apr_${'0'.repeat(32)}`,
    capability: 'issue_refund',
    declaration_digest: digestOf(DECLARATION),
    parameters: PARAMETERS,
    requested_parameters_digest: digestOf(PARAMETERS),
    preview: PREVIEW,
    preview_digest: digestOf(PREVIEW),
    approvals: [],
    approvals_required: 1,
    scope: ['travel.refund'],
    requester: REQUESTER,
    terms: null,
    expires_at: '2026-12-01T10:00:00.000Z',
    status: 'pending',
    decided_at: null,
    decided_by: null,
    reason: null,
    ...change,
  };
  const capability = { name: 'issue_refund', ...DECLARATION };
  const passkey = { is_required: false, usable: [] };
  const shown = {
    capability,
    has_changed: false,
    cost: null,
    chain: CHAIN,
    similar: null,
    passkey,
  };
  return { request, ...shown, ...other } as unknown as Decision;
}

test('faultsOf() finds nothing in a request whose digests are of what it shows', () => {
  assert.deepEqual(faultsOf(decision()), []);
  assert.deepEqual(faultsOf(decision({ preview: null, preview_digest: null })), []);
});

const MILDER = {
  name: 'issue_refund',
  description: 'Refunds',
  side_effect: { type: 'read' },
} as unknown as Capability;

const FAULTS: [string, Decision, RegExp][] = [
  ['other parameters', decision({ parameters: { ...PARAMETERS, amount: 25 } }), /parameters/],
  ['a parameter more', decision({ parameters: { ...PARAMETERS, note: '' } }), /parameters/],
  ['a text that cannot be hashed', decision({ parameters: { a: '\ud800' } }), /parameters/],
  ['another preview', decision({ preview: { ...PREVIEW, amount: '2.50 USD' } }), /preview/],
  [
    'a preview that is missing',
    decision({ preview: null }),
    /made with a preview, and the service answered without it/,
  ],
  ['a preview without a digest', decision({ preview_digest: null }), /preview/],
  ['a capability that is gone', decision({}, { capability: null }), /no longer/],
  ['a declaration that changed', decision({}, { has_changed: true }), /declaration/],
  ['a milder side effect than was declared', decision({}, { capability: MILDER }), /declaration/],
  ['the declaration of another capability', decision({ capability: 'pay' }), /declaration/],
  ['another version', decision({ contract_version: '2.0.0' }), /declaration/],
  ['another cost', decision({}, { cost: { currency: 'USD', amount: 1 } }), /cost/],
  ['no digest of the declaration', decision({ declaration_digest: undefined }), /declaration/],
  ['no digest of the chain', decision({ requester: { ...REQUESTER, chain: undefined } }), /chain/],
  ['a chain that is missing', decision({}, { chain: [] }), /chain/],
  ['a chain with one more', decision({}, { chain: [...CHAIN, ...CHAIN] as never }), /chain/],
  ['a chain of another person', decision({}, { chain: CHAIN.slice(1) as never }), /chain/],
  ['another subject', decision({ requester: { ...REQUESTER, subject: 'agent:b' } }), /chain/],
  ['no number of approvals', decision({ approvals_required: undefined as never }), /approvals/],
  ['no time of expiry', decision({ expires_at: 'never' }), /expiry/],
  ['no terms', decision({ terms: undefined }), /terms/],
  ['no comparison', decision({}, { similar: undefined as never }), /comparison/],
  ['a missing cost', decision({ cost: { currency: 'USD', amount: 1 } }), /cost/],
];

for (const [what, found, words] of FAULTS) {
  test(`faultsOf() names ${what}`, () => {
    const faults = faultsOf(found);

    assert.equal(faults.length, 1);
    assert.match(faults[0] ?? '', words);
  });
}

test('faultsOf() names a declaration that is not in the answer', () => {
  const faults = faultsOf(decision({}, { capability: undefined as never }));

  assert.match(faults.join(' '), /not complete: the declaration.*no longer has this capability/);
});

test('faultsOf() takes the names of a request whose token cannot be read', () => {
  const chain = [CHAIN[0], { principal: 'agent:planner', state: 'unknown' }] as never;

  assert.deepEqual(faultsOf(decision({}, { chain })), []);
});

test('decisionIdentity() stays the same while others approve, and when the request is decided', () => {
  const approvals = [
    { approver: 'human:bob@example.com', approved_at: '2026-12-01T09:00:00.000Z' },
  ];
  const first = decisionIdentity(decision());

  assert.equal(decisionIdentity(decision({ approvals, terms: TERMS })), first);
  assert.equal(
    decisionIdentity(decision({ status: 'denied', reason: 'no', decided_by: 'human:b' })),
    first,
  );
});

test('decisionIdentity() differs when anything that was asked differs', () => {
  const first = decisionIdentity(decision());

  assert.notEqual(
    decisionIdentity(decision({ parameters: { ...PARAMETERS, amount: 251 } })),
    first,
  );
  assert.notEqual(decisionIdentity(decision({ preview: null })), first);
  assert.notEqual(decisionIdentity(decision({ expires_at: '2026-12-01T09:00:00.000Z' })), first);
  assert.notEqual(decisionIdentity(decision({}, { cost: { currency: 'USD', amount: 1 } })), first);
});

test('decisionPayload() signs the digests of what is shown, not those that the request claims', () => {
  const claimed = decision({
    parameters: { ...PARAMETERS, amount: 25 },
    requested_parameters_digest: digestOf(PARAMETERS),
  });

  const payload = decisionPayload(claimed.request, 'a nonce', TERMS);

  assert.equal(payload.decision, 'approve');
  assert.equal(payload.parameters_digest, digestsOf(claimed.request).parameters);
  assert.notEqual(payload.parameters_digest, claimed.request.requested_parameters_digest);
  assert.notEqual(
    decisionDigest(payload),
    decisionDigest({ ...payload, parameters_digest: claimed.request.requested_parameters_digest }),
  );
});

test('decisionPayload() of a denial has no terms', () => {
  const { decision: decided, terms } = decisionPayload(decision().request, 'a nonce', null);

  assert.deepEqual([decided, terms], ['deny', null]);
});
