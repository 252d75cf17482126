/**
 * The bar of a decision: what can be done now, or why nothing can.
 *
 * There is a button to approve only when every part is loaded and shown, and nothing speaks against the request.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import type { GrantAnswer, GrantTerms } from '../../../protocol/approval.ts';
import type { Decision } from '../../../protocol/console/views.ts';
import { now, pulse } from '../../live.ts';
import { isMe } from '../../me.ts';
import { whyOf } from '../../parts/loaded.tsx';
import { personOf } from '../../parts/name.tsx';
import { Shown } from '../../parts/shown.tsx';
import { Left, shortOf } from '../../parts/time.tsx';
import { hrefOf } from '../../router.ts';
import { ApproveDialog, type Asked, approve, needsStep } from './approve.tsx';
import { grantEnd } from './claims.ts';
import { DenyDialog } from './deny.tsx';
import { PART_WORDS, PARTS, ShownParts } from './part.tsx';
import { actOf } from './words.tsx';

interface BarOf {
  readonly of: Decision;
  readonly terms: GrantTerms;
  /** Beyond the parts of the page. */
  readonly faults: readonly string[];
  again(): void;
}

export function Bar(props: BarOf) {
  const { request, viewer } = props.of;
  const granted = useSignal<GrantAnswer | undefined>(undefined);
  const done = (answer: GrantAnswer | undefined) => {
    granted.value = answer;
    props.again();
  };
  if (request.status !== 'pending') return <Decided of={props.of} />;
  if (Date.parse(request.expires_at) <= now.value) return <Expired request={request} />;
  if (viewer.has_approved || granted.value) return <Waiting of={props.of} />;
  if (!viewer.may_decide) return <NotYours of={props.of} />;
  return <Open {...props} onDone={done} />;
}

interface OpenOf extends BarOf {
  onDone(answer: GrantAnswer | undefined): void;
}

function Open({ of, terms, faults, again, onDone }: OpenOf) {
  const step = useSignal<'deny' | Asked | undefined>(undefined);
  const why = useSignal<string | undefined>(undefined);
  const isBusy = useSignal(false);
  const close = () => {
    step.value = undefined;
  };
  const start = async () => {
    const asked = { decision: of, terms };
    if (needsStep(of)) {
      step.value = asked;
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
    <button
      type="button"
      onClick={() => {
        step.value = 'deny';
      }}
    >
      Deny…
    </button>
  );
  return (
    <>
      <Choice of={of} faults={faults} again={again} why={why.value} deny={deny} start={start} />
      {step.value === 'deny' ? (
        <DenyDialog decision={of} onClose={close} onDone={() => onDone(undefined)} />
      ) : null}
      {typeof step.value === 'object' ? (
        <ApproveDialog asked={step.value} onClose={close} onDone={onDone} />
      ) : null}
    </>
  );
}

interface ChoiceOf extends Omit<BarOf, 'terms'> {
  /** Why the last try did not succeed. */
  readonly why: string | undefined;
  readonly deny: ComponentChildren;
  start(): void;
}

function Choice({ of, faults, again, why, deny, start }: ChoiceOf) {
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
          <b class="bad">✕ You cannot approve.</b> {against.join(' ')}{' '}
          {lacksKey ? <a href={hrefOf('passkeys')}>Add a passkey.</a> : null}{' '}
          {PARTS.length - missing.length} of {PARTS.length} parts are shown.
        </p>
        <div class="row">
          {deny}
          <button type="button" class="act" onClick={again}>
            Load it again
          </button>
        </div>
      </div>
    );
  }
  const label = of.passkey.is_required ? 'Approve with passkey' : `Approve ${actOf(of)}`;
  return (
    <section class="decide" aria-label="Decide">
      <div class="small">
        <span class="good">✓ All {PARTS.length} parts are loaded and shown.</span>{' '}
        <Left until={of.request.expires_at} />
        <div role="alert">{why === undefined ? null : <Shown text={why} />}</div>
      </div>
      <div class="row">
        {deny}
        <button type="button" class="act" onClick={start}>
          {label}
          {needsStep(of) ? '…' : ''}
        </button>
      </div>
    </section>
  );
}

function Message({ children }: { readonly children: ComponentChildren }) {
  const pending = pulse.value?.pending ?? 0;
  return (
    <div class="decide" role="alert">
      <p>{children}</p>
      <div class="row">
        <a class="button" href={hrefOf('approvals')}>
          {pending > 0 ? `Back to ${pending} pending` : 'Back to all requests'}
        </a>
      </div>
    </div>
  );
}

function Decided({ of: { request } }: { readonly of: Decision }) {
  const { status, decided_by, decided_at, reason, requester } = request;
  if (status === 'expired') return <Expired request={request} />;
  const names =
    status === 'approved' ? request.approvals.map(({ approver }) => approver) : [decided_by ?? ''];
  const by = names.map((name) => (isMe(name) ? 'you' : personOf(name))).join(' and ');
  const when = decided_at === null ? '' : `, ${shortOf(decided_at, now.value)}`;
  return (
    <Message>
      <b class={status === 'approved' ? 'good' : undefined}>
        {status === 'approved' ? '✓ Approved' : 'Denied'} by <Shown text={by} />
        {when}.
      </b>{' '}
      {reason === null ? null : (
        <>
          Reason:{' '}
          <q>
            <Shown text={reason} />
          </q>{' '}
        </>
      )}
      {status === 'approved' ? (
        <>
          The approval of <Shown text={personOf(requester.subject)} /> {approvalWords(request)}.
        </>
      ) : null}
    </Message>
  );
}

/** Whether it was used, the page does not know. */
function approvalWords(request: Decision['request']): string {
  const end = grantEnd(request);
  if (end === undefined) return 'has a time limit';
  const until = shortOf(new Date(end).toISOString(), now.value);
  return end > now.value ? `can be used until ${until}` : `could be used until ${until}`;
}

function Expired({ request }: { readonly request: Decision['request'] }) {
  return (
    <Message>
      <b>This request expired at {shortOf(request.expires_at, now.value)}. Nothing was done.</b>{' '}
      <Shown text={personOf(request.requester.subject)} /> can ask again.
    </Message>
  );
}

function Waiting({ of: { request } }: { readonly of: Decision }) {
  const { approvals, approvals_required } = request;
  const missing = Math.max(1, approvals_required - approvals.length);
  return (
    <Message>
      <b class="good">✓ You approved it.</b>{' '}
      {missing === 1 ? '1 more person has' : `${missing} more people have`} to approve these terms
      before <Shown text={personOf(request.requester.subject)} /> can act.
    </Message>
  );
}

function NotYours({ of: { viewer } }: { readonly of: Decision }) {
  return (
    <Message>
      <b>You cannot decide this request.</b>{' '}
      {viewer.why === null ? null : <Shown text={viewer.why} />}
    </Message>
  );
}
