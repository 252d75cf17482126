import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'vitest';
import { ControlRequirementType } from '../protocol/capability.ts';
import {
  Failure,
  FailureType,
  type GrantPolicy,
  RecoveryClass,
  ResolutionAction,
} from '../protocol/failure.ts';
import {
  CONTROL_ACTION,
  type FailureFacts,
  failure,
  GUIDANCE,
  RECOVERY,
  Refusal,
  refuse,
} from './failure.ts';

// The table of the decisions: types, retry, action and recovery class, one line per group.
const DECIDED = `
invalid_parameters streaming_not_supported streaming_required | false | check_manifest | revalidate_then_retry
binding_missing | false | obtain_binding | refresh_then_retry
authentication_required | true | provide_credentials | retry_now
invalid_token token_expired | false | request_new_delegation | redelegation_then_retry
scope_insufficient scope_escalation not_entitled approver_not_authorized | false | request_broader_scope | redelegation_then_retry
purpose_mismatch | false | request_capability_binding | redelegation_then_retry
non_delegable_action | false | invoke_as_root_principal | terminal
principal_class_not_admitted delegation_depth_exceeded | false | request_new_delegation | redelegation_then_retry
budget_exceeded | false | request_budget_increase | redelegation_then_retry
budget_currency_mismatch | false | obtain_matching_currency | redelegation_then_retry
budget_not_enforceable | false | obtain_quote_first | refresh_then_retry
control_requirement_unsatisfied | false | request_capability_binding | redelegation_then_retry
binding_invalid | false | refresh_binding | refresh_then_retry
approval_required approval_grant_invalid | false | request_approval | wait_then_retry
grant_policy_violation input_denied | false | check_manifest | revalidate_then_retry
frozen | true | wait_and_retry | wait_then_retry
unknown_capability not_found method_not_allowed | false | check_manifest | revalidate_then_retry
binding_stale | true | refresh_binding | refresh_then_retry
concurrent_branch_busy idempotency_in_progress | true | wait_and_retry | wait_then_retry
approval_request_decided approval_request_expired rollback_window_closed | false | revalidate_state | revalidate_then_retry
request_too_large unsupported_media_type | false | check_manifest | revalidate_then_retry
clarification_required | false | provide_input | revalidate_then_retry
idempotency_mismatch | false | revalidate_state | revalidate_then_retry
composition_child_failed composition_empty_result | false | revalidate_state | revalidate_then_retry
rate_limited | true | wait_and_retry | wait_then_retry
internal_error | false | revalidate_state | revalidate_then_retry
service_unavailable | true | wait_and_retry | wait_then_retry
outcome_unknown | false | revalidate_state | revalidate_then_retry
`;

const decided = DECIDED.trim()
  .split('\n')
  .map((line) => line.split(' | '))
  .flatMap(([types = '', retry, action, recovery_class]) =>
    types.split(' ').map((type) => ({ type, retry: retry === 'true', action, recovery_class })),
  );

for (const { type, retry, action, recovery_class } of decided) {
  test(`failure() guides a caller after ${type} as decided`, () => {
    assert.deepEqual(failure(FailureType.parse(type), 'Cannot continue: told so'), {
      type,
      detail: 'Cannot continue: told so',
      retry,
      resolution: { action, recovery_class },
    });
  });
}

test('GUIDANCE has a row for every decided type and no other', () => {
  assert.deepEqual(Object.keys(GUIDANCE).sort(), decided.map(({ type }) => type).sort());
  assert.deepEqual(Object.keys(GUIDANCE).sort(), [...FailureType.options].sort());
});

test('GUIDANCE describes each situation in different words', () => {
  const words = Object.values(GUIDANCE).map(({ when }) => when);

  assert.equal(new Set(words).size, words.length);
  for (const when of words) assert.match(when, /^[a-z].*[^.\s]$/);
});

test('RECOVERY gives every action one class, and never retries terminal', () => {
  assert.deepEqual(Object.keys(RECOVERY).sort(), [...ResolutionAction.options].sort());
  for (const recovery of Object.values(RECOVERY))
    assert.ok(RecoveryClass.options.includes(recovery));
  for (const { retry, action } of Object.values(GUIDANCE)) {
    assert.ok(!(retry && String(RECOVERY[action]) === 'terminal'), action);
  }
});

