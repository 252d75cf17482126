import assert from 'node:assert/strict';
import { test } from 'vitest';
import { ONE_TIME } from '../../test/support/scripts.ts';
import { failure, GUIDANCE } from '../domain/failure.ts';
import { CapabilityDeclaration, type DeclaredCapability } from '../protocol/capability.ts';
import { FailureType } from '../protocol/failure.ts';
import { failureAdvice } from './result.ts';
import { toolOf } from './tool.ts';

function tool(changed: Partial<DeclaredCapability> = {}) {
  return toolOf(
    'do_it',
    CapabilityDeclaration.parse({
      description: 'Does it',
      contract_version: '1.0.0',
      inputs: [],
      output: { type: 'thing', fields: ['thing_id'] },
      side_effect: { type: 'read' },
      minimum_scope: [],
      ...changed,
    }),
  );
}

/** Side effect, then the hints: read-only, destructive, idempotent. */
const HINTS = [
  ['read', true, false, true],
  ['write', false, false, false],
  ['transactional', false, false, false],
  ['irreversible', false, true, false],
] as const;
for (const [type, readOnlyHint, destructiveHint, idempotentHint] of HINTS) {
  test(`toolOf() hints what "${type}" means`, () => {
    const { annotations } = tool({ side_effect: { type } });

    assert.deepEqual(annotations, { readOnlyHint, destructiveHint, idempotentHint });
  });
}

/** An input, its property, and whether it is required. */
const INPUTS: [
  input: DeclaredCapability['inputs'][number],
  property: object,
  isRequired: boolean,
][] = [
  [{ name: 'a', type: 'string' }, { type: 'string' }, true],
  [{ name: 'a', type: 'integer', required: false }, { type: 'integer' }, false],
  [{ name: 'a', type: 'number', default: 3 }, { type: 'number', default: 3 }, false],
  [
    { name: 'a', type: 'string', default: 'x', resolution: { mode: 'explicit_only' } },
    { type: 'string' },
    true,
  ],
  [{ name: 'a', type: 'date' }, { type: 'string', format: 'date' }, true],
  [{ name: 'a', type: 'datetime' }, { type: 'string', format: 'date-time' }, true],
  [
    { name: 'a', type: 'airport', description: 'Where' },
    { description: 'Where. Type: airport' },
    true,
  ],
  [{ name: 'a', type: 'constructor' }, { description: 'Type: constructor' }, true],
  [
    { name: 'a', type: 'string', allowed_values: ['x', 'y'], input_meanings: { x: 'the first' } },
    { type: 'string', enum: ['x', 'y'], description: 'x: the first' },
    true,
  ],
  [
    { name: 'a', type: 'string', resolution: { mode: 'explicit_only', on_missing: 'clarify' } },
    { type: 'string' },
    false,
  ],
  [{ name: 'a', type: 'string', resolution: { mode: 'clarify' } }, { type: 'string' }, false],
];
for (const [input, property, isRequired] of INPUTS) {
  test(`toolOf() describes the input ${JSON.stringify(input)}`, () => {
    const { inputSchema } = tool({ inputs: [input] });

    assert.deepEqual(inputSchema.properties, { a: property });
    assert.deepEqual(inputSchema.required, isRequired ? ['a'] : []);
  });
}

test('toolOf() leaves out what the service derives for the actor', () => {
  const { inputSchema } = tool({
    inputs: [{ name: 'tenant', type: 'string', resolution: { mode: 'actor_policy' } }],
  });

  assert.deepEqual(inputSchema.properties, {});
});

test('toolOf() shows the reserved parameters where they mean something', () => {
  const grant_policy = { ...ONE_TIME, expires_in_seconds: 60 };
  const { inputSchema, description } = tool({
    side_effect: { type: 'irreversible' },
    approval: { when: 'always', grant_policy, approvals_required: 2 },
  });

  assert.deepEqual(Object.keys(inputSchema.properties as object), [
    'svc_approval_grant',
    'svc_idempotency_key',
  ]);
  assert.match(description, /May need the approval of 2 people/);
});

test('toolOf() says where a binding comes from and how long it lasts', () => {
  const { inputSchema } = tool({
    inputs: [{ name: 'quote', type: 'string' }],
    requires_binding: [
      { type: 'quote', field: 'quote', source_capability: 'search', max_age: 'PT15M' },
    ],
  });

  assert.deepEqual(inputSchema.properties, {
    quote: { type: 'string', description: 'Get it from search, no older than PT15M' },
  });
});

