/**
 * The failure tables, copied by hand from the pages: the code must agree row by row.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { CONTROL_ACTION, failure, GUIDANCE, RECOVERY } from '../../src/domain/failure.ts';
import { STATUS } from '../../src/http/status.ts';
import {
  Failure,
  type FailureType,
  FailureType as FailureTypes,
  RecoveryClass,
  ResolutionAction,
} from '../../src/protocol/failure.ts';

const REQUEST_ID = `apr_${'0'.repeat(32)}`;
const DIGEST = `sha256:${'0'.repeat(64)}`;
const grantPolicy: Failure['grant_policy'] = {
  allowed_grant_types: ['one_time', 'session_bound'],
  default_grant_type: 'one_time',
  expires_in_seconds: 900,
  max_uses: 3,
};

const REVALIDATE = 'revalidate_then_retry';
const REFRESH = 'refresh_then_retry';
const REDELEGATE = 'redelegation_then_retry';
const WAIT = 'wait_then_retry';

type Row = [type: FailureType, status: number, retry: boolean, action: string, recovery: string];

/** Decisions 3, one row per type; `control_requirement_unsatisfied` has a table of its own below. */
const ROWS: readonly Row[] = [
  ['invalid_parameters', 400, false, 'check_manifest', REVALIDATE],
  ['streaming_not_supported', 400, false, 'check_manifest', REVALIDATE],
  ['streaming_required', 400, false, 'check_manifest', REVALIDATE],
  ['binding_missing', 400, false, 'obtain_binding', REFRESH],
  ['authentication_required', 401, true, 'provide_credentials', 'retry_now'],
  ['invalid_token', 401, false, 'request_new_delegation', REDELEGATE],
  ['token_expired', 401, false, 'request_new_delegation', REDELEGATE],
  ['scope_insufficient', 403, false, 'request_broader_scope', REDELEGATE],
  ['scope_escalation', 403, false, 'request_broader_scope', REDELEGATE],
  ['not_entitled', 403, false, 'request_broader_scope', REDELEGATE],
  ['approver_not_authorized', 403, false, 'request_broader_scope', REDELEGATE],
  ['purpose_mismatch', 403, false, 'request_capability_binding', REDELEGATE],
  ['non_delegable_action', 403, false, 'invoke_as_root_principal', 'terminal'],
  ['principal_class_not_admitted', 403, false, 'request_new_delegation', REDELEGATE],
  ['delegation_depth_exceeded', 403, false, 'request_new_delegation', REDELEGATE],
  ['budget_exceeded', 403, false, 'request_budget_increase', REDELEGATE],
  ['budget_currency_mismatch', 403, false, 'obtain_matching_currency', REDELEGATE],
  ['budget_not_enforceable', 403, false, 'obtain_quote_first', REFRESH],
  ['binding_invalid', 403, false, 'refresh_binding', REFRESH],
  ['approval_required', 403, false, 'request_approval', WAIT],
  ['approval_grant_invalid', 403, false, 'request_approval', WAIT],
  ['grant_policy_violation', 403, false, 'check_manifest', REVALIDATE],
  ['input_denied', 403, false, 'check_manifest', REVALIDATE],
  ['account_required', 403, false, 'revalidate_state', REVALIDATE],
  ['frozen', 403, true, 'wait_and_retry', WAIT],
  ['unknown_capability', 404, false, 'check_manifest', REVALIDATE],
  ['not_found', 404, false, 'check_manifest', REVALIDATE],
  ['method_not_allowed', 405, false, 'check_manifest', REVALIDATE],
  ['binding_stale', 409, true, 'refresh_binding', REFRESH],
  ['concurrent_branch_busy', 409, true, 'wait_and_retry', WAIT],
  ['idempotency_in_progress', 409, true, 'wait_and_retry', WAIT],
  ['approval_request_decided', 409, false, 'revalidate_state', REVALIDATE],
  ['approval_request_expired', 409, false, 'revalidate_state', REVALIDATE],
  ['rollback_window_closed', 409, false, 'revalidate_state', REVALIDATE],
  ['request_too_large', 413, false, 'check_manifest', REVALIDATE],
  ['unsupported_media_type', 415, false, 'check_manifest', REVALIDATE],
  ['clarification_required', 422, false, 'provide_input', REVALIDATE],
  ['idempotency_mismatch', 422, false, 'revalidate_state', REVALIDATE],
  ['composition_child_failed', 422, false, 'revalidate_state', REVALIDATE],
  ['composition_empty_result', 422, false, 'revalidate_state', REVALIDATE],
  ['rate_limited', 429, true, 'wait_and_retry', WAIT],
  ['internal_error', 500, false, 'revalidate_state', REVALIDATE],
  ['service_unavailable', 503, true, 'wait_and_retry', WAIT],
  ['outcome_unknown', 503, false, 'revalidate_state', REVALIDATE],
];

const APPROVAL = {
  approval_request_id: REQUEST_ID,
  requested_parameters_digest: DIGEST,
  grant_policy: grantPolicy,
};

