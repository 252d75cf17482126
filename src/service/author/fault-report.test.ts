import assert from 'node:assert/strict';
import { test } from 'vitest';
import { defineCapability } from './define.ts';
import { createService, DefinitionError } from './definition.ts';

const refund = {
  name: 'refund',
  description: 'Refunds',
  side_effect: 'write',
  minimum_scope: ['desk.refund'],
  handler: () => ({}),
};

function linesOf(...changes: object[]): string[] {
  const capabilities = changes.map((more) => defineCapability({ ...refund, ...more } as never));
  try {
    createService({ id: 'desk', capabilities });
  } catch (error) {
    assert.ok(error instanceof DefinitionError);
    return error.message.split('\n').slice(1);
  }
  return [];
}

const input = (more: object) => ({ inputs: [{ name: 'a', type: 'integer', ...more }] });

// Each line says what is written, why it is wrong, and what to write instead.
const table: [name: string, declared: object, line: string][] = [
  [
    'a default of another type',
    input({ default: 'x' }),
    'inputs[0].default is "x", because "x" is not of type "integer"; write a value of type "integer"',
  ],
  [
    'a misspelt field',
    { desciption: 'Refunds' },
    'desciption is set, because there is no such field; write "description"',
  ],
  [
    'a misspelt field of code',
    { handlr: () => ({}) },
    'handlr is set, because there is no such field; write "handler"',
  ],
  [
    'a misspelt field of an input',
    input({ requird: true }),
    'inputs[0].requird is set, because there is no such field; write "required"',
  ],
  [
    'a field that resembles none',
    { side_effect: { type: 'read', colour: 'red' } },
    'side_effect.colour is set, because there is no such field; write one of type, rollback_window, compensation, or leave it out',
  ],
  [
    'a value that is not of its list',
    { side_effect: 'reed' },
    'side_effect.type is "reed", because another form is expected; write "read" or "write" or "transactional" or "irreversible"',
  ],
  [
    'a missing field',
    { description: undefined },
    'description is missing, because it is required; write a text',
  ],
  [
    'a value of another kind',
    { delegable: 'yes' },
    'delegable is "yes", because another form is expected; write true or false',
  ],
  [
    'a list that is too short',
    { response_modes: [] },
    'response_modes is [], because another form is expected; write at least 1 item',
  ],
  [
    'a policy of no known form',
    {
      approval: {
        when: 'sometimes',
        grant_policy: {
          allowed_grant_types: ['one_time'],
          default_grant_type: 'one_time',
          expires_in_seconds: 60,
          max_uses: 1,
        },
      },
    },
    'approval.when is "sometimes", because another form is expected; write "always", { amount_above, input }, { unless }, { where } or { condition, needed }',
  ],
  [
    'a name that is not declared',
    { refresh_via: ['refnd_status'] },
    'refresh_via[0] is "refnd_status", because "refnd_status" is not declared here; write "refund_status"',
  ],
  [
    'a long text, shortened',
    { deadline: 'x'.repeat(99) },
    `deadline is "${'x'.repeat(59)}…, because "${'x'.repeat(99)}" is not a duration of at most a day; write a duration such as "PT30S"`,
  ],
  [
    'a long list by its length',
    { minimum_scope: Array.from({ length: 40 }, () => 'desk.refund') },
    'minimum_scope has 40 items, because "desk.refund" appears twice; write each of them once',
  ],
];

for (const [name, declared, line] of table) {
  test(`createService() reports ${name}`, () => {
    const lines = linesOf(declared, { name: 'refund_status' });

    assert.deepEqual(lines, [`  capability refund: ${line}`]);
  });
}

test('createService() does not show a reference that may be a secret', () => {
  for (const catalog_ref of ['sk_live_abcdef', 'Xy7 !']) {
    const [line = ''] = linesOf(input({ catalog_ref }));

    assert.match(line, /inputs\[0\]\.catalog_ref is set, because /);
    assert.ok(!line.includes(catalog_ref), line);
  }
});

test('createService() lists faults in the order of the capabilities, then by field', () => {
  const inputs = Array.from({ length: 12 }, (_, place) => {
    return { name: `i${place}`, type: 'integer', ...([2, 10].includes(place) && { default: 'x' }) };
  });

  const lines = linesOf({ name: 'z', inputs, deadline: 'x' }, { name: 'a', deadline: 'x' });

  assert.deepEqual(
    lines.map((line) => line.replace(/ (is|has) .*/, '')),
    [
      '  capability z: deadline',
      '  capability z: inputs[2].default',
      '  capability z: inputs[10].default',
      '  capability a: deadline',
    ],
  );
});
