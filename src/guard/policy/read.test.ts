import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { test } from 'vitest';
import { parse } from 'yaml';
import { CAPABILITIES_MAX } from '../../domain/catalog/catalog.ts';
import { type GuardPolicy, readPolicy } from './read.ts';
import { policyJsonSchema } from './schema.ts';

const POLICY = `guard: files
upstream:
  command: [npx, -y, files-server]
budget: 20 USD
tools:
  read_text_file: { effect: read }
  write_file:
    tool: write-file
    effect: write
    approval: { when: always, passkey: true, people: 2 }
    cost: { field: amount, currency: USD, most: 500 }
    limit: 10 per minute
    log: [path]
    review: yes
`;

const API = `guard: api
upstream:
  openapi: ./api.yaml
  origin: https://api.example.com
  credential: { query: key, value: $KEY }
  headers: [X-Tenant]
tools: {}
`;

test('readPolicy() fills in the defaults of a tool', () => {
  const { tools, guard, tools_as, budget } = policyOf(POLICY);

  assert.deepEqual([guard, tools_as, budget], ['files', 'all', { currency: 'USD', amount: 20 }]);
  assert.deepEqual(tools.get('read_text_file'), {
    tool: 'read_text_file',
    effect: 'read',
    scope: 'files.read',
    log: [],
    review: false,
  });
  assert.deepEqual(tools.get('write_file'), {
    tool: 'write-file',
    effect: 'write',
    scope: 'files.write',
    approval: { when: 'always', passkey: true, people: 2 },
    cost: { field: 'amount', currency: 'USD', most: 500 },
    limit: { limit: 10, window: '1m' },
    log: ['path'],
    review: true,
  });
});

test('readPolicy() reads the short forms', () => {
  const { tools } = policyOf(`guard: g
upstream: { url: "https://mcp.example.com/mcp", deadline: 30s }
tools:
  a: { effect: transactional, cost: 1.50 EUR, approval: above 1 EUR, limit: 100 per 5m }
  b: { effect: irreversible, scope: g.pay, approval: { above: 100, field: amount } }
  constructor: { effect: read, cost: { answer: usage.cost, currency: USD, most: 5 }, review: no }
`);
  const { cost, approval, limit, scope } = tools.get('a') ?? {};

  assert.deepEqual(cost, { currency: 'EUR', amount: 1.5 });
  assert.deepEqual(approval?.when, { unless: { $cost: { at_most: 1 } } });
  assert.deepEqual(limit, { limit: 100, window: '5m' });
  assert.equal(scope, 'g.write');
  assert.equal(tools.get('b')?.scope, 'g.pay');
  assert.deepEqual(tools.get('b')?.approval?.when, {
    unless: { amount: { at_least: 0, at_most: 100 } },
  });
  assert.equal(tools.get('constructor')?.tool, 'constructor');
});

test('readPolicy() knows the line of each value', () => {
  const { positionOf } = policyOf(POLICY);

  assert.deepEqual(positionOf(['tools', 'write_file', 'log', 0]), { line: 13, column: 11 });
  assert.deepEqual(positionOf(['tools', 'write_file', 'cost', 'absent']), { line: 11, column: 11 });
  assert.deepEqual(positionOf(['tools', 'absent']), { line: 6, column: 3 });
});

type Row = [name: string, written: string, instead: string, ...faults: string[]];