for (const type of FailureType.options) {
  test(`failureAdvice() says what to do about ${type}`, () => {
    const [said, advice] = failureAdvice(
      failure(type, `Cannot do it: ${GUIDANCE[type].when}`),
    ).split('\n');

    assert.equal(said, `${type}: Cannot do it: ${GUIDANCE[type].when}`);
    assert.match(advice ?? '', /^What to do: \w.*\.$/);
  });
}

for (const [type, advised] of [
  ['invalid_token', /every call with this one fails/],
  ['token_expired', /every call with this one fails/],
  ['principal_class_not_admitted', /^What to do: use another tool, or tell the user/m],
  ['delegation_depth_exceeded', /fewer times; other tools may still take this one/],
  [
    'approval_grant_invalid',
    /sent `svc_approval_grant`, call the tool again with the same arguments and without it/,
  ],
] as const) {
  test(`failureAdvice() says of ${type} what is true of the other tools and of the next call`, () => {
    assert.match(failureAdvice(failure(type, 'Cannot do it')), advised);
  });
}

test('toolOf() tells a model to call first what the handler does not call itself', () => {
  const { description } = tool({
    requires: [
      { capability: 'find', reason: 'it is booked by its quote' },
      { capability: 'send_sms', reason: 'confirms the booking', called_by: 'handler' },
    ],
  });

  assert.deepEqual(description?.split('\n').slice(2), [
    'Needs find first: it is booked by its quote.',
    'Calls send_sms itself: confirms the booking.',
  ]);
});

test('failureAdvice() names what it takes, who grants it, when, and what to choose from', () => {
  const text = failureAdvice(
    failure('clarification_required', 'Cannot continue', {
      requires: ['a.read'],
      grantable_by: 'human:ann',
      estimated_availability: 'PT5S',
      clarify: [{ input: 'who', reason: 'ambiguous', candidates: ['Ann', 'Anna'] }],
    }),
  );

  assert.deepEqual(text.split('\n').slice(2), [
    'Needed: a.read.',
    'Can be granted by: human:ann.',
    'When: in PT5S.',
    'Input "who" is ambiguous; choose one of ["Ann","Anna"].',
  ]);
});

for (const [said, told] of [
  ['2026-12-01T08:00:00.000Z', 'When: at 2026-12-01T08:00:00.000Z.'],
  ['24h', 'When: in 24h.'],
  ['immediate', 'When: immediate.'],
] as const) {
  test(`failureAdvice() tells "${said}" as what it is`, () => {
    const found = failure('frozen', 'Cannot run now', { estimated_availability: said });

    assert.ok(failureAdvice(found).split('\n').includes(told), failureAdvice(found));
  });
}

test('toolOf() names the failures that the capability declares', () => {
  const taken = { type: 'seat_taken', description: 'another booking has the seat', retry: false };
  const { description } = tool({ failure_types: [{ ...taken, action: 'revalidate_state' }] });

  assert.match(description, /^May fail with seat_taken: another booking has the seat\.$/m);
});

test('toolOf() uses the schemas of the author, and keeps their definitions and references', () => {
  const node = { type: 'object', properties: { next: { $ref: '#/$defs/node' } } };
  const schema = {
    type: 'object' as const,
    properties: { amount: { type: 'number', minimum: 1 }, first: { $ref: '#/$defs/node' } },
    required: ['amount', 'first'],
    $defs: { node },
  };
  const { inputSchema, outputSchema } = tool({
    inputs: [
      { name: 'amount', type: 'number', description: 'How much' },
      { name: 'first', type: 'object', required: false },
    ],
    input_schema: schema,
    output_schema: schema,
  });

  assert.deepEqual(inputSchema.properties, {
    amount: { type: 'number', minimum: 1, description: 'How much' },
    first: { $ref: '#/$defs/node' },
  });
  assert.deepEqual(inputSchema.required, ['amount']);
  assert.deepEqual(inputSchema.$defs, { node });
  const { result } = outputSchema.properties as { result: typeof schema };
  assert.deepEqual(result.properties.first, { $ref: '#/properties/result/$defs/node' });
  assert.deepEqual(result.$defs.node.properties, {
    next: { $ref: '#/properties/result/$defs/node' },
  });
});

test('toolOf() describes an input with a resolver by its type alone', () => {
  const { inputSchema } = tool({
    inputs: [
      {
        name: 'who',
        type: 'string',
        resolution: { mode: 'backend_resolved', resolver_ref: 'people' },
      },
    ],
    input_schema: { type: 'object', properties: { who: { type: 'string', pattern: '^TR-' } } },
  });

  assert.deepEqual(inputSchema.properties, { who: { type: 'string' } });
});
