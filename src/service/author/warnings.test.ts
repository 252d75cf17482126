import assert from 'node:assert/strict';
import { test } from 'vitest';
import { configOf } from '../../config/config.ts';
import { defineCapability } from './define.ts';
import { createService, type ServiceDefinition, type ServiceOptions } from './definition.ts';
import { startWarnings } from './warnings.ts';

const ESTIMATED = {
  certainty: 'estimated',
  financial: { currency: 'USD', range_min: 1, range_max: 9 },
} as const;

function serviceWith(more: object, options: Partial<ServiceOptions> = {}): ServiceDefinition {
  return createService({
    id: 'desk',
    capabilities: [
      defineCapability({
        name: 'pay',
        description: 'Pays',
        side_effect: 'write',
        minimum_scope: ['desk.pay'],
        inputs: [{ name: 'quote', type: 'string' }],
        handler: () => ({}),
        ...more,
      }),
    ],
    ...options,
  });
}

const clerk = (...scopes: string[]) => ({
  identities: [{ key: 'k', principal: 'human:clerk', scopes }],
});
const CLERK = clerk('desk.*');
const OIDC = { oidc: [{ issuer: 'https://id.example', audience: 'desk' }] };
const RULE = { entitlements: [{ principals: ['human:*'], scopes: ['desk.pay'] }] };
const PAID = { scopes: ['desk.paid', 'pay.*'], max_age_minutes: 5 };
const hook = { authenticate: () => null };

type Row = [name: string, definition: ServiceDefinition, settings: object, warning?: RegExp];

const table: Row[] = [
  ['says nothing about a service that can be called', serviceWith({}), CLERK],
  [
    'names a rule of step-up whose scopes no capability needs',
    serviceWith({}),
    { ...CLERK, sign_in: { step_up: [{ scopes: ['desk.*'], acr: 'mfa' }, PAID] } },
    /^Rule 2 of sign_in\.step_up has no effect: no capability needs a scope that "desk\.paid", "pay\.\*" matches$/,
  ],
  [
    'names an estimated cost that nothing fixes',
    serviceWith({ cost: ESTIMATED }),
    CLERK,
    /^No budget can pay capability "pay": its cost is estimated and nothing fixes the price/,
  ],
  [
    'says nothing where the author says what fixes the price afterwards',
    serviceWith({ cost: { ...ESTIMATED, determined_by: 'waiting time' } }),
    CLERK,
  ],
  [
    'takes a required binding for a price',
    serviceWith({ cost: ESTIMATED, requires_binding: [{ type: 'quote', field: 'quote' }] }),
    CLERK,
  ],
  [
    'needs no price where no money is spent',
    serviceWith({ cost: { certainty: 'estimated' } }),
    CLERK,
  ],
  [
    'names a hint to a capability that this service lacks',
    serviceWith({ cross_service: { followup_via: [{ service: 'desk', capability: 'file' }] } }),
    CLERK,
    /^Capability "pay" points to "file" of this service \(cross_service\.followup_via\), which is not declared$/,
  ],
  [
    'cannot check a hint to another service',
    serviceWith({ cross_service: { followup_via: [{ service: 'other', capability: 'file' }] } }),
    CLERK,
  ],
  [
    'names a scope that no identity is entitled to',
    serviceWith({}),
    clerk('desk.look', 'desk.pay.more'),
    /^No configured identity or entitlement allows scope "desk\.pay": "pay" cannot be called; add it to "scopes" of one in the configuration$/,
  ],
  [
    'does not count rules where no hook and no issuer identifies callers',
    serviceWith({}),
    { ...clerk('desk.look'), ...RULE },
    /allows scope "desk\.pay"/,
  ],
  ['counts rules for callers of a hook', serviceWith({}, hook), RULE],
  ['counts rules for callers of an issuer', serviceWith({}), { ...OIDC, ...RULE }],
  [
    'is certain about a scope that no rule allows, with any issuer',
    serviceWith({}),
    OIDC,
    /allows scope "desk\.pay"/,
  ],
  [
    'says once that there is no caller',
    serviceWith({}),
    {},
    /^No caller can get a token: no identity, no issuer and no authenticate hook is configured$/,
  ],
];

for (const [name, definition, settings, warning] of table) {
  test(`startWarnings() ${name}`, () => {
    const found = startWarnings(definition, configOf(settings, '/')).join('\n');

    if (warning) assert.match(found, warning);
    else assert.equal(found, '');
  });
}

test('startWarnings() counts no rule for approvers where no hook and no issuer identifies them', () => {
  const definition = serviceWith({ approval: { when: 'always' } });
  const settings = configOf(
    { ...CLERK, entitlements: [{ principals: ['human:*'], scopes: ['approver:*'] }] },
    '/',
  );
  const warnings = (isIdentifiedByApp: boolean) =>
    startWarnings(definition, { ...settings, isIdentifiedByApp });

  assert.deepEqual(warnings(false), ['No approver is configured for "pay"']);
  assert.deepEqual(warnings(true), []);
});

test('startWarnings() names the identify hook that a mounted service lacks', () => {
  const settings = { ...configOf({}, '/'), isIdentifiedByApp: false };

  assert.deepEqual(startWarnings(serviceWith({}), settings), [
    'No caller can get a token: no identity, no issuer and no authenticate hook is configured, and mount() got no identify hook',
  ]);
});

test('startWarnings() names an input whose mode needs an actor policy, where there is none', () => {
  const resolution = { mode: 'actor_policy_or_explicit' };
  const inputs = [{ name: 'quote', type: 'string', resolution }];
  const policies = [{ principals: ['agent:*'], inputs: { quote: { value: 'q' } } }];

  assert.deepEqual(startWarnings(serviceWith({ inputs }), configOf(CLERK, '/')), [
    'The mode "actor_policy_or_explicit" of input "quote" of capability "pay" takes every value: no actor policy names the input',
  ]);
  const ruled = configOf({ ...CLERK, actor_policies: policies }, '/');
  assert.deepEqual(startWarnings(serviceWith({ inputs }), ruled), []);
  const hooked = serviceWith({ inputs }, { actorPolicy: () => undefined });
  assert.deepEqual(startWarnings(hooked, configOf(CLERK, '/')), []);
});

test('startWarnings() takes a price of the author for a price', () => {
  const definition = serviceWith({ cost: ESTIMATED });
  const code = new Map(
    [...definition.code].map(([name, each]) => [
      name,
      { ...each, price: () => ({ currency: 'USD', amount: 1 }) },
    ]),
  );

  assert.deepEqual(startWarnings({ ...definition, code }, configOf(CLERK, '/')), []);
});

test('startWarnings() names a bounded number of capabilities for one scope', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  const capabilities = names.map((name) =>
    defineCapability({
      name,
      description: 'Looks',
      side_effect: 'read',
      minimum_scope: ['desk.look'],
      handler: () => ({}),
    }),
  );
  const definition = createService({ id: 'desk', capabilities });

  const [warning] = startWarnings(definition, configOf(clerk('other'), '/'));

  assert.match(warning ?? '', /: "a", "b", "c", "d", "e" and 2 more cannot be called; add it/);
});
