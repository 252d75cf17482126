/**
 * Chooses the terms of an approval, within the policy. The first approver chooses; the others approve exactly
 * these or none.
 *
 * @module
 */

import { useId } from 'preact/hooks';
import { lifetimeWords } from '../../../domain/decision/claims.ts';
import type { ApprovalRequest, GrantTerms } from '../../../protocol/approval.ts';
import type { GrantType } from '../../../protocol/failure.ts';

interface EditorProps {
  readonly request: ApprovalRequest;
  readonly terms: GrantTerms;
  choose(terms: GrantTerms): void;
}

/** In seconds: what the list offers below the longest of the policy. */
const LIFETIMES = [60, 300, 900, 3_600, 14_400, 86_400, 604_800];

export function TermsEditor({ request, terms, choose }: EditorProps) {
  const { grant_policy } = request;
  const longest = grant_policy.expires_in_seconds;
  const lifetimes = [...LIFETIMES.filter((each) => each < longest), longest];
  const change = (part: Partial<GrantTerms>) => choose({ ...terms, ...part });
  return (
    <div class="stack">
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
              // What is typed stays when the page loads again before the field is left.
              onInput={({ currentTarget: { valueAsNumber: uses } }) => {
                if (uses === bounded(uses, grant_policy.max_uses)) change({ max_uses: uses });
              }}
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

function TypeField({ request, terms, choose }: EditorProps) {
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

interface FieldProps {
  readonly label: string;
  children(id: string): preact.ComponentChildren;
}

function Field({ label, children }: FieldProps) {
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
