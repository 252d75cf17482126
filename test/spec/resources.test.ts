/**
 * The closed sets, fixed forms and defaults of the resources, copied by hand from the pages.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type * as z from 'zod';
import { ApprovalStatus, GrantRequest } from '../../src/protocol/approval.ts';
import { Checkpoint, EntryType, EventClass } from '../../src/protocol/audit.ts';
import {
  CapabilityDeclaration,
  ControlRequirementType,
  Cost,
  CostCertainty,
  InputResolution,
  ResolutionBehavior,
  ResolutionMode,
  ResponseMode,
  SideEffectType,
} from '../../src/protocol/capability.ts';
import { EmptyResultPolicy, FailurePolicy, MappingPath } from '../../src/protocol/composition.ts';
import { GrantType, RecoveryClass } from '../../src/protocol/failure.ts';
import { InvokeRequest, StreamEvent } from '../../src/protocol/invocation.ts';
import { FreezeRequest, FreezeTarget } from '../../src/protocol/operator.ts';
import { ReasonType } from '../../src/protocol/permissions.ts';
import {
  CallerClass,
  ClientReference,
  Principal,
  PrincipalClass,
  SemanticVersion,
  Timestamp,
} from '../../src/protocol/primitives.ts';
import { ConcurrentBranches, IssueRequest, Purpose } from '../../src/protocol/token.ts';
import { DisclosureLevel, Manifest, PROTOCOL, PROTOCOL_VERSION } from '../../src/protocol/trust.ts';

const HASH = '0123456789abcdef'.repeat(4);

const SETS: readonly [name: string, schema: { options: readonly string[] }, values: string[]][] = [
  ['Spec, Principal: prefix', PrincipalClass, ['human', 'agent', 'service', 'oidc']],
  [
    'Spec, Capability declaration: side_effect.type',
    SideEffectType,
    ['read', 'write', 'transactional', 'irreversible'],
  ],
  ['Spec, Capability declaration: response_modes', ResponseMode, ['unary', 'streaming']],
  [
    'Spec, Capability declaration: control_requirements types',
    ControlRequirementType,
    ['cost_ceiling', 'stronger_delegation_required'],
  ],
  ['Spec, Cost: certainty', CostCertainty, ['fixed', 'estimated', 'dynamic']],
  [
    'Spec, Input: resolution.mode',
    ResolutionMode,
    [
      'closed_values',
      'backend_resolved',
      'actor_policy',
      'actor_policy_or_explicit',
      'app_selected',
      'explicit_only',
      'clarify',
    ],
  ],
  [
    'Spec, Input: behaviour values',
    ResolutionBehavior,
    [
      'clarify',
      'use_default',
      'use_actor_scope',
      'app_select_or_clarify',
      'deny',
      'deny_or_clarify',
      'omit',
    ],
  ],
  ['Spec, Delegation token: concurrent_branches', ConcurrentBranches, ['allowed', 'exclusive']],
  [
    'Spec, Permission response: reason_type',
    ReasonType,
    [
      'insufficient_scope',
      'insufficient_delegation_depth',
      'stronger_delegation_required',
      'unmet_control_requirement',
      'non_delegable',
    ],
  ],
  [
    'Spec, Failure object: recovery_class',
    RecoveryClass,
    [
      'retry_now',
      'wait_then_retry',
      'refresh_then_retry',
      'redelegation_then_retry',
      'revalidate_then_retry',
      'terminal',
    ],
  ],
  ['Spec, Approval request and grant: grant_type', GrantType, ['one_time', 'session_bound']],
  [
    'Spec, Events: event_class',
    EventClass,
    ['low_risk_success', 'high_risk_success', 'low_risk_failure', 'high_risk_failure'],
  ],
  ['Decisions 5: states', ApprovalStatus, ['pending', 'approved', 'denied', 'expired']],
  ['Decisions 1.10: what is frozen', FreezeTarget, ['root_principal', 'capability', 'service']],
  ['Decisions 3: disclosure levels', DisclosureLevel, ['full', 'reduced', 'redacted']],
  ['Decisions 6: failure_policy', FailurePolicy, ['propagate', 'fail_parent', 'compensate']],
  [
    'Decisions 6: empty_result_policy',
    EmptyResultPolicy,
    ['return_success_no_results', 'clarify', 'deny'],
  ],
];
for (const [name, schema, values] of SETS) {
  test(`${name} has exactly the values of the page`, () => {
    assert.deepEqual([...schema.options].sort(), [...values].sort());
  });
}

test('Decisions 4, Streaming: the events are started, progress, completed and failed', () => {
  const names = StreamEvent.options.map(({ shape }) => shape.event.value);

  assert.deepEqual(names, ['started', 'progress', 'completed', 'failed']);
});

test('Decisions 8: every recorded kind of act has an entry type', () => {
  for (const type of ['invocation', 'replay', 'issuance', 'revocation', 'operator']) {
    assert.equal(EntryType.safeParse(type).success, true, type);
  }
  assert.equal(EntryType.safeParse('approval_decision').success, true);
});

type Form = [name: string, schema: z.ZodType, accepted: unknown[], refused: unknown[]];

const FORMS: readonly Form[] = [
  [
    'Spec, Principal: a class prefix and a name',
    Principal,
    ['human:samir@example.com', 'agent:a', 'service:hotel', 'oidc:auth0|7'],
    ['samir', 'human:', 'Human:samir', 'robot:r', ':samir', ' human:samir', ''],
  ],
  [
    'Spec, Principal: the named caller classes',
    CallerClass,
    ['automated_agent', 'internal', 'partner', 'default'],
    ['', 'Internal', 'automated agent', '7'],
  ],
  [
    'Spec, Resources: timestamps are ISO 8601 UTC',
    Timestamp,
    ['2026-03-04T05:06:07Z', '2026-03-04T05:06:07.890Z', '2024-02-29T00:00:00Z'],
    ['2026-03-04 05:06:07Z', '2026-03-04T05:06:07', '2026-03-04T05:06:07+02:00', 'now', 1],
  ],
  ['Spec, Resources: no day that does not exist', Timestamp, [], ['2026-02-30T00:00:00Z']],
  [
    'Spec, Limits: client_reference_id has at most 256 characters, and no least length',
    ClientReference,
    ['', 'a', 'x'.repeat(256)],
    ['x'.repeat(257), 1],
  ],
  [
    'Spec, Versioning: contract_version is a semantic version',
    SemanticVersion,
    ['1.2.0', '0.1.0', '1.0.0-rc.1', '1.0.0+b7', '1.0.0-0.a-b.7+001.x', '1.0.0--'],
    ['1', '1.2', 'v1.2.0', '01.2.0', '1.2.0.0', '', '1.0.0-01', '1.0.0-..', '1.0.0-', '1.0.0+'],
  ],
  [
    'Decisions 6: paths of mappings',
    MappingPath,
    ['$.input.a', '$.input.a.b', '$.steps.s1.output.a', '$.steps.s1.output.a.b'],
    ['input.a', '$.input[0]', '$.input..a', '$.steps.s1.a', '$.step.s1.output.a', '$.other.a', ''],
  ],
  [
    'Spec, Input: references are identifiers, without secrets',
    InputResolution.shape.resolver_ref,
    ['airports', 'catalog:airports', 'travel/airports.v2'],
    ['https://u:p@host/?key=1', 'a b', 'key=secret', ''],
  ],
  [
    'Spec, Checkpoint: merkle_root has the prefix sha256:',
    Checkpoint.shape.merkle_root,
    [`sha256:${HASH}`],
    [HASH, `sha512:${HASH}`, `sha256:${HASH.toUpperCase()}`, 'sha256:'],
  ],
  [
    'Decisions 7: manifest sha256 is hex',
    Manifest.shape.manifest_metadata.shape.sha256,
    [HASH],
    [`sha256:${HASH}`, HASH.slice(1), ''],
  ],
  [
    'Spec, Manifest: issuer_mode',
    Manifest.shape.service_identity.shape.issuer_mode,
    ['self'],
    [''],
  ],
  [
    'Spec, Capability declaration: response_modes, one or both',
    CapabilityDeclaration.shape.response_modes,
    [['unary'], ['streaming'], ['unary', 'streaming']],
    [[], ['batch'], 'unary'],
  ],
  [
    'Spec, Cost: compute may have an expected duration',
    Cost.shape.compute,
    [{}, { expected_duration: 'PT2S' }, { memory_mb: 64 }],
    [{ expected_duration: 2 }, { expected_duration: 'soon' }],
  ],
  [
    'Spec, POST /svc/tokens: purpose is opaque, but its task is an id',
    Purpose,
    [{}, { task_id: 'trip-7' }, { anything: { nested: [1] } }, { task_id: null }],
    [{ task_id: 7 }, { task_id: '' }, { session_id: {} }, [], 'trip-7'],
  ],
];
for (const [name, schema, accepted, refused] of FORMS) {
  test(name, () => {
    for (const value of accepted) {
      assert.equal(schema.safeParse(value).success, true, JSON.stringify(value));
    }
    for (const value of refused) {
      assert.equal(schema.safeParse(value).success, false, JSON.stringify(value));
    }
  });
}

test('Spec, Versioning: the protocol is 0.24, its target string svc/0.24', () => {
  assert.equal(PROTOCOL_VERSION, '0.24');
  assert.equal(PROTOCOL, 'svc/0.24');
});

test('Spec, POST /svc/invoke: an invocation is not streamed by default', () => {
  assert.equal(InvokeRequest.parse({ capability: 'a', parameters: {} }).stream, false);
});

test('Decisions 1.4: scope is never inferred', () => {
  assert.equal(IssueRequest.safeParse({ capability: 'book_flight' }).success, false);
  assert.equal(IssueRequest.safeParse({ scope: null }).success, false);
});

test('Decisions 1.4: an omitted field is not filled in, so that it can be inherited', () => {
  assert.deepEqual(IssueRequest.parse({ scope: ['a'] }), { scope: ['a'] });
});

test('Decisions 1.4: a purpose key that is null is dropped', () => {
  assert.deepEqual(Purpose.parse({ task_id: null, ticket: 7 }), { ticket: 7 });
});

test('Spec, POST /svc/approval_grants: a one-time grant may say session_id null', () => {
  const request = { approval_request_id: `apr_${'0'.repeat(32)}`, grant_type: 'one_time' };

  const parsed = GrantRequest.parse({ ...request, session_id: null });

  assert.equal(parsed.session_id, undefined);
});

/** Decisions 1.10: a target where there is something smaller than the service to name. */
const TARGETS: readonly [what: string, target: string | undefined, isAccepted: boolean][] = [
  ['root_principal', 'human:samir', true],
  ['root_principal', undefined, false],
  ['capability', 'book_flight', true],
  ['capability', undefined, false],
  ['service', undefined, true],
  ['service', 'travel-service', false],
];
for (const [what, target, isAccepted] of TARGETS) {
  const verb = isAccepted ? 'takes' : 'refuses';
  test(`Decisions 1.10: freeze ${verb} "${what}" ${target ? 'with' : 'without'} a target`, () => {
    const request = { what, reason: 'incident', ...(target && { target }) };

    assert.equal(FreezeRequest.safeParse(request).success, isAccepted);
  });
}
