/**
 * The bar of a decision: what can be done now, or why nothing can.
 *
 * There is a button to approve only when every part is loaded and shown, and nothing speaks against the request.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useContext, useId, useState } from 'preact/hooks';
import { hiddenTexts } from '../../../domain/decision/claims.ts';
import { PARTS } from '../../../domain/decision/facts.ts';
import type { Words } from '../../../domain/decision/pieces.ts';
import { standingWords, waitingWords } from '../../../domain/decision/standing.ts';
import { countOf, personOf } from '../../../domain/decision/values.ts';
import { actOf, titleWords } from '../../../domain/decision/words.ts';
import type { GrantAnswer, GrantTerms } from '../../../protocol/approval.ts';
import type { Decision } from '../../../protocol/decision.ts';
import { ask, loadMe, me, now, pulse } from '../../api.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { Left, Shown } from '../../parts/elements.tsx';
import { Icon } from '../../parts/icon.tsx';
import { whyOf } from '../../parts/loaded.tsx';
import { Marked } from '../../parts/words.tsx';
import { hrefOf } from '../../router.ts';
import { AddDialog } from '../passkeys/add.tsx';
import { ApproveDialog, type Asked, approve, needsStep } from './approve.tsx';
import { PART_WORDS, ShownParts } from './part.tsx';
import { signingOf } from './signing.tsx';

interface BarProps {
  readonly of: Decision;
  readonly terms: GrantTerms;
  /** Beyond the parts of the page. */
  readonly faults: readonly string[];
  again(): void;
}

export function Bar(props: BarProps) {
  const [granted, setGranted] = useState<GrantAnswer>();
  const done = (answer: GrantAnswer | undefined) => {
    setGranted(answer);
    props.again();
  };
  const standing = standingWords(props.of, now.value);
  if (standing.length > 0) return <Message of={standing} />;
  // The next answer of the service will say the same.
  if (granted) return <Message of={waitingWords(props.of)} />;
  return <Open {...props} onDone={done} />;
}

interface OpenProps extends BarProps {
  onDone(answer: GrantAnswer | undefined): void;
}

function Open({ of, terms, faults, again, onDone }: OpenProps) {
  const [step, setStep] = useState<'deny' | 'add' | Asked>();
  const why = useSignal<string | undefined>(undefined);
  const isBusy = useSignal(false);
  const close = () => setStep(undefined);
  const start = async () => {
    const asked = { decision: of, terms };
    if (needsStep(of)) {
      setStep(asked);
      return;
    }
    if (isBusy.value) return;
    isBusy.value = true;
    try {
      onDone(await approve(asked, undefined));
    } catch (error) {
      why.value = whyOf(error);
    } finally {
      isBusy.value = false;
    }
  };
  const deny = (
    <button type="button" onClick={() => setStep('deny')}>
      Deny…
    </button>
  );
  return (
    <>
      <Choice
        of={of}
        faults={faults}
        again={again}
        why={why.value}
        deny={deny}
        start={start}
        add={() => setStep('add')}
      />
      {step === 'deny' ? (
        <DenyDialog decision={of} onClose={close} onDone={() => onDone(undefined)} />
      ) : null}
      {step === 'add' ? (
        <AddDialog
          isNear
          keys={me.value?.passkeys ?? []}
          onClose={close}
          changed={async () => {
            await loadMe();
            again();
          }}
        />
      ) : null}
      {typeof step === 'object' ? (
        <ApproveDialog asked={step} onClose={close} onDone={onDone} />
      ) : null}
    </>
  );
}

interface ChoiceProps extends Omit<BarProps, 'terms'> {
  /** Why the last try did not succeed. */
  readonly why: string | undefined;
  readonly deny: ComponentChildren;
  start(): void;
  /** Opens the dialog that adds a passkey. */
  add(): void;
}

function Choice({ of, faults, again, why, deny, start, add }: ChoiceProps) {
  const shown = useContext(ShownParts)?.value ?? new Set();
  const missing = PARTS.filter((name) => !shown.has(name));
  const against = [
    ...faults,
    ...missing.map((name) => `${PART_WORDS[name]} could not be shown completely.`),
  ];
  const lacksKey = of.passkey.is_required && of.passkey.usable.length === 0;
  if (against.length > 0) {
    return (
      <div class="decide" role="alert">
        <p>
          <b class="bad">
            <Icon name="cross" /> You cannot approve.
          </b>{' '}
          {against.join(' ')} {PARTS.length - missing.length} of {PARTS.length} parts are shown.
        </p>
        <div class="row">
          {lacksKey ? (
            <button type="button" class="act" onClick={add}>
              Add a passkey…
            </button>
          ) : null}
          {deny}
          {lacksKey ? null : (
            <button type="button" class="act" onClick={again}>
              Load it again
            </button>
          )}
        </div>
      </div>
    );
  }
  const hidden = hiddenTexts(of).reduce((sum, text) => sum + text.hidden.length, 0);
  return (
    <section class="decide" aria-label="Decide">
      <div class="small">
        {hidden > 0 ? (
          <span class="warn">
            <Icon name="warning" /> {countOf(hidden, 'hidden character')}: read the exact text.
          </span>
        ) : (
          <span class="good">
            <Icon name="check" /> All {PARTS.length} parts are shown.
          </span>
        )}{' '}
        <Icon name="clock" /> <Left until={of.request.expires_at} />
        <div role="alert">{why === undefined ? null : <Shown text={why} />}</div>
      </div>
      <div class="row">
        {deny}
        <button type="button" class="act" onClick={start}>
          Approve {actOf(of)}
          {needsStep(of) ? '…' : ''}
        </button>
      </div>
    </section>
  );
}

function Message({ of }: { readonly of: Words }) {
  const pending = pulse.value?.pending ?? 0;
  return (
    <div class="decide" role="alert">
      <p>
        <Marked of={of} />
      </p>
      <div class="row">
        <a class="button" href={hrefOf('approvals')}>
          {pending > 0 ? `Back to ${pending} pending` : 'Back to all requests'}
        </a>
      </div>
    </div>
  );
}

interface DenyProps {
  readonly decision: Decision;
  onClose(): void;
  onDone(): void;
}

/** Denies a request, with a reason that the requester reads. */
function DenyDialog({ decision, onClose, onDone }: DenyProps) {
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
      look="no"
      isNear
      onClose={onClose}
      title={
        <>
          Deny: <Marked of={titleWords(decision)} />
        </>
      }
      confirm={`Deny ${actOf(decision)}`}
      onConfirm={deny}
    >
      <p class="field">
        <label for={field}>Reason</label>
        <small id={`${field}-hint`}>
          <Shown text={personOf(request.requester.subject)} /> and{' '}
          <Shown text={personOf(request.requester.root_principal)} /> read it. It stays in the log.
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
      <p class="small">
        Nothing happens. The request ends for all approvers, and the same call is refused until{' '}
        <Marked of={[{ at: request.expires_at }]} />.
      </p>
    </Confirm>
  );
}
