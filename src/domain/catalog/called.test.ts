import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createCatalog } from './catalog.ts';
import { faultText } from './fault.ts';

const declared = (called: readonly string[], more: object = {}) => ({
  description: 'A test',
  contract_version: '1.0.0',
  inputs: [],
  output: { type: 'object', fields: [] },
  side_effect: { type: 'write' },
  minimum_scope: [],
  requires: called.map((capability) => ({ capability, reason: 'a test', called_by: 'handler' })),
  ...more,
});

const whole = (step: string, called: readonly string[] = []) =>
  declared(called, {
    kind: 'composed',
    composition: {
      authority_boundary: 'same_service',
      steps: [{ id: 'only', capability: step }],
      input_mapping: {},
      output_mapping: {},
      failure_policy: 'compensate',
      audit_policy: { record_child_invocations: true, parent_task_lineage: true },
    },
  });

const APPROVAL = {
  when: 'always',
  grant_policy: {
    allowed_grant_types: ['one_time'],
    default_grant_type: 'one_time',
    expires_in_seconds: 60,
    max_uses: 1,
  },
};

function faultsOf(capabilities: Record<string, object>): string[] {
  const result = createCatalog(Object.entries(capabilities));
  return 'faults' in result ? result.faults.map(faultText) : [];
}

/** `c0` calls `c1`, and so on. */
const chain = (length: number) =>
  Object.fromEntries(
    Array.from({ length }, (_, at) => [`c${at}`, declared(at + 1 < length ? [`c${at + 1}`] : [])]),
  );

test('calledFaults() admits calls of no stronger effect in one direction', () => {
  const looks = { side_effect: { type: 'read' } };
  const capabilities = {
    top: declared(['left', 'right', 'trip']),
    left: declared(['low']),
    right: declared(['low'], { side_effect: { type: 'write' } }),
    low: declared([], looks),
    trip: whole('left'),
  };

  assert.deepEqual(faultsOf(capabilities), []);
});

test('calledFaults() says nothing about what an agent calls first', () => {
  const pay = declared([], { side_effect: { type: 'irreversible' }, approval: APPROVAL });
  const requires = [{ capability: 'pay', reason: 'only what is paid has a receipt' }];

  assert.deepEqual(faultsOf({ pay, receipt: declared([], { requires }) }), []);
});

const ROWS: [name: string, capabilities: Record<string, object>, expected: string[]][] = [
  [
    'a stronger effect',
    { a: declared(['b']), b: declared([], { side_effect: { type: 'irreversible' } }) },
    [
      'capability a: requires[0].called_by is refused, because "b" is "irreversible", stronger than "write"; write side_effect: "irreversible", or a composition (kind: "composed")',
    ],
  ],
  [
    'a policy that may ask a person',
    { a: declared(['b']), b: declared([], { approval: APPROVAL }) },
    [
      'capability a: requires[0].called_by is refused, because "b" may need approval, and a handler cannot wait for a person; write a composition (kind: "composed"), which asks before its first step',
    ],
  ],
  [
    'a capability that only streams',
    { a: declared(['b']), b: declared([], { response_modes: ['streaming'] }) },
    [
      'capability a: requires[0].called_by is refused, because "b" only streams, and a handler gets one answer; write a capability with the response mode "unary"',
    ],
  ],
  [
    'a composed capability that would call',
    { a: whole('b', ['b']), b: declared([]) },
    [
      'capability a: requires[0].called_by is refused, because "a" has no handler: it is composed; write it as a step',
    ],
  ],
  [
    'a way back through two others',
    { a: declared(['b']), b: declared(['c']), c: declared(['a']) },
    ['a" → "b" → "c" → "a', 'b" → "c" → "a" → "b', 'c" → "a" → "b" → "c'].map(
      (way, at) =>
        `capability ${'abc'[at]}: requires[0].called_by is refused, because its calls lead back to it: "${way}"; write calls in one direction, or a composition (kind: "composed")`,
    ),
  ],
  [
    'a way back through a step',
    { a: declared(['trip']), trip: whole('a') },
    [
      'capability a: requires[0].called_by is refused, because its calls lead back to it: "a" → "trip" → "a"; write calls in one direction, or a composition (kind: "composed")',
    ],
  ],
  [
    'calls six levels deep, at one capability',
    chain(9),
    [
      'capability c2: requires is refused, because calls are 6 levels deep below it, and 5 are the most; write fewer levels, or a composition (kind: "composed")',
    ],
  ],
  ['calls five levels deep, never', chain(6), []],
];
for (const [name, capabilities, expected] of ROWS) {
  test(`calledFaults() finds ${name}`, () => {
    assert.deepEqual(faultsOf(capabilities), expected);
  });
}

test('calledFaults() finds a way back through a compensation', () => {
  const undo = { type: 'transactional', compensation: 'undo' };
  const capabilities = {
    top: declared(['trip'], { side_effect: undo, output: { type: 'object', fields: ['id'] } }),
    trip: { ...whole('top'), side_effect: { type: 'transactional' } },
    undo: declared(['trip'], { side_effect: { type: 'transactional' } }),
  };

  assert.match(faultsOf(capabilities).join('\n'), /"undo" → "trip" → "undo"/);
});

test('calledFaults() finds all faults of one start together', () => {
  const capabilities = {
    a: declared(['b', 'c', 'a', 'nowhere']),
    b: declared([], { approval: APPROVAL, side_effect: { type: 'irreversible' } }),
    c: declared(['a']),
  };

  assert.equal(faultsOf(capabilities).length, 6);
});

test('calledFaults() judges a thousand capabilities that call each other', () => {
  const names = Array.from({ length: 1_000 }, (_, at) => `c${at}`);
  const capabilities = names.map((name, at) => [name, declared(names.slice(at + 1, at + 4))]);

  assert.match(
    faultsOf(Object.fromEntries(capabilities)).join('\n'),
    /^capability c993: requires .*$/,
  );
});
