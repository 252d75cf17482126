/**
 * The terms of an approval in words, and those that stand before an approver chooses others.
 *
 * @module
 */

import type { ApprovalRequest, GrantTerms } from '../../protocol/approval.ts';
import type { Decision } from '../../protocol/decision.ts';
import { lifetimeWords } from './claims.ts';
import { marked, type PartFacts } from './pieces.ts';
import { personOf } from './values.ts';

/** The terms that another approver proposed, otherwise the least that the policy offers by default. */
export function firstTerms({ grant_policy, session_id, terms }: ApprovalRequest): GrantTerms {
  if (terms) return terms;
  const { default_grant_type, allowed_grant_types, expires_in_seconds } = grant_policy;
  const hasSession = session_id !== undefined && session_id !== null;
  const fallback = allowed_grant_types.find((type) => type === 'one_time') ?? default_grant_type;
  const grant_type =
    default_grant_type === 'session_bound' && !hasSession ? fallback : default_grant_type;
  return {
    grant_type,
    session_id: grant_type === 'session_bound' ? (session_id ?? null) : null,
    expires_in_seconds,
    max_uses: 1,
  };
}

/** "This call, once, within 15 min after you approve". */
export function termsWords({ request, viewer }: Decision, terms: GrantTerms): string {
  const { grant_type, expires_in_seconds, max_uses } = terms;
  const isAlone = request.approvals_required === 1;
  const by =
    viewer.may_decide && request.status === 'pending' ? 'after you approve' : 'after the approval';
  const uses = max_uses === 1 ? 'once' : `up to ${max_uses} times`;
  const where = grant_type === 'session_bound' ? ', in the session of the agent only' : '';
  const from = isAlone ? by : 'after the last approval';
  return `Exactly this call, ${uses}${where}, within ${lifetimeWords(expires_in_seconds)} ${from}`;
}

/** The facts are the approvals so far. */
export function termsPart(of: Decision, terms: GrantTerms): PartFacts {
  const { request, votes, viewer } = of;
  const { approvals, approvals_required } = request;
  const isChosen = request.terms !== null && request.terms !== undefined;
  const isFixed = isChosen && approvals.length < approvals_required;
  const look = approvals.length === 0 ? 'pill off' : 'pill act';
  return {
    title: ['Terms'],
    aside: [marked('span', `${approvals.length} of ${approvals_required} approved`, look)],
    lead: [
      marked('p', [
        `${termsWords(of, terms)}.`,
        isFixed ? ' The first approver chose these terms. You approve exactly these or none.' : '',
      ]),
    ],
    facts: votes.map(({ approver, approved_at, passkey }) => ({
      label: [{ shown: approver === viewer.principal ? 'You' : personOf(approver) }],
      words: [
        marked('span', '✓ Approved', 'good'),
        ' ',
        ...(passkey === null ? [] : ['with the passkey ', marked('q', [{ shown: passkey }]), ' ']),
        { ago: approved_at },
      ],
    })),
  };
}
