import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { ONE_TIME } from '../../../test/support/scripts.ts';
import { type Failure, FailureType } from '../../protocol/failure.ts';
import { failure, GUIDANCE } from '../failure.ts';
import { disclose, levelOf } from './disclosure.ts';

const LEVELS = { internal: 'full', partner: 'redacted', default: 'reduced' } as const;

/** A failure with everything in it that a failure can have. */
const FULL: Failure = {
  ...failure('approval_required', `Cannot continue: ${'é'.repeat(300)}`, {
    grantable_by: 'human:boss',
    requires: ['travel.book'],
    estimated_availability: 'PT5S',
  }),
  approval_request_id: `apr_${'0'.repeat(32)}`,
  preview_digest: `sha256:${'1'.repeat(64)}`,
  requested_parameters_digest: `sha256:${'2'.repeat(64)}`,
  grant_policy: { ...ONE_TIME, expires_in_seconds: 60 },
  clarify: [{ input: 'traveler', reason: 'ambiguous', candidates: ['Ann', 'Anna'] }],
};

describe('levelOf()', () => {
  test('uses the level of the class, and of default for an unknown class', () => {
    assert.equal(levelOf(LEVELS, 'internal'), 'full');
    assert.equal(levelOf(LEVELS, 'partner'), 'redacted');
    assert.equal(levelOf(LEVELS, 'stranger'), 'reduced');
  });

  test('does not find a class under an inherited property name', () => {
    assert.equal(levelOf(LEVELS, 'constructor'), 'reduced');
    assert.equal(levelOf(LEVELS, 'toString'), 'reduced');
  });

  test('is reduced when default is not configured', () => {
    assert.equal(levelOf({}, 'stranger'), 'reduced');
  });
});

describe('disclose()', () => {
  test('changes nothing at full', () => {
    assert.deepEqual(disclose(FULL, 'full'), FULL);
  });

  test('cuts the detail to 200 characters at reduced, between characters', () => {
    const { detail } = disclose(FULL, 'reduced');

    assert.equal([...detail].length, 200);
    assert.ok(FULL.detail.startsWith(detail));
    const emoji = disclose({ ...FULL, detail: '🛫'.repeat(201) }, 'reduced').detail;
    assert.equal(emoji, '🛫'.repeat(200));
    const exact = disclose({ ...FULL, detail: 'x'.repeat(200) }, 'reduced').detail;
    assert.equal(exact, 'x'.repeat(200));
  });

  test("at reduced names only the caller's own root principal", () => {
    assert.equal(disclose(FULL, 'reduced').resolution.grantable_by, undefined);
    assert.equal(disclose(FULL, 'reduced', 'human:x').resolution.grantable_by, undefined);
    const own = disclose(FULL, 'reduced', 'human:boss').resolution;
    assert.equal(own.grantable_by, 'human:boss');
  });

  test('at reduced keeps what the caller needs for the next step', () => {
    const { resolution, clarify } = disclose(FULL, 'reduced');

    assert.deepEqual(resolution.requires, ['travel.book']);
    assert.equal(resolution.estimated_availability, 'PT5S');
    assert.deepEqual(clarify, FULL.clarify);
  });

  test('at redacted keeps only the fields that a program acts on', () => {
    const disclosed = disclose(FULL, 'redacted', 'human:boss');

    assert.deepEqual(disclosed.resolution, {
      action: FULL.resolution.action,
      recovery_class: FULL.resolution.recovery_class,
    });
    assert.equal(disclosed.clarify, undefined);
    assert.doesNotMatch(JSON.stringify(disclosed), /human:boss|Ann|travel\.book|Cannot continue/);
  });

  for (const type of FailureType.options) {
    test(`keeps type, retry, action and recovery class of ${type} at every level`, () => {
      const found = failure(type, `Cannot do it: the secret of ${type}`);

      for (const level of ['full', 'reduced', 'redacted'] as const) {
        const disclosed = disclose(found, level);
        assert.equal(disclosed.type, type);
        assert.equal(disclosed.retry, found.retry);
        assert.equal(disclosed.resolution.action, found.resolution.action);
        assert.equal(disclosed.resolution.recovery_class, found.resolution.recovery_class);
      }
      const { detail } = disclose(found, 'redacted');
      assert.equal(detail, `Refused: ${GUIDANCE[type].when}`);
      assert.doesNotMatch(detail, /the secret of/);
    });
  }

  test('never removes the identifiers of an approval', () => {
    for (const level of ['full', 'reduced', 'redacted'] as const) {
      const disclosed = disclose(FULL, level);
      assert.equal(disclosed.approval_request_id, FULL.approval_request_id);
      assert.equal(disclosed.preview_digest, FULL.preview_digest);
      assert.equal(disclosed.requested_parameters_digest, FULL.requested_parameters_digest);
      assert.deepEqual(disclosed.grant_policy, FULL.grant_policy);
    }
  });

  test('does not change the failure it was given', () => {
    const before = structuredClone(FULL);

    disclose(FULL, 'reduced');
    disclose(FULL, 'redacted');

    assert.deepEqual(FULL, before);
  });
});