for (const [type, status, retry, action, recovery_class] of ROWS) {
  test(`Decisions 3, failures: ${type} is ${status}, with the guidance of its row`, () => {
    const made = failure(type, 'why', type === 'approval_required' ? APPROVAL : {});

    assert.deepEqual(made, {
      type,
      detail: 'why',
      retry,
      resolution: { action, recovery_class },
      ...(type === 'approval_required' && APPROVAL),
    });
    assert.equal(GUIDANCE[type].retry, retry);
    assert.equal(GUIDANCE[type].action, action);
    assert.equal(STATUS[type], status);
    assert.deepEqual(Failure.parse(made), made);
  });
}

/** Decisions 3: what an unmet control requirement asks for depends on the requirement. */
const CONTROLS = [
  ['cost_ceiling', 'request_budget_bound_delegation'],
  ['stronger_delegation_required', 'request_capability_binding'],
] as const;
for (const [control, action] of CONTROLS) {
  test(`Decisions 3, failures: control_requirement_unsatisfied by ${control} has action ${action}`, () => {
    const made = failure('control_requirement_unsatisfied', 'why', { control });

    assert.equal(made.retry, false);
    assert.deepEqual(made.resolution, { action, recovery_class: REDELEGATE });
    assert.equal(STATUS.control_requirement_unsatisfied, 403);
    assert.deepEqual(Failure.parse(made), made);
  });
}

test('Decisions 3, failures: every control requirement has its action', () => {
  assert.deepEqual(CONTROL_ACTION, Object.fromEntries(CONTROLS));
});

test('Decisions 3, failures: the tables have exactly the failure types', () => {
  const types = [...ROWS.map(([type]) => type), 'control_requirement_unsatisfied'].sort();

  assert.deepEqual([...FailureTypes.options].sort(), types);
  assert.deepEqual(Object.keys(GUIDANCE).sort(), types);
  assert.deepEqual(Object.keys(STATUS).sort(), types);
});

/** Spec, Canonical resolution actions, and the actions of the two failure tables. */
const ACTIONS = {
  retry_now: 'retry_now',
  provide_credentials: 'retry_now',
  wait_and_retry: WAIT,
  revalidate_state: REVALIDATE,
  check_manifest: REVALIDATE,
  provide_input: REVALIDATE,
  request_broader_scope: REDELEGATE,
  request_budget_increase: REDELEGATE,
  request_budget_bound_delegation: REDELEGATE,
  request_capability_binding: REDELEGATE,
  request_new_delegation: REDELEGATE,
  obtain_matching_currency: REDELEGATE,
  obtain_quote_first: REFRESH,
  obtain_binding: REFRESH,
  refresh_binding: REFRESH,
  request_approval: WAIT,
  invoke_as_root_principal: 'terminal',
};

test('Spec, Canonical resolution actions: every action has exactly one recovery class', () => {
  assert.deepEqual(RECOVERY, ACTIONS);
  assert.deepEqual([...ResolutionAction.options].sort(), Object.keys(ACTIONS).sort());
});

test('Spec, Failure object: every recovery class is reached by an action', () => {
  assert.deepEqual(
    [...RecoveryClass.options].sort(),
    [...new Set<string>(Object.values(ACTIONS))].sort(),
  );
});

test('Spec, Failure object: terminal failures are never retried', () => {
  for (const type of FailureTypes.options) {
    const { retry, resolution } = failure(type, '');

    assert.equal(retry && resolution.recovery_class === 'terminal', false, type);
  }
});

test('Spec, Failure object: a terminal failure with retry does not parse', () => {
  const made = failure('non_delegable_action', '');

  assert.equal(Failure.safeParse(made).success, true);
  assert.equal(Failure.safeParse({ ...made, retry: true }).success, false);
});

for (const field of Object.keys(APPROVAL)) {
  test(`Spec, Failure object: approval_required is never without ${field}`, () => {
    const made = failure('approval_required', '', { ...APPROVAL, [field]: undefined });

    assert.equal(Failure.safeParse(made).success, false);
  });
}

test('Spec, Errors: an invocation is answered with 4xx, except for defects and the store', () => {
  const above = FailureTypes.options.filter((type) => STATUS[type] >= 500);

  assert.deepEqual(above, ['internal_error', 'service_unavailable', 'outcome_unknown']);
  assert.deepEqual(
    FailureTypes.options.filter((type) => STATUS[type] < 400),
    [],
  );
});

test('Spec, Errors: exactly the failures of a credential are 401', () => {
  assert.deepEqual(
    FailureTypes.options.filter((type) => STATUS[type] === 401),
    ['authentication_required', 'invalid_token', 'token_expired'],
  );
});

test('Spec, Failure object: resolution has the known fields, and no empty ones', () => {
  const facts = {
    requires: ['travel.book'],
    grantable_by: 'human:samir',
    estimated_availability: '24h',
  };

  assert.deepEqual(failure('scope_insufficient', '', facts).resolution, {
    action: 'request_broader_scope',
    recovery_class: REDELEGATE,
    ...facts,
  });
});
