/**
 * Denies a request, with a reason that the requester reads.
 *
 * @module
 */

import { useId } from 'preact/hooks';
import { personOf } from '../../../domain/decision/values.ts';
import { actOf } from '../../../domain/decision/words.ts';
import type { Decision } from '../../../protocol/decision.ts';
import { ask } from '../../api.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { Shown } from '../../parts/foreign-text.tsx';
import { signingOf } from './signing.tsx';

interface DenyProps {
  readonly decision: Decision;
  onClose(): void;
  onDone(): void;
}

export function DenyDialog({ decision, onClose, onDone }: DenyProps) {
  const { request, passkey } = decision;
  const field = useId();
  const deny = async (form: FormData) => {
    const { approval_request_id } = request;
    const signing = form.has('signed') ? await signingOf(request, null) : undefined;
    const proof = await signing?.sign();
    const reason = String(form.get('reason'));
    await ask('approval_requests.deny', { approval_request_id, reason, passkey: proof });
    onDone();
  };
  return (
    <Confirm
      open
      onClose={onClose}
      title={`Deny ${actOf(decision)}`}
      confirm={`Deny ${actOf(decision)}`}
      onConfirm={deny}
    >
      <p class="field">
        <label for={field}>Reason</label>
        <small id={`${field}-hint`}>
          <Shown text={personOf(request.requester.subject)} /> and{' '}
          <Shown text={personOf(request.requester.root_principal)} /> can read it. It enters the
          log.
        </small>
        <textarea
          id={field}
          name="reason"
          rows={3}
          required
          maxLength={1000}
          aria-describedby={`${field}-hint`}
        />
      </p>
      {passkey.usable.length > 0 ? (
        <label class="opt">
          <input type="checkbox" name="signed" defaultChecked={passkey.is_required} />
          <span>Sign the denial with a passkey</span>
        </label>
      ) : null}
      <p class="small">The request ends for all approvers. The same call is refused for a while.</p>
    </Confirm>
  );
}