// The specification's canonical actions.
const canonical: [action: ResolutionAction, recovery: RecoveryClass][] = [
  ['retry_now', 'retry_now'],
  ['provide_credentials', 'retry_now'],
  ['wait_and_retry', 'wait_then_retry'],
  ['revalidate_state', 'revalidate_then_retry'],
  ['check_manifest', 'revalidate_then_retry'],
];
for (const [action, recovery] of canonical) {
  test(`RECOVERY maps the canonical action ${action} as the specification does`, () => {
    assert.equal(RECOVERY[action], recovery);
  });
}

const controls: [control: ControlRequirementType, action: ResolutionAction][] = [
  ['cost_ceiling', 'request_budget_bound_delegation'],
  ['stronger_delegation_required', 'request_capability_binding'],
];
for (const [control, action] of controls) {
  test(`failure() asks for ${action} when ${control} is unmet`, () => {
    assert.deepEqual(failure('control_requirement_unsatisfied', 'Cannot', { control }), {
      type: 'control_requirement_unsatisfied',
      detail: 'Cannot',
      retry: false,
      resolution: { action, recovery_class: 'redelegation_then_retry' },
    });
  });
}

test('failure() ignores a control requirement for every other type', () => {
  for (const type of FailureType.options) {
    if (type === 'control_requirement_unsatisfied') continue;
    for (const control of ControlRequirementType.options) {
      assert.deepEqual(failure(type, 'Cannot', { control }), failure(type, 'Cannot'), type);
    }
  }
});

const hex = (length: number) =>
  fc.string({
    unit: fc.constantFrom(...'0123456789abcdef'),
    minLength: length,
    maxLength: length,
  });
const digest = hex(64).map((digits) => `sha256:${digits}`);

const resolutionFacts = {
  requires: fc.array(fc.string(), { maxLength: 3 }),
  grantable_by: fc.constantFrom('human:alice', 'service:billing'),
  estimated_availability: fc.constantFrom('immediate', '24h'),
};
const failureFacts = {
  approval_request_id: hex(32).map((digits) => `apr_${digits}`),
  preview_digest: digest,
  requested_parameters_digest: digest,
  grant_policy: fc.constant<GrantPolicy>({
    allowed_grant_types: ['one_time'],
    default_grant_type: 'one_time',
    expires_in_seconds: 60,
    max_uses: 1,
  }),
  clarify: fc.array(
    fc.record(
      {
        input: fc.constantFrom('city', 'day'),
        reason: fc.constantFrom('missing' as const, 'ambiguous' as const, 'unresolved' as const),
        candidates: fc.array(fc.jsonValue()),
      },
      { noNullPrototype: true },
    ),
    { maxLength: 3 },
  ),
};

/** Any facts, including those that the schema requires for the type. */
function factsOf(type: FailureType): fc.Arbitrary<FailureFacts> {
  const control = fc.constantFrom(...ControlRequirementType.options);
  return fc.record(
    { ...resolutionFacts, ...failureFacts, control },
    {
      noNullPrototype: true,
      requiredKeys:
        type === 'approval_required'
          ? ['approval_request_id', 'requested_parameters_digest', 'grant_policy']
          : [],
    },
  );
}

for (const type of FailureType.options) {
  test(`failure() puts exactly the facts of ${type} where the schema has them`, () => {
    return fc.assert(
      fc.property(fc.string(), factsOf(type), (detail, facts) => {
        const found = failure(type, detail, facts);

        // The schema drops unknown fields, so a misplaced fact would be missing.
        assert.deepEqual(Failure.parse(found), found);
        for (const [key, value] of Object.entries(facts)) {
          if (key === 'control') continue;
          const holder: object = key in resolutionFacts ? found.resolution : found;
          assert.deepEqual(Object.getOwnPropertyDescriptor(holder, key)?.value, value, key);
        }
        const action =
          type === 'control_requirement_unsatisfied' && facts.control
            ? CONTROL_ACTION[facts.control]
            : GUIDANCE[type].action;
        assert.equal(found.resolution.action, action);
        assert.equal(found.resolution.recovery_class, RECOVERY[action]);
        assert.equal(found.retry, GUIDANCE[type].retry);
      }),
      { numRuns: 50 },
    );
  });
}

test('refuse() does nothing without a failure', () => {
  refuse(undefined);
});

test('refuse() throws a Refusal with the whole failure', () => {
  const found = failure('token_expired', 'Cannot use the token: it has expired');

  assert.throws(
    () => refuse(found),
    (error) =>
      error instanceof Refusal &&
      error.failure === found &&
      error.name === 'Refusal' &&
      error.message === found.detail,
  );
});
