/**
 * Rules of a capability on the arguments of a call: which calls are refused, which need a person, and what an author
 * is told of a rule that decides nothing.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService, DefinitionError } from '../../src/service/author/definition.ts';
import { ALICE, testService } from '../support/world.ts';

const COMMON = {
  description: 'Tests rules',
  side_effect: 'write',
  minimum_scope: ['travel.note'],
  handler: () => ({ done: true }),
} as const;

const writeFile = defineCapability({
  ...COMMON,
  name: 'write_file',
  inputs: [
    { name: 'path', type: 'string' },
    { name: 'content', type: 'string', required: false },
  ],
  approval: { when: { unless: { path: { under: ['docs', '/srv/files/docs'] } } } },
});

const sendEmail = defineCapability({
  ...COMMON,
  name: 'send_email',
  inputs: [
    { name: 'to', type: 'array' },
    { name: 'cc', type: 'array', required: false },
    { name: 'bcc', type: 'array', required: false },
  ],
  output: { type: 'object', fields: ['done'] },
  refuse: {
    unless: {
      'to.*': { email_domain: 'example.com' },
      'cc.*': { email_domain: 'example.com', or_absent: true },
      bcc: { absent: true },
    },
  },
});

const deploy = defineCapability({
  ...COMMON,
  name: 'deploy',
  inputs: [{ name: 'repo', type: 'string', required: false }],
  approval: { when: { where: { repo: 'prod' } } },
});

const buy = defineCapability({
  ...COMMON,
  name: 'buy',
  inputs: [{ name: 'count', type: 'integer' }],
  cost: { certainty: 'estimated', financial: { currency: 'USD', range_min: 0, range_max: 900 } },
  price: ({ count }) => ({ currency: 'USD', amount: count * 100 }),
  refuse: { unless: { $cost: { at_most: 500 } } },
  approval: { when: { amount_above: 100 } },
});

const whole = defineCapability({
  name: 'whole',
  description: 'Deploys as a step',
  side_effect: 'write',
  minimum_scope: ['travel.note'],
  inputs: [{ name: 'to', type: 'array' }],
  output: { type: 'object', fields: ['done'] },
  kind: 'composed',
  composition: {
    authority_boundary: 'same_service',
    steps: [{ id: 'send', capability: 'send_email' }],
    input_mapping: { send: { to: '$.input.to' } },
    output_mapping: { done: '$.steps.send.output.done' },
    failure_policy: 'propagate',
    audit_policy: { record_child_invocations: true, parent_task_lineage: true },
  },
});

const capabilities = [writeFile, sendEmail, deploy, buy, whole];

async function desk() {
  const service = await testService({ definition: createService({ id: 'rules', capabilities }) });
  const { token } = await service.issue(ALICE, {
    scope: ['travel.note'],
    budget: { currency: 'USD', max_amount: 10_000 },
  });
  const failureOf = async (name: string, parameters: object, operation = 'invoke') => {
    const { body } = await service.ask('POST', `/svc/${operation}/${name}`, {
      bearer: token,
      body: { parameters },
    });
    return body.failure;
  };
  return { service, failureOf };
}

const at = (...hosts: string[]) => hosts.map((host) => `ann@${host}`);

describe('a call outside the rule of its capability', () => {
  const refused: [name: string, capability: string, parameters: object][] = [
    ['an address elsewhere', 'send_email', { to: at('evil.example') }],
    ['one address elsewhere beside a good one', 'send_email', { to: at('example.com', 'x.org') }],
    ['a domain that only begins so', 'send_email', { to: at('example.com.evil.org') }],
    ['an empty list', 'send_email', { to: [] }],
    ['a blind copy', 'send_email', { to: at('example.com'), bcc: at('example.com') }],
    ['a copy elsewhere', 'send_email', { to: at('example.com'), cc: at('x.org') }],
    ['a list in a list', 'send_email', { to: [at('example.com')] }],
    ['a name beside the address', 'send_email', { to: ['Ann <ann@example.com>'] }],
    ['a price above the bound', 'buy', { count: 6 }],
    ['a step that is outside', 'whole', { to: at('x.org') }],
  ];
  for (const [name, capability, parameters] of refused) {
    test(`is refused for ${name}, in words, by a call and a dry run alike`, async () => {
      const { failureOf } = await desk();
      const failure = await failureOf(capability, parameters);

      assert.equal(failure.type, 'input_denied');
      assert.match(failure.detail, /refused unless (?:bcc is left out, and each|the cost is)/);
      if (capability === 'whole') return;
      const tried = await failureOf(capability, parameters, 'test');
      assert.equal(tried?.detail, failure.detail);
    });
  }

  test('says which value cannot be judged', async () => {
    const { failureOf } = await desk();

    assert.equal(await failureOf('send_email', { to: at('example.com') }), undefined);
    assert.match((await failureOf('send_email', { to: ['x'] })).detail, /to\.\* cannot be judged/);
  });
});

describe('a call that its policy lets pass', () => {
  const passing: [capability: string, parameters: object][] = [
    ['write_file', { path: 'docs/a.md' }],
    ['write_file', { path: '/srv/files/docs/a/b.md' }],
    ['send_email', { to: at('example.com'), cc: at('example.com') }],
    ['deploy', { repo: 'website' }],
    ['buy', { count: 1 }],
    ['whole', { to: at('example.com') }],
  ];
  for (const [capability, parameters] of passing) {
    test(`${capability} ${JSON.stringify(parameters)} runs`, async () => {
      const { failureOf } = await desk();

      assert.equal(await failureOf(capability, parameters), undefined);
    });
  }

  const asking: [capability: string, parameters: object][] = [
    ['write_file', { path: 'docs-secret/a.md' }],
    ['write_file', { path: 'docs/../a.md' }],
    ['write_file', { path: 'docs//a.md' }],
    ['write_file', { path: '/docs/a.md' }],
    ['write_file', { path: 'docs/a\u200b.md' }],
    ['deploy', { repo: 'prod' }],
    ['deploy', { repo: 'PROD' }],
    ['deploy', { repo: ' prod' }],
    ['deploy', { repo: 'pr\u043ed' }],
    ['deploy', {}],
    ['deploy', { repo: null }],
    ['buy', { count: 2 }],
  ];
  for (const [capability, parameters] of asking) {
    test(`${capability} ${JSON.stringify(parameters)} waits for a person`, async () => {
      const { failureOf } = await desk();

      assert.equal((await failureOf(capability, parameters)).type, 'approval_required');
    });
  }
});

test('the manifest has each rule in one form, the short forms too', async () => {
  const { service } = await desk();
  const { body } = await service.ask('GET', '/svc/manifest');

  assert.deepEqual(body.capabilities.buy.approval.when, { unless: { $cost: { at_most: 100 } } });
  assert.deepEqual(body.capabilities.deploy.approval.when, { where: { repo: { is: 'prod' } } });
  assert.deepEqual(body.capabilities.send_email.refuse.unless['to.*'], {
    email_domain: ['example.com'],
  });
});

const DECIDES_NOTHING: [name: string, rule: object, found: RegExp][] = [
  ['an unknown input', { unless: { pth: 'a' } }, /unless\["pth"\] .*"pth" is no input; write path/],
  ['an unknown operator', { unless: { path: { begins: 'a' } } }, /"begins" is no operator/],
  ['no condition', { unless: {} }, /they are empty/],
  ['no operator', { unless: { path: {} } }, /it has no operator/],
  ['a wrong operator', { when: { count: { under: 'docs' } } }, /"under" does not suit/],
  ['a bound that is open below', { unless: { count: { at_most: 5 } } }, /below zero/],
  ['a value outside the set', { when: { side: 'up' } }, /not among the allowed values/],
  ['every value of the set', { unless: { side: ['l', 'r'] } }, /no condition|one_of/],
  ['all that can be', { unless: { side: { one_of: ['l', 'r'] } } }, /every call is within it/],
  ['a cost where there is none', { when: { $cost: { at_most: 5 } } }, /has no cost/],
  ['no rule', { always: true }, /\{ unless \} or \{ when \}/],
  ['too many regions', { when: Array.from({ length: 9 }, () => ({ path: 'a' })) }, /refuse/],
  ['a fault in the second region', { when: [{ path: 'a' }, { path: {} }] }, /when\[1\]\["path"\]/],
];
for (const [name, rule, found] of DECIDES_NOTHING) {
  test(`createService() finds ${name} in a rule`, () => {
    const capability = defineCapability({
      ...COMMON,
      name: 'odd',
      inputs: [
        { name: 'path', type: 'string' },
        { name: 'count', type: 'integer' },
        { name: 'side', type: 'string', allowed_values: ['l', 'r'] },
      ],
      refuse: rule as never,
    });
    const create = () => createService({ id: 'odd', capabilities: [capability] });

    assert.throws(create, (error) => error instanceof DefinitionError && found.test(error.message));
  });
}
