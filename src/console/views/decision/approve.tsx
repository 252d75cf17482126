/**
 * The second, deliberate step of an approval: what happens, each hidden character, and the passkey where the policy
 * requires one.
 *
 * Approving looks at the request once more: what is approved is what the person saw.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { decisionIdentity, faultsOf } from '../../../domain/decision/checks.ts';
import { hiddenTexts, namesWords } from '../../../domain/decision/claims.ts';
import { type HiddenField, hiddenWords } from '../../../domain/decision/hidden.ts';
import { termsWords } from '../../../domain/decision/terms.ts';
import {
  actOf,
  actText,
  confirmedValues,
  effectSentence,
  titleWords,
} from '../../../domain/decision/words.ts';
import { digestOf } from '../../../domain/wire/canonical.ts';
import type { GrantAnswer, GrantTerms } from '../../../protocol/approval.ts';
import type { Decision } from '../../../protocol/decision.ts';
import type { PasskeyProof } from '../../../protocol/passkey.ts';
import { ask } from '../../api.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { Chain, Code, Fact, Shown } from '../../parts/elements.tsx';
import { Icon } from '../../parts/icon.tsx';
import { type Loaded, useLoaded } from '../../parts/loaded.tsx';
import { Marked } from '../../parts/words.tsx';
import { type Signing, SigningFacts, signingOf } from './signing.tsx';

/** What the person saw when the dialog opened; approving compares with it. */
export interface Asked {
  readonly decision: Decision;
  readonly terms: GrantTerms;
}

interface ApproveProps {
  readonly asked: Asked;
  onClose(): void;
  onDone(answer: GrantAnswer): void;
}

/** Whether approving takes this step. */
export function needsStep(of: Decision): boolean {
  // Without the digest of its declaration, nothing shows that the side effect is the one that was declared.
  const isFinal =
    of.capability?.side_effect.type === 'irreversible' || !of.request.declaration_digest;
  return isFinal || of.passkey.is_required || hiddenTexts(of).length > 0;
}

export function ApproveDialog({ asked, onClose, onDone }: ApproveProps) {
  const { decision } = asked;
  const { request, capability, passkey } = decision;
  const texts = hiddenTexts(decision);
  const ticked = useSignal<ReadonlySet<number>>(new Set());
  const signing = useLoaded(
    async () => (passkey.is_required ? signingOf(request, asked.terms) : undefined),
    [request.approval_request_id],
  );
  const isFinal = capability?.side_effect.type === 'irreversible';
  return (
    <Confirm
      open
      look={isFinal ? 'final' : 'go'}
      isNear
      onClose={onClose}
      title={
        <span class={isFinal ? 'effect final' : 'effect'}>
          {isFinal ? <Icon name="irreversible" /> : null} <Marked of={titleWords(decision)} />.{' '}
          {effectSentence(decision)}
        </span>
      }
      confirm={confirmOf(decision)}
      blocked={blockedBy(signing, texts.length - ticked.value.size)}
      onConfirm={async () => {
        const proof = signing.state === 'ready' ? await signing.value?.sign() : undefined;
        onDone(await approve(asked, proof));
      }}
    >
      <Facts asked={asked} />
      {texts.map((text, index) => (
        <Tick
          // By index: two texts can have the same path, because a name can contain a dot.
          key={index}
          of={text}
          onTick={(isTicked) => {
            const rest = [...ticked.value].filter((each) => each !== index);
            ticked.value = new Set(isTicked ? [...rest, index] : rest);
          }}
        />
      ))}
      {passkey.is_required ? <SigningFacts of={signing} /> : null}
    </Confirm>
  );
}

/** How many approvals there are with this one. */
function numberOf({ request: { approvals, approvals_required } }: Decision) {
  const mine = approvals.length + 1;
  return { mine, missing: approvals_required - mine };
}

/** The act, where this approval lets it happen. */
function confirmOf(of: Decision): string {
  const { missing } = numberOf(of);
  if (!of.passkey.is_required)
    return missing > 0 ? `Approve ${actOf(of)}` : `Approve and ${actText(of)}`;
  return `Sign and ${missing > 0 ? `approve ${actOf(of)}` : actText(of)}`;
}

/** What is confirmed, in the order of the page. */
function Facts({ asked: { decision, terms } }: { readonly asked: Asked }) {
  const { chain, request, viewer } = decision;
  const hands = chain.map(({ principal }) => principal).reverse();
  const { mine, missing } = numberOf(decision);
  const others = namesWords(
    request.approvals.map(({ approver }) => approver),
    viewer.principal,
  );
  return (
    <dl class="facts">
      {confirmedValues(decision).map(({ label, words }, at) => (
        <Fact key={at} term={<Marked of={label} />} is={<Marked of={words} />} />
      ))}
      <Fact term="Asked by">
        <Chain of={hands.length > 0 ? hands : [request.requester.subject]} />
      </Fact>
      <Fact term="Terms" is={termsWords(decision, terms)} />
      <Fact term="Approvals">
        {others === '' ? null : (
          <>
            <Shown text={others} /> approved.{' '}
          </>
        )}
        Yours is{' '}
        {request.approvals_required === 1
          ? 'the only one'
          : `${mine} of ${request.approvals_required}`}
        {missing > 0 ? `, ${missing} more must follow.` : ': the agent can act at once.'}
      </Fact>
    </dl>
  );
}

interface TickProps {
  readonly of: HiddenField;
  onTick(isTicked: boolean): void;
}

function Tick({ of: { path, text, hidden }, onTick }: TickProps) {
  return (
    <label class="opt">
      <input type="checkbox" onChange={({ currentTarget }) => onTick(currentTarget.checked)} />
      <span>
        I read <Code text={path} /> with its hidden characters: <Code text={JSON.stringify(text)} />
        <br />
        <small>{hiddenWords(hidden)}</small>
      </span>
    </label>
  );
}

/** Why there is no button that approves. */
function blockedBy(signing: Loaded<Signing | undefined>, unticked: number): string | undefined {
  if (signing.state === 'loading') return 'Loading what you sign…';
  if (signing.state === 'failed')
    return 'You cannot approve: what your passkey signs did not load.';
  if (unticked > 0) return 'Tick each text with hidden characters. Then you can approve.';
  return undefined;
}

/** Looks at the request once more: what is approved must be what the person saw. */
export async function approve(
  { decision, terms }: Asked,
  passkey: PasskeyProof | undefined,
): Promise<GrantAnswer> {
  const { approval_request_id } = decision.request;
  const fresh = await ask('decision', { approval_request_id });
  if (decisionIdentity(fresh) !== decisionIdentity(decision)) {
    throw new Error(
      'Cannot approve: the request changed while you read it; go back and read it again',
    );
  }
  const [fault] = faultsOf(fresh);
  if (fault !== undefined) throw new Error(`Cannot approve: ${fault}`);
  const fixed = fresh.request.terms ?? undefined;
  if (fixed && digestOf(fixed) !== digestOf(terms)) {
    throw new Error('Cannot approve: another approver chose other terms; go back and read them');
  }
  const request = { approval_request_id, ...terms, passkey };
  return ask('approval_grants.issue', request);
}
