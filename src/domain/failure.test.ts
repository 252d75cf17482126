import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'vitest';
import { ONE_TIME } from '../../test/support/scripts.ts';
import { ControlRequirementType } from '../protocol/capability.ts';
import { Failure, FailureType, type GrantPolicy } from '../protocol/failure.ts';
import {
  CONTROL_ACTION,
  type FailureFacts,
  failure,
  GUIDANCE,
  RECOVERY,
  Refusal,
  refuse,
} from './failure.ts';

test('GUIDANCE describes each situation in different words', () => {
  const words = Object.values(GUIDANCE).map(({ when }) => when);

  assert.equal(new Set(words).size, words.length);
  for (const when of words) assert.match(when, /^[a-z].*[^.\s]$/);
});

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
  grant_policy: fc.constant<GrantPolicy>({ ...ONE_TIME, expires_in_seconds: 60 }),
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
