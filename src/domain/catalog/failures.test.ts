import assert from 'node:assert/strict';
import { test } from 'vitest';
import { faultsOf, smallest, wholeOf } from '../../../test/support/declarations.ts';

const own = (changes: object = {}) => ({
  type: 'seat_taken',
  description: 'another booking has the seat',
  retry: false,
  action: 'revalidate_state',
  ...changes,
});
const ofProtocol = (type: string) => `"${type}" is a failure type of the protocol`;
const form = 'expected lower-case letters, digits or "_", 3 to 64 of them';
const failures: [declared: object[], field: string, words: string][] = [
  [[own({ type: 'not_found' })], 'failure_types[0].type', ofProtocol('not_found')],
  [
    [own({ type: 'insufficient_scope' })],
    'failure_types[0].type',
    ofProtocol('insufficient_scope'),
  ],
  [
    [own(), own({ type: 'outcome_unknown' })],
    'failure_types[1].type',
    ofProtocol('outcome_unknown'),
  ],
  [[own(), own({ retry: true })], 'failure_types', '"seat_taken" appears twice'],
  [[own({ type: 'Seat taken' })], 'failure_types[0].type', form],
  [[own({ type: 'a'.repeat(65) })], 'failure_types[0].type', form],
  [[own({ type: '__proto__' })], 'failure_types[0].type', form],
  [
    [own({ retry: true, action: 'invoke_as_root_principal' })],
    'failure_types[0].retry',
    '"invoke_as_root_principal" is terminal, so the call is never retried',
  ],
  [
    [own({ action: 'retry_now' })],
    'failure_types[0].action',
    '"retry_now" repeats the same call, but "retry" is false',
  ],
  [
    [own(), own({ type: 'closed', action: 'wait_and_retry' })],
    'failure_types[1].action',
    '"wait_and_retry" repeats the same call, but "retry" is false',
  ],
  [
    [own({ recovery_class: 'terminal' })],
    'failure_types[0].recovery_class',
    'there is no such field',
  ],
];
for (const [failure_types, field, words] of failures) {
  test(`failureFaults reports at ${field}: ${words}`, () => {
    assert.deepEqual(faultsOf({ alone: { ...smallest(), failure_types } }), [
      ['alone', field, words],
    ]);
  });
}

test('failureFaults accepts failure types, except of a composed capability', () => {
  const failure_types = [
    own(),
    own({ type: 'constructor', retry: true, action: 'retry_now' }),
    // An action that changes something first does not repeat the same call.
    own({ type: 'needs_a_signature', action: 'request_approval' }),
  ];
  const steps = [{ id: 'first', capability: 'part' }];

  assert.deepEqual(faultsOf({ alone: { ...smallest(), failure_types } }), []);
  assert.deepEqual(faultsOf(wholeOf(steps, { part: {} }, { failure_types })), [
    ['whole', 'failure_types', 'a composed capability has none: its steps have'],
  ]);
});
