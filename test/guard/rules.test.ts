/**
 * Conditions in the policy of a guard: what passes, what asks, what is refused, and what a check warns of.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { guardService } from '../../src/guard/definition.ts';
import { NO_PINS, pinned } from '../../src/guard/pins.ts';
import { ruleWarnings } from '../../src/guard/policy/rule-warnings.ts';
import type { UpstreamTool } from '../../src/guard/upstream.ts';
import type { JsonObject } from '../../src/protocol/primitives.ts';
import { testService } from '../../src/testing/test-service.ts';
import { BY, guardOf } from './rig.ts';

function tool(name: string, properties: JsonObject): UpstreamTool {
  return { name, description: name, inputSchema: { type: 'object', properties } };
}

const TEXT = { type: 'string' };
const TEXTS = { type: 'array', items: TEXT };
const TOOLS = [
  tool('write_file', { path: TEXT, content: TEXT }),
  tool('move_file', { source: TEXT, path: TEXT }),
  tool('send_email', { to: TEXTS, cc: TEXTS, bcc: TEXTS, text: TEXT }),
  tool('push_files', { owner: TEXT, repo: TEXT, branch: TEXT }),
  tool('pay', { amount: { type: 'number' }, currency: TEXT, path: TEXT }),
];

const FILES =
  '  write_file: { effect: write, approval: { unless: { path: { under: [docs, /srv/docs] } } } }';
const MAIL = `  send_email:
    effect: irreversible
    refuse:
      unless: { to.*: { email_domain: example.com }, cc.*: { email_domain: example.com, or_absent: true }, bcc: { absent: true } }`;
const PUSH = `  push_files:
    effect: write
    refuse: { unless: { owner: acme } }
    approval: { unless: { repo: { one_of: [website, docs] }, branch: { starts_with: agent- } } }`;

function guarded(policy: string) {
  const { options, calls } = guardOf(policy);
  const given = { ...options, pins: pinned(NO_PINS, TOOLS, BY), live: TOOLS };
  return { ...guardService(given), calls };
}

const good = ['ann@example.com'];
const CALLS: readonly (readonly [policy: string, parameters: JsonObject, failure?: string])[] = [
  [FILES, { path: 'docs/a.md', content: 'x' }],
  [FILES, { path: '/srv/docs/a.md' }],
  [FILES, { path: 'docs/../a.md' }, 'approval_required'],
  [FILES, { path: 'docs%2e%2e/a.md' }, 'approval_required'],
  [FILES, { path: 'docs\\..\\a.md' }, 'approval_required'],
  [FILES, { path: 'DOCS/a.md' }, 'approval_required'],
  [FILES, {}, 'approval_required'],
  [MAIL, { to: good, text: 'hello' }],
  [MAIL, { to: [...good, 'a@evil.example'] }, 'input_denied'],
  [MAIL, { to: ['ann@example.com, a@evil.example'] }, 'input_denied'],
  [MAIL, { to: good, bcc: good }, 'input_denied'],
  [MAIL, { to: good, bcc: null }],
  [MAIL, {}, 'input_denied'],
  [PUSH, { owner: 'acme', repo: 'docs', branch: 'agent-1' }],
  [PUSH, { owner: 'acme', repo: 'Docs', branch: 'agent-1' }, 'approval_required'],
  [PUSH, { owner: 'acme', repo: 'docs', branch: 'main' }, 'approval_required'],
  [PUSH, { owner: 'Acme', repo: 'docs', branch: 'agent-1' }, 'input_denied'],
];

for (const [policy, parameters, failure] of CALLS) {
  const [name = ''] = policy.trim().split(':');
  test(`${name} with ${JSON.stringify(parameters)} ${failure ?? 'passes'}`, async () => {
    const { service, calls } = guarded(policy);
    const desk = await testService(service);
    const { client } = await desk.caller('a');
    const reply = await client.invoke({ capability: name, parameters });

    assert.equal(reply.ok ? undefined : reply.failure.type, failure);
    assert.equal(calls.length, failure === undefined ? 1 : 0);
    await desk.close();
  });
}

test('a tool whose rule names what it has not is off, with the line of the condition', () => {
  const policy = '  write_file:\n    effect: write\n    refuse:\n      unless:\n        pth: docs';

  assert.equal(
    guarded(policy).off.get('write_file'),
    'line 8 of the policy: refuse.unless.pth cannot be used: "pth" is no input; write path',
  );
});

const WARNED: readonly (readonly [name: string, policy: string, warnings: readonly RegExp[]])[] = [
  ['nothing where each way is conditioned', FILES, []],
  [
    'a list of what is bad',
    '  push_files: { effect: write, approval: { when: { repo: prod } } }',
    [/^push_files: "when" on "repo" lists what is bad/],
  ],
  [
    'a second input for the same',
    '  move_file: { effect: write, approval: { unless: { path: { under: docs } } } }',
    [/^move_file: no condition names "source"/],
  ],
  [
    'an amount without its currency',
    '  pay: { effect: write, approval: { above: 5, field: amount } }',
    [/^pay: an amount is bounded and its "currency" is not/],
  ],
  [
    'another tool with the same input',
    `${FILES}\n  pay: { effect: write }`,
    [/^pay: it has no condition on "path", and write_file has one/],
  ],
];
for (const [name, policy, warnings] of WARNED) {
  test(`ruleWarnings() finds ${name}`, () => {
    const found = ruleWarnings(guarded(policy).service.catalog);

    assert.equal(found.length, warnings.length, found.join('\n'));
    for (const [at, warning] of warnings.entries()) assert.match(found[at] ?? '', warning);
  });
}
