/**
 * The second, deliberate step of an approval: what happens, each hidden character, and the passkey where the policy
 * requires one.
 *
 * The page computes the digest that the passkey signs from what it shows. A service that asks for a signature over
 * anything else gets none.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { effectOf } from '../../../domain/sign-in/consent-words.ts';
import { toBase64url } from '../../../domain/wire/base64.ts';
import { digestOf } from '../../../domain/wire/canonical.ts';
import { fromHex } from '../../../domain/wire/hash.ts';
import type { GrantAnswer, GrantTerms } from '../../../protocol/approval.ts';
import type { Challenge, Decision } from '../../../protocol/console/views.ts';
import type { InputOf } from '../../../protocol/operations.ts';
import { ask } from '../../api.ts';
import { Chain } from '../../parts/chain.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { Copy, Hash } from '../../parts/hash.tsx';
import { Failed, type Loaded, Loading, useLoaded } from '../../parts/loaded.tsx';
import { Shown } from '../../parts/shown.tsx';
import { type HiddenField, hiddenFields, hiddenWords } from '../../parts/value.tsx';
import { signWithPasskey } from '../passkeys/browser.ts';
import { decisionPayload, identityOf } from './checks.ts';
import { termsWords } from './terms.tsx';
import { actOf, effectSentence, Question } from './words.tsx';

/** What the person saw when the dialog opened; approving compares with it. */
export interface Asked {
  readonly decision: Decision;
  readonly terms: GrantTerms;
}

interface ApproveOf {
  readonly asked: Asked;
  onClose(): void;
  onDone(answer: GrantAnswer): void;
}

/** Whether approving takes this step. */
export function needsStep({ capability, passkey, request }: Decision): boolean {
  const isFinal = capability?.side_effect.type === 'irreversible';
  return isFinal || passkey.is_required || hiddenTexts(request).length > 0;
}

export function ApproveDialog({ asked, onClose, onDone }: ApproveOf) {
  const { decision } = asked;
  const { request, capability, passkey } = decision;
  const texts = hiddenTexts(request);
  const ticked = useSignal<ReadonlySet<string>>(new Set());
  const signing = useLoaded(
    async () => (passkey.is_required ? signingOf(asked) : undefined),
    [request.approval_request_id],
  );
  const isFinal = capability?.side_effect.type === 'irreversible';
  const kind = capability ? effectOf(capability).kind : 'changes';
  return (
    <Confirm
      open
      onClose={onClose}
      title={
        isFinal ? (
          <span class="effect final">{effectSentence(decision)}</span>
        ) : (
          <Question of={decision} />
        )
      }
      confirm={passkey.is_required ? 'Sign with passkey and approve' : `Approve ${actOf(decision)}`}
      danger={kind === 'final' && !passkey.is_required}
      blocked={blockedBy(signing, texts.length - ticked.value.size)}
      onConfirm={async () => {
        const proof = signing.state === 'ready' ? await signing.value?.sign() : undefined;
        onDone(await approve(asked, proof));
      }}
    >
      <Facts asked={asked} />
      {texts.map((text) => (
        <Tick
          key={text.path}
          of={text}
          onTick={(isTicked) => {
            const rest = [...ticked.value].filter((each) => each !== text.path);
            ticked.value = new Set(isTicked ? [...rest, text.path] : rest);
          }}
        />
      ))}
      {passkey.is_required ? <SigningFacts of={signing} /> : null}
    </Confirm>
  );
}

function Facts({ asked: { decision, terms } }: { readonly asked: Asked }) {
  const { chain, request } = decision;
  const hands = chain.map(({ principal }) => principal).reverse();
  return (
    <dl class="facts">
      <dt>What</dt>
      <dd>
        <Question of={decision} />
      </dd>
      <dt>For</dt>
      <dd>
        <Chain of={hands.length > 0 ? hands : [request.requester.subject]} />
      </dd>
      <dt>Terms</dt>
      <dd>{termsWords(terms)}</dd>
    </dl>
  );
}

interface TickOf {
  readonly of: HiddenField;
  onTick(isTicked: boolean): void;
}

function Tick({ of: { path, text, hidden }, onTick }: TickOf) {
  return (
    <label class="opt">
      <input type="checkbox" onChange={({ currentTarget }) => onTick(currentTarget.checked)} />
      <span>
        I read{' '}
        <code>
          <Shown text={path} />
        </code>{' '}
        with its hidden characters:{' '}
        <code>
          <Shown text={JSON.stringify(text)} />
        </code>
        <br />
        <small>{hiddenWords(hidden)}</small>
      </span>
    </label>
  );
}

/** Texts with hidden characters. The preview often repeats those of the parameters. */
function hiddenTexts({ parameters, preview }: Decision['request']): HiddenField[] {
  const own = hiddenFields(parameters);
  const texts = new Set(own.map(({ text }) => text));
  const others = hiddenFields(preview ?? {}).filter(({ text }) => !texts.has(text));
  return [...own, ...others.map((each) => ({ ...each, path: `preview: ${each.path}` }))];
}

interface Signing {
  readonly nonce: string;
  readonly digest: string;
  /** Asks the person's key. */
  sign(): Promise<object>;
}

/** Refuses a challenge that is not for exactly what is shown. */
async function signingOf({ decision: { request }, terms }: Asked): Promise<Signing> {
  const { approval_request_id } = request;
  const question = { approval_request_id, decision: 'approve' as const, ...terms };
  const challenge = await ask('decision.challenge', question);
  const digest = digestOf(decisionPayload(request, challenge.payload.nonce, terms));
  if (hexOf(digest) !== hexOf(challenge.digest)) {
    throw new Error('the service asks to sign something else than what is shown; do not approve');
  }
  return { nonce: challenge.payload.nonce, digest, sign: () => proofOf(challenge, digest) };
}

async function proofOf({ payload, rp_id, credential_ids }: Challenge, digest: string) {
  const challenge = toBase64url(fromHex(hexOf(digest)) as Uint8Array);
  const question = { challenge, rpId: rp_id, credentialIds: credential_ids };
  return { ...(await signWithPasskey(question)), nonce: payload.nonce };
}

function hexOf(digest: string): string {
  return digest.replace(/^sha256:/, '');
}

function SigningFacts({ of }: { readonly of: Loaded<Signing | undefined> }) {
  if (of.state === 'loading') return <Loading what="what your passkey signs" />;
  if (of.state === 'failed') {
    return <Failed what="What your passkey signs" why={of.why} again={of.again} />;
  }
  if (!of.value) return null;
  return (
    <div class="small">
      Your passkey signs this digest of the decision, the request, what is shown and the terms:
      <br />
      <Hash hex={of.value.digest} what="the digest" />
      <p class="muted">
        The command line computes the same digest from this nonce: <code>{of.value.nonce}</code>{' '}
        <Copy text={of.value.nonce} what="the nonce" />
      </p>
    </div>
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
  passkey: object | undefined,
): Promise<GrantAnswer> {
  const { approval_request_id } = decision.request;
  const fresh = await ask('decision', { approval_request_id });
  if (identityOf(fresh) !== identityOf(decision)) {
    throw new Error(
      'Cannot approve: the request changed while you read it; go back and read it again',
    );
  }
  const fixed = fresh.request.terms ?? undefined;
  if (fixed && digestOf(fixed) !== digestOf(terms)) {
    throw new Error('Cannot approve: another approver chose other terms; go back and read them');
  }
  const request = { approval_request_id, ...terms, ...(passkey && { passkey }) };
  return ask('approval_grants.issue', request as InputOf<'approval_grants.issue'>);
}
