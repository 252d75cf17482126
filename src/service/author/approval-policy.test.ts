import assert from 'node:assert/strict';
import { test } from 'vitest';
import { configOf } from '../../config/config.ts';
import { missingApprovers } from './approval-policy.ts';
import { type ApprovalPolicy, defineCapability } from './define.ts';
import { createService, DefinitionError } from './definition.ts';

const grant_policy = {
  allowed_grant_types: ['one_time' as const],
  default_grant_type: 'one_time' as const,
  expires_in_seconds: 60,
  max_uses: 1,
};

function serviceWith(approval: Partial<ApprovalPolicy>) {
  const pay = defineCapability({
    name: 'pay',
    description: 'Pays',
    inputs: [
      { name: 'amount', type: 'number' },
      { name: 'note', type: 'string' },
    ],
    side_effect: 'irreversible',
    minimum_scope: ['x'],
    approval: { when: 'always', grant_policy, ...approval } as ApprovalPolicy,
    handler: () => ({}),
  });
  return createService({ id: 'desk', capabilities: [pay] });
}

function faultsOf(approval: object): string[] {
  try {
    serviceWith(approval);
  } catch (error) {
    assert.ok(error instanceof DefinitionError);
    return error.message.split('\n').slice(1);
  }
  return [];
}

const faults: [name: string, approval: object, found: RegExp][] = [
  ['a lifetime that does not parse', { request_lifetime: 'soon' }, /request_lifetime.*"soon"/],
  ['a lifetime of zero', { request_lifetime: 'PT0S' }, /request_lifetime/],
  ['a lifetime over 30 days', { request_lifetime: 'P31D' }, /request_lifetime/],
  ['an unknown separation', { separation: 'all' }, /separation.*"all"/],
  ['an approver that is not a principal', { approvers: ['bob'] }, /approvers.*"bob"/],
  ['more approvers than the bound', { approvals_required: 17 }, /approvals_required/],
  ['no approver', { approvals_required: 0 }, /approvals_required/],
  [
    'a grant that outlives its key',
    { grant_policy: { ...grant_policy, expires_in_seconds: 2_592_001 } },
    /expires_in_seconds/,
  ],
  ['a card input that is none', { card_inputs: ['size'] }, /card_inputs.*"size" is not an input/],
  ['a condition without a predicate', { when: { condition: 'big' } }, /when\.needed/],
  ['an age of bindings where none has one', { binding_age: 'at_run' }, /binding_age.*max_age/],
  ['a preview that is a text', { preview: 'Pay' }, /preview/],
  [
    'a threshold on an unknown input',
    { when: { amount_above: 1, input: 'size' } },
    /approval\.when\.unless\["size"\].*"size" is no input/,
  ],
  [
    'a threshold on a text',
    { when: { amount_above: 1, input: 'note' } },
    /0 is no value of type "string"/,
  ],
  ['a threshold without a cost', { when: { amount_above: 1 } }, /the capability has no cost/],
];

for (const [name, approval, found] of faults) {
  test(`createService() finds ${name} in an approval policy`, () => {
    assert.match(faultsOf(approval).join('\n'), found);
  });
}

test('createService() accepts every part of a policy and publishes the public part', () => {
  const service = serviceWith({
    when: { condition: 'big', needed: () => true },
    preview: () => ({}),
    separation: 'root',
    approvers: ['agent:auditor', 'human:*@example.com'],
    approvals_required: 16,
    request_lifetime: 'P30D',
  });

  assert.deepEqual(service.catalog.capabilities.get('pay')?.approval, {
    when: { condition: 'big' },
    grant_policy,
    approvals_required: 16,
  });
});

const person = (principal: string, scope: string, key = principal) => ({
  key,
  principal,
  scopes: [scope],
});
const rule = (principals: string[], scope = 'approver:*') => ({ principals, scopes: [scope] });

const settings: [name: string, settings: object, policy: object, warning: RegExp | undefined][] = [
  ['no identity is configured', {}, {}, /No approver is configured for "pay"/],
  ['an identity may approve', { identities: [person('human:b', 'approver:pay')] }, {}, undefined],
  [
    'an identity may approve everything',
    { identities: [person('human:b', 'approver:*')] },
    {},
    undefined,
  ],
  [
    'an identity may approve something else',
    { identities: [person('human:b', 'approver:look')] },
    {},
    /No approver/,
  ],
  [
    'only an agent may approve',
    { identities: [person('agent:a', 'approver:*')] },
    {},
    /No approver/,
  ],
  [
    'the policy names that agent',
    { identities: [person('agent:a', 'approver:*')] },
    { approvers: ['agent:a'] },
    undefined,
  ],
  ['a rule matches people', { entitlements: [rule(['human:*'])] }, {}, undefined],
  ['a rule matches agents only', { entitlements: [rule(['agent:*'])] }, {}, /No approver/],
  [
    'the policy names an agent that is not configured',
    { identities: [person('human:b', 'approver:*'), person('agent:a', 'approver:look')] },
    { approvers: ['agent:a'] },
    /^approval\.approvers of "pay" names "agent:a", which no configured holder of scope "approver:pay" matches$/,
  ],
  [
    'the policy names an agent that a rule may match',
    { entitlements: [rule(['agent:*'])] },
    { approvers: ['agent:a'] },
    undefined,
  ],
  [
    'a rule may match an agent that the policy names by a pattern',
    { entitlements: [rule(['agent:b*'])] },
    { approvers: ['agent:a', 'agent:*a'] },
    undefined,
  ],
  [
    'the policy names an agent that no rule matches',
    { entitlements: [rule(['agent:b*'])] },
    { approvers: ['agent:a'] },
    /No approver/,
  ],
  [
    'the only approver asks, and separation is root',
    { identities: [{ ...person('human:b', 'approver:*'), scopes: ['approver:*', 'x'] }] },
    { separation: 'root' },
    /^"pay" cannot be approved when human:b asks: separation is "root", and 0 of 1 other approvers are configured$/,
  ],
  [
    'the only approver cannot ask, and separation is root',
    { identities: [person('human:b', 'approver:*')] },
    { separation: 'root' },
    undefined,
  ],
  [
    'another approver is left, and separation is root',
    {
      identities: [
        { ...person('human:b', 'approver:*'), scopes: ['approver:*', 'x'] },
        person('human:c', 'approver:pay'),
      ],
    },
    { separation: 'root' },
    undefined,
  ],
  [
    'one person has two keys',
    { identities: [person('human:b', 'approver:*', '1'), person('human:b', 'approver:*', '2')] },
    { approvals_required: 2 },
    /needs 2 approvers: 1 is configured/,
  ],
];

for (const [name, given, policy, warning] of settings) {
  test(`missingApprovers() ${warning ? 'warns' : 'does not warn'} when ${name}`, () => {
    const found = missingApprovers(serviceWith(policy), configOf(given, '/')).join('\n');

    if (warning) assert.match(found, warning);
    else assert.equal(found, '');
  });
}
