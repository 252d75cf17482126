/**
 * How an invocation was approved: the request, each decision, and the grant.
 *
 * @module
 */

import { spanWords } from '../../../domain/values/time-words.ts';
import type { ApprovalRequest } from '../../../protocol/approval.ts';
import type { AuditEntry } from '../../../protocol/audit.ts';
import type { Invocation } from '../../../protocol/console/views.ts';
import { Ago, Fact, Left, Person, Pill, Shown } from '../../parts/elements.tsx';
import { hrefOf } from '../../router.ts';
import { counted } from '../counted.ts';

interface ApprovalSection {
  readonly of: Invocation;
  readonly call: AuditEntry;
}

export function ApprovalOf({ of: { request }, call }: ApprovalSection) {
  const requestId = request?.approval_request_id ?? call.approval_request_id;
  const grantId = call.approval_grant_id ?? request?.grant_id ?? null;
  return (
    <section aria-labelledby="h-approval">
      <h2 id="h-approval">Approval</h2>
      {requestId === null && grantId === null ? (
        <p>The call asked for no approval.</p>
      ) : (
        <dl class="facts">
          {requestId === null ? null : <RequestFact id={requestId} request={request} />}
          {request ? <Decisions of={request} /> : null}
          {grantId === null ? null : <GrantFact id={grantId} request={request} />}
        </dl>
      )}
    </section>
  );
}

const STATES = {
  pending: ['warn', 'Waits'],
  approved: ['good', 'Approved'],
  denied: ['danger', 'Denied'],
  expired: ['off', 'Expired'],
} as const satisfies Record<ApprovalRequest['status'], readonly [string, string]>;

function RequestFact({ id, request }: { id: string; request: ApprovalRequest | null }) {
  return (
    <Fact term="Request">
      <a href={hrefOf('approvals', id)}>
        <code>{id}</code>
      </a>{' '}
      {request ? (
        <>
          <Pill state={STATES[request.status][0]}>{STATES[request.status][1]}</Pill>{' '}
          {request.status === 'pending' ? <Left until={request.expires_at} /> : null}
        </>
      ) : (
        <small>Its approvers can see it.</small>
      )}
    </Fact>
  );
}

function Decisions({ of }: { readonly of: ApprovalRequest }) {
  const { approvals, approvals_required, decided_by, decided_at, reason, status } = of;
  return (
    <Fact term="Signed">
      {approvals.length} of {counted(approvals_required, 'approval')}
      <ul>
        {approvals.map(({ approver, approved_at }) => (
          <li key={approver}>
            <Person of={approver} /> approved <Ago at={approved_at} />
          </li>
        ))}
        {status === 'denied' && decided_by !== null ? (
          <li>
            <Person of={decided_by} /> denied it{' '}
            {decided_at === null ? null : <Ago at={decided_at} />}
            {reason === null ? null : ': '}
            {reason === null ? null : (
              <q>
                <Shown text={reason} />
              </q>
            )}
          </li>
        ) : null}
      </ul>
    </Fact>
  );
}

function GrantFact({ id, request }: { id: string; request: ApprovalRequest | null }) {
  const terms = request?.terms;
  return (
    <Fact term="Grant">
      <code>{id}</code>{' '}
      {terms ? (
        <small>
          {terms.grant_type === 'one_time' ? 'for one call' : 'for one session'},{' '}
          {counted(terms.max_uses, 'use')}, within {spanWords(terms.expires_in_seconds * 1_000)}
        </small>
      ) : null}
    </Fact>
  );
}
