/**
 * Why a request cannot be decided any more, or not by this person.
 *
 * @module
 */

import type { Decision } from '../../protocol/decision.ts';
import { grantEnd, namesWords } from './claims.ts';
import { marked, type Words } from './pieces.ts';
import { personOf } from './values.ts';

/** Empty where the person can decide the request now. */
export function standingWords(of: Decision, nowMs: number): Words {
  const { request, viewer } = of;
  if (request.status === 'expired') return expiredWords(of);
  if (request.status !== 'pending') return decidedWords(of, nowMs);
  if (Date.parse(request.expires_at) <= nowMs) return expiredWords(of);
  if (viewer.has_approved) return waitingWords(of);
  if (viewer.may_decide) return [];
  return [
    marked('b', 'You cannot decide this request.'),
    ' ',
    ...(viewer.why === null ? [] : [{ shown: viewer.why }]),
  ];
}

function decidedWords({ request, viewer }: Decision, nowMs: number): Words {
  const { status, decided_by, decided_at, reason, requester } = request;
  const isApproved = status === 'approved';
  const names = isApproved ? request.approvals.map(({ approver }) => approver) : [decided_by ?? ''];
  return [
    marked(
      'b',
      [
        isApproved ? '✓ Approved' : 'Denied',
        ' by ',
        { shown: namesWords(names, viewer.principal) },
        ...(decided_at === null ? [] : [', ', { at: decided_at }]),
        '.',
      ],
      isApproved ? 'good' : undefined,
    ),
    ' ',
    ...(reason === null ? [] : ['Reason: ', marked('q', [{ shown: reason }]), ' ']),
    ...(isApproved
      ? [
          'The approval of ',
          { shown: personOf(requester.subject) },
          ' ',
          ...approvalWords(request, nowMs),
          '.',
        ]
      : []),
  ];
}

/** Whether it was used is not known here. */
function approvalWords(request: Decision['request'], nowMs: number): Words {
  const end = grantEnd(request);
  if (end === undefined) return ['has a time limit'];
  const until = { at: new Date(end).toISOString() };
  return [end > nowMs ? 'can be used until ' : 'could be used until ', until];
}

function expiredWords({ request }: Decision): Words {
  return [
    marked('b', ['This request expired at ', { at: request.expires_at }, '. Nothing was done.']),
    ' ',
    { shown: personOf(request.requester.subject) },
    ' can ask again.',
  ];
}

export function waitingWords({ request }: Decision): Words {
  const { approvals, approvals_required, requester } = request;
  const missing = Math.max(1, approvals_required - approvals.length);
  return [
    marked('b', '✓ You approved it.', 'good'),
    ` ${missing === 1 ? '1 more person has' : `${missing} more people have`} to approve these terms before `,
    { shown: personOf(requester.subject) },
    ' can act.',
  ];
}
