import assert from 'node:assert/strict';
import { test } from 'vitest';
import { smallest } from '../../../test/support/declarations.ts';
import { type Capability, CapabilityDeclaration } from '../../protocol/capability.ts';
import type { Composition } from '../../protocol/composition.ts';
import type { FailureType } from '../../protocol/failure.ts';
import { failure, GUIDANCE, RECOVERY } from '../failure.ts';
import { dueCompensations } from './compensation.ts';
import { composedFailure, type TrailStep } from './composition-failure.ts';

function whole(failure_policy: Composition['failure_policy']): Capability {
  const composition: Composition = {
    authority_boundary: 'same_service',
    steps: [],
    input_mapping: {},
    output_mapping: {},
    failure_policy,
    audit_policy: { record_child_invocations: true, parent_task_lineage: true },
    step_authority: 'caller',
  };
  return { name: 'whole', ...CapabilityDeclaration.parse(smallest()), composition };
}

const step = (step_id: string, outcome?: TrailStep['outcome'], more = {}): TrailStep => ({
  role: 'step',
  step_id,
  capability: step_id,
  outcome,
  ...more,
});
const undoing = (step_id: string, outcome?: TrailStep['outcome']) =>
  step(step_id, outcome, { role: 'compensation' });

const found = failure('not_found', 'Cannot find it');
const stop = {
  failure: found,
  step: 'two',
  effects: (name: string) => (name.startsWith('read') ? ('read' as const) : ('write' as const)),
};

test('composedFailure() never advises to repeat a call that has acted', () => {
  const acted = [step('one', 'completed'), step('two', 'no_effect')];
  const unmoved = [step('read_it', 'completed'), step('two', 'no_effect')];
  for (const [type, { retry, action }] of Object.entries(GUIDANCE)) {
    const answer = failure(type as FailureType, 'Cannot ship');
    const again = retry || !['revalidate_then_retry', 'terminal'].includes(RECOVERY[action]);

    const of = (trail: TrailStep[]) =>
      composedFailure(whole('propagate'), trail, { ...stop, failure: answer }).failure;

    assert.deepEqual(of(unmoved), answer);
    assert.equal(of(acted).type, again ? 'composition_child_failed' : type);
    assert.equal(of(acted).retry, false);
  }
});

test('composedFailure() keeps the failure of a composed call that stopped by itself', () => {
  const own = { ...stop, step: undefined };

  assert.deepEqual(composedFailure(whole('fail_parent'), [], own).failure, found);
  const { failure: answer } = composedFailure(whole('compensate'), [], own);
  assert.equal(answer.type, 'not_found');
});

const outcomes: [name: string, trail: TrailStep[], outcome: string][] = [
  ['nothing ran', [], 'no_effect'],
  ['only reads ran', [step('read_it', 'completed'), step('two', 'no_effect')], 'no_effect'],
  ['a read failed', [step('read_it', 'failed')], 'no_effect'],
  ['a read took money', [step('read_it', 'completed', { drawn: 1n })], 'failed'],
  ['a step acted', [step('one', 'completed')], 'failed'],
  ['a step failed after it may have acted', [step('one', 'failed')], 'failed'],
  ['what a step did was undone', [step('one', 'completed'), undoing('one', 'completed')], 'failed'],
  ['the outcome of a step is unknown', [step('one', 'indeterminate')], 'indeterminate'],
  ['a step was interrupted', [step('one')], 'indeterminate'],
  ['an undoing was interrupted', [step('one', 'completed'), undoing('one')], 'indeterminate'],
];
for (const [name, trail, outcome] of outcomes) {
  test(`composedFailure() is ${outcome} when ${name}`, () => {
    const ended = composedFailure(whole('compensate'), trail, stop);

    assert.equal(ended.outcome, outcome);
    assert.equal(ended.failure.type === 'outcome_unknown', outcome === 'indeterminate');
  });
}

test('dueCompensations() lists completed steps that can be undone, last first, each once', () => {
  const trail = [
    step('one', 'completed'),
    step('plain', 'completed'),
    step('two', 'completed'),
    step('three', 'completed'),
    step('four', 'failed'),
    step('five', 'indeterminate'),
    step('six'),
    undoing('three'),
  ];

  const due = dueCompensations(trail, (name) => (name === 'plain' ? undefined : `undo_${name}`));

  assert.deepEqual(
    due.map(({ undone, compensation }) => [undone.step_id, compensation]),
    [
      ['two', 'undo_two'],
      ['one', 'undo_one'],
    ],
  );
});
