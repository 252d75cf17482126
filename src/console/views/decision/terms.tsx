/**
 * The terms of an approval, within the policy, and who signed them.
 *
 * The first approver chooses; the others approve exactly these or none.
 *
 * @module
 */

import { useId } from 'preact/hooks';
import type { ApprovalRequest, GrantTerms } from '../../../protocol/approval.ts';
import type { Decision, Vote } from '../../../protocol/console/views.ts';
import type { GrantType } from '../../../protocol/failure.ts';
import { isMe } from '../../me.ts';
import { personOf } from '../../parts/name.tsx';
import { Pill } from '../../parts/pill.tsx';
import { Shown } from '../../parts/shown.tsx';
import { Ago } from '../../parts/time.tsx';
import { lifetimeWords } from './claims.ts';
import { Part } from './part.tsx';

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

/** "This call, once, within 15 min of the last signature". */
export function termsWords(terms: GrantTerms): string {
  const { grant_type, expires_in_seconds, max_uses } = terms;
  const uses = max_uses === 1 ? 'once' : `up to ${max_uses} times`;
  const where = grant_type === 'session_bound' ? ', in the session of the agent only' : '';
  return `This call with these parameters, ${uses}${where}, within ${lifetimeWords(expires_in_seconds)} of the last approval`;
}

interface TermsOf {
  readonly of: Decision;
  readonly terms: GrantTerms;
  /** Absent where the person cannot choose. */
  readonly choose: ((terms: GrantTerms) => void) | undefined;
}

export function Terms({ of, terms, choose }: TermsOf) {
  const { request, votes } = of;
  const { approvals, approvals_required } = request;
  const isFixed = request.terms !== null && request.terms !== undefined;
  const signed = `${approvals.length} of ${approvals_required} approved`;
  return (
    <Part
      name="terms"
      title="Terms and approvals"
      aside={<Pill state={approvals.length === 0 ? 'off' : 'act'}>{signed}</Pill>}
      expects={{ selector: 'dl.votes > dt', count: Math.max(votes.length, approvals.length) }}
    >
      <p>
        <b>{termsWords(terms)}.</b>{' '}
        {isFixed
          ? 'The first approver chose these terms. You approve exactly these or none.'
          : null}
      </p>
      {choose && !isFixed ? <Editor request={request} terms={terms} choose={choose} /> : null}
      {approvals.length === 0 ? <p class="small muted">No approver has approved it yet.</p> : null}
      <dl class="facts wide votes">
        {votes.map((vote) => (
          <VoteRow key={vote.approver} of={vote} />
        ))}
      </dl>
    </Part>
  );
}

function VoteRow({ of: { approver, approved_at, passkey } }: { readonly of: Vote }) {
  return (
    <>
      <dt>
        <Shown text={isMe(approver) ? 'You' : personOf(approver)} />
      </dt>
      <dd>
        <span class="good">✓ Approved</span>{' '}
        {passkey === null ? null : (
          <>
            with the passkey{' '}
            <q>
              <Shown text={passkey} />
            </q>{' '}
          </>
        )}
        <Ago at={approved_at} />
      </dd>
    </>
  );
}

interface EditorOf {
  readonly request: ApprovalRequest;
  readonly terms: GrantTerms;
  choose(terms: GrantTerms): void;
}

/** In seconds: what the list offers below the longest of the policy. */
const LIFETIMES = [60, 300, 900, 3_600, 14_400, 86_400, 604_800];

function Editor({ request, terms, choose }: EditorOf) {
  const { grant_policy } = request;
  const longest = grant_policy.expires_in_seconds;
  const lifetimes = [...LIFETIMES.filter((each) => each < longest), longest];
  const change = (part: Partial<GrantTerms>) => choose({ ...terms, ...part });
  return (
    <div class="fields">
      <TypeField request={request} terms={terms} choose={choose} />
      <Field label="Until">
        {(id) => (
          <select
            id={id}
            value={String(terms.expires_in_seconds)}
            onChange={({ currentTarget }) =>
              change({ expires_in_seconds: Number(currentTarget.value) })
            }
          >
            {lifetimes.map((seconds) => (
              <option key={seconds} value={String(seconds)}>
                {lifetimeWords(seconds)} after approval
              </option>
            ))}
          </select>
        )}
      </Field>
      {terms.grant_type === 'session_bound' && grant_policy.max_uses > 1 ? (
        <Field label="Uses">
          {(id) => (
            <input
              id={id}
              type="number"
              class="amount"
              min={1}
              max={grant_policy.max_uses}
              value={terms.max_uses}
              onChange={({ currentTarget }) =>
                change({ max_uses: bounded(currentTarget.valueAsNumber, grant_policy.max_uses) })
              }
            />
          )}
        </Field>
      ) : null}
    </div>
  );
}

function TypeField({ request, terms, choose }: EditorOf) {
  const { grant_policy, session_id = null } = request;
  const usable = grant_policy.allowed_grant_types.filter(
    (type) => type === 'one_time' || session_id !== null,
  );
  if (usable.length < 2) return null;
  const chooseType = (grant_type: GrantType) => {
    const isBound = grant_type === 'session_bound';
    choose({ ...terms, grant_type, session_id: isBound ? session_id : null, max_uses: 1 });
  };
  return (
    <Field label="For">
      {(id) => (
        <select
          id={id}
          value={terms.grant_type}
          onChange={({ currentTarget }) => chooseType(currentTarget.value as GrantType)}
        >
          <option value="one_time">This call, once</option>
          <option value="session_bound">The same call in this session</option>
        </select>
      )}
    </Field>
  );
}

interface FieldOf {
  readonly label: string;
  children(id: string): preact.ComponentChildren;
}

function Field({ label, children }: FieldOf) {
  const id = useId();
  return (
    <p class="field">
      <label for={id}>{label}</label>
      {children(id)}
    </p>
  );
}

function bounded(uses: number, most: number): number {
  return Number.isNaN(uses) ? 1 : Math.min(most, Math.max(1, Math.floor(uses)));
}