const MISTAKES: Row[] = [
  [
    'a misspelt key',
    'effect: write',
    'efect: write',
    '8:5 tools.write_file.effect: it is required: expected "read", "write", "transactional", "irreversible"',
    '9:5 tools.write_file.efect: there is no such key; did you mean "effect"?',
  ],
  [
    'an unknown key',
    'budget: 20 USD',
    'sandbox_of_processes: 1',
    '4:1 sandbox_of_processes: there is no such key; expected one of guard, upstream, tools_as, budget, tools',
  ],
  [
    'an unknown effect',
    'effect: write',
    'effect: wirte',
    '9:13 tools.write_file.effect: expected "read", "write", "transactional", "irreversible"',
  ],
  ['a currency that is none', '20 USD', '20 XYZ', '4:9 budget: "XYZ" is not an ISO 4217 currency'],
  ['decimals that a currency has not', '20 USD', '20.001 USD', '4:9 budget: USD has 2 decimals'],
  [
    'an amount without a currency',
    '20 USD',
    '20',
    '4:9 budget: expected an amount and a currency, such as "20 USD"',
  ],
  [
    'a currency of a cost that is none',
    'currency: USD',
    'currency: usd',
    '11:38 tools.write_file.cost.currency: expected the code of a currency (ISO 4217), such as "USD"',
  ],
  [
    'a largest amount that the currency has not',
    'most: 500',
    'most: 0.005',
    '11:49 tools.write_file.cost.most: USD has 2 decimals',
  ],
  [
    'a limit in other words',
    '10 per minute',
    'ten',
    '12:12 tools.write_file.limit: expected a limit such as "10 per minute" or "100 per 5m"',
  ],
  [
    'a limit of no time',
    '10 per minute',
    '10 per 0s',
    '12:12 tools.write_file.limit: expected a limit such as "10 per minute" or "100 per 5m"',
  ],
  [
    'a threshold in another currency than the cost',
    'when: always',
    'when: above 3 EUR',
    '10:15 tools.write_file.approval: it compares EUR, but the cost is in USD',
  ],
  [
    'a threshold without a field',
    'when: always',
    'above: 3',
    '10:15 tools.write_file.approval: expected one of "when", "unless", or "above" with "field"',
  ],
  [
    'a threshold without a cost',
    'effect: read }',
    'effect: read, approval: above 3 USD }',
    '6:45 tools.read_text_file.approval: there is no cost to compare; write a cost, or { above: …, field: … }',
  ],
  [
    'an approval in other words',
    '{ when: always, passkey: true, people: 2 }',
    'sometimes',
    '10:15 tools.write_file.approval: expected "always", "above 100 USD" (of the cost), { unless: … }, { when: … } or { above: 100, field: … }',
  ],
  [
    'a condition with an unknown operator',
    'when: always',
    'unless: { path: { below: docs } }',
    '10:33 tools.write_file.approval.unless.path: "below" is no operator; write one of is, one_of, at_least, at_most, starts_with, under, email_domain, url_under, absent, or_absent, same, any',
  ],
  [
    'a path that no value can have',
    'when: always',
    'when: [{ path: a }, { path: { under: docs/../x } }]',
    '10:45 tools.write_file.approval.when[1].path: "docs/../x" does not fit; write paths such as "docs" or "/srv/files", without "..", "~" and a slash at the end',
  ],
  [
    'no condition',
    'when: always',
    'unless: {}',
    '10:25 tools.write_file.approval.unless: they are empty; write 1 to 16 paths',
  ],
  [
    'two ways to say when',
    'when: always',
    'when: always, unless: { path: a }',
    '10:15 tools.write_file.approval: expected one of "when", "unless", or "above" with "field"',
  ],
  [
    'too many people',
    'people: 2',
    'people: 17',
    '10:54 tools.write_file.approval.people: expected at most 16',
  ],
  [
    'a name that no capability can have',
    'write_file:',
    '9write:',
    '7:3 tools.9write: expected a letter, then letters, digits, "_", "." or "-"',
  ],
  [
    'a tool that is offered twice',
    'tool: write-file',
    'tool: read_text_file',
    '8:5 tools.write_file: the tool "read_text_file" is already offered by another capability',
  ],
  ['a text where a list belongs', '[path]', 'path', '13:10 tools.write_file.log: expected a list'],
  ['no program', '[npx, -y, files-server]', '[]', '3:12 upstream.command: expected at least 1'],
  [
    'no upstream',
    'command: [npx, -y, files-server]',
    'deadline: 30s',
    '3:3 upstream: expected exactly one of "command", "url" and "openapi"',
  ],
  [
    'two upstreams',
    '[npx, -y, files-server]',
    '[npx]\n  url: https://a.example',
    '4:8 upstream.url: expected exactly one of "command", "url" and "openapi"',
  ],
  [
    'a deadline that is too long',
    '[npx, -y, files-server]',
    '[npx]\n  deadline: 48h',
    '4:13 upstream.deadline: expected a duration of at most a day, such as "30s"',
  ],
  [
    'a credential of a command',
    '[npx, -y, files-server]',
    '[npx]\n  credential: { header: X, value: $X }',
    '4:15 upstream.credential: it belongs with "url" or "openapi", not with "command"',
  ],
  [
    'a secret in an address',
    'command: [npx, -y, files-server]',
    'url: https://ann:canary@a.example/',
    '3:8 upstream.url: a secret does not belong in this file; write a credential with $NAME',
  ],
  [
    'an address without encryption',
    'command: [npx, -y, files-server]',
    'url: http://a.example/',
    '3:8 upstream.url: write https; http is for an address inside, with inside: true',
  ],
  [
    'a key that appears twice',
    'budget: 20 USD',
    'guard: other',
    '4:1 guard: the key appears twice',
  ],
  ['a key of a prototype', 'budget:', '__proto__:', '4:1 __proto__: this key is not allowed'],
  [
    'an anchor and an alias',
    'budget: 20 USD',
    'budget: &a 20 USD\ntools_as: *a',
    '4:12 budget: an anchor is not read here; write the value alone',
    '5:11 tools_as: an alias is not read here; write the value again',
  ],
  ['a tag', '20 USD', '!!str 20 USD', '4:15 budget: a tag is not read here; write the value alone'],
  ['a second document', 'budget: 20 USD', '---', '4:1 : expected one document'],
  ['a tab', '  command:', '\tcommand:', '3:1 : a tab cannot indent; write spaces'],
  [
    'a bracket that is not closed',
    '[path]',
    '[path',
    '14:5 : the indentation does not fit, or a bracket is not closed',
  ],
];

