import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { ApprovalStatus } from '../../protocol/approval.ts';
import {
  closedAs,
  completesQuorum,
  isStaleVote,
  misfitGrant,
  statusAt,
} from './approval-request.ts';

const NOW = new Date('2026-01-01T12:00:00.000Z');
const LATER = new Date(NOW.getTime() + 1);

const lifetimes: [status: ApprovalStatus, expires_at: Date, at: string, closed?: string][] = [
  ['pending', LATER, 'pending'],
  ['pending', NOW, 'expired', 'expired'],
  ['expired', LATER, 'expired', 'expired'],
  ['approved', NOW, 'approved', 'decided'],
  ['denied', LATER, 'denied', 'decided'],
];
for (const [status, expires_at, at, closed] of lifetimes) {
  const when = expires_at === NOW ? 'at its expiry' : 'before its expiry';
  test(`statusAt() and closedAs() of a ${status} request ${when}: ${at}, ${closed ?? 'open'}`, () => {
    assert.equal(statusAt({ status, expires_at }, NOW), at);
    assert.equal(closedAs({ status, expires_at }, NOW), closed);
  });
}

function request(votes: number, approvals_required: number) {
  const approvals = Array.from({ length: votes }, (_, place) => ({
    approver: `approver-${place}`,
  }));
  return { approval_request_id: 'request-1', approvals, approvals_required };
}

test('isStaleVote() is true when other votes were seen', () => {
  assert.equal(isStaleVote(request(1, 3), { approver: 'new', approvalsSeen: 1 }), false);
  assert.equal(isStaleVote(request(1, 3), { approver: 'new', approvalsSeen: 0 }), true);
  assert.equal(isStaleVote(request(1, 3), { approver: 'new', approvalsSeen: 2 }), true);
});

test('isStaleVote() is true when the approver voted already', () => {
  assert.equal(isStaleVote(request(2, 3), { approver: 'approver-1', approvalsSeen: 2 }), true);
});

const quorums: [votes: number, required: number, completes: boolean][] = [
  [0, 1, true],
  [0, 2, false],
  [1, 2, true],
  [2, 2, true],
];
for (const [votes, required, completes] of quorums) {
  test(`completesQuorum() is ${completes} with ${votes} of ${required} votes given`, () => {
    assert.equal(completesQuorum(request(votes, required)), completes);
  });
}

test('misfitGrant() wants a grant with the vote that completes the quorum, and with no other', () => {
  const grant = { approval_request_id: 'request-1' };

  assert.equal(misfitGrant(request(1, 2), grant), undefined);
  assert.equal(misfitGrant(request(0, 2), undefined), undefined);
  assert.equal(misfitGrant(request(1, 2), undefined), 'grant does not fit 2 of 2 approvals');
  assert.equal(misfitGrant(request(0, 2), grant), 'grant does not fit 1 of 2 approvals');
});

test('misfitGrant() refuses the grant of another request', () => {
  const grant = { approval_request_id: 'request-2' };

  assert.equal(misfitGrant(request(0, 1), grant), 'grant is for "request-2"');
});