for (const [name, written, instead, ...faults] of MISTAKES) {
  test(`readPolicy() gives the line of ${name}`, () => {
    assert.ok(POLICY.includes(written));
    assert.deepEqual(faultsOf(POLICY.replace(written, instead)), faults);
  });
}

const API_MISTAKES: Row[] = [
  [
    'a literal secret',
    '$KEY',
    'canary',
    '5:36 upstream.credential.value: a secret does not belong in this file; write $NAME, the name of a variable of the environment',
  ],
  [
    'an absent origin',
    '  origin: https://api.example.com\n',
    '',
    '3:12 upstream.openapi: it needs "origin", such as https://api.example.com',
  ],
  [
    'an origin with a query',
    'example.com',
    'example.com/v1?a=b',
    '4:11 upstream.origin: expected an origin, without a query',
  ],
  [
    'a header that carries a credential',
    'X-Tenant',
    'Authorization',
    '6:13 upstream.headers[0]: a parameter may not set this header',
  ],
  [
    'a header that the credential uses',
    '{ query: key, value: $KEY }',
    '{ header: x-tenant, value: $KEY }',
    '6:13 upstream.headers.0: the credential uses this header',
  ],
  [
    'a login in the clear',
    'credential: { query: key, value: $KEY }',
    'inside: true\n  account: { token: "http://10.0.0.1/t", authorize: "http://127.0.0.1/a", client_id: x }',
    '6:21 upstream.account.token: write https; http is for an address inside, with inside: true',
  ],
  [
    'a credential beside the account of each person',
    '{ query: key, value: $KEY }',
    '{ query: key, value: $KEY }\n  account: { authorize: "https://a.example/a", token: "https://a.example/t", client_id: x }',
    '5:15 upstream.credential: an HTTP API gets the account of each person, and no other credential',
  ],
  [
    'a literal secret of an account',
    'credential: { query: key, value: $KEY }',
    'account: { authorize: "https://a.example/a", token: "https://a.example/t", client_id: x, client_secret: canary }',
    '5:107 upstream.account.client_secret: a secret does not belong in this file; write $NAME, the name of a variable of the environment',
  ],
];

for (const [name, written, instead, ...faults] of API_MISTAKES) {
  test(`readPolicy() gives the line of ${name}`, () => {
    assert.ok('policy' in readPolicy(API));
    assert.deepEqual(faultsOf(API.replace(written, instead)), faults);
  });
}

test('readPolicy() bounds the text, its depth and the number of tools', () => {
  const many = Array.from({ length: CAPABILITIES_MAX + 1 }, (_, i) => `  t${i}: { effect: read }`);
  const start = 'guard: g\nupstream: { command: [x] }\ntools:\n';

  assert.deepEqual(faultsOf('#'.repeat(256 * 1024 + 1)), ['1:1 : it is longer than 262144 bytes']);
  assert.equal(faultsOf('['.repeat(100_000)).length, 1);
  assert.equal(faultsOf(`a: ${'['.repeat(40)}${']'.repeat(40)}`).length, 1);
  assert.deepEqual(faultsOf(`${start}${many.join('\n')}`), [
    '4:3 tools: expected at most 1000 tools',
  ]);
  assert.ok('policy' in readPolicy(`${start}${many.slice(1).join('\n')}`));
});

test('readPolicy() never throws and gives each fault a place', () => {
  const line = fc.constantFrom(
    ...POLICY.split('\n'),
    ...API.split('\n'),
    '? [a]',
    '- &a *a',
    '<<: {',
  );
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.array(fc.oneof(line, fc.string({ maxLength: 20 }))).map((lines) => lines.join('\n')),
  );
  fc.assert(
    fc.property(text, (written) => {
      const reading = readPolicy(written);
      if ('policy' in reading) return;
      assert.ok(reading.faults.length > 0);
      for (const { line: at, column, why } of reading.faults)
        assert.ok(at > 0 && column > 0 && why);
    }),
    { numRuns: 500 },
  );
});

test('policyJsonSchema() accepts what readPolicy() accepts', () => {
  const accepts = new Ajv2020({ strict: false }).compile(policyJsonSchema());

  assert.equal(accepts(parse(POLICY)), true);
  assert.equal(accepts(parse(API)), true);
  assert.equal(accepts(parse(POLICY.replace('effect: write', 'effect: wirte'))), false);
});

function policyOf(text: string): GuardPolicy {
  const reading = readPolicy(text);
  assert.ok('policy' in reading, JSON.stringify(reading));
  return reading.policy;
}

function faultsOf(text: string): string[] {
  const reading = readPolicy(text);
  assert.ok('faults' in reading);
  return reading.faults.map(({ line, column, where, why }) => `${line}:${column} ${where}: ${why}`);
}
