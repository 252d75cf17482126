/**
 * What a passkey signs for a decision. The page computes its digest from what it shows: a service that asks for a
 * signature over anything else gets none.
 *
 * @module
 */

import { decisionPayload } from '../../../domain/decision/checks.ts';
import { decisionChallenge, decisionDigest } from '../../../domain/passkey/decision.ts';
import { toBase64url } from '../../../domain/wire/base64.ts';
import type { GrantTerms } from '../../../protocol/approval.ts';
import type { Challenge, SignedDecision } from '../../../protocol/console/views.ts';
import type { Decision } from '../../../protocol/decision.ts';
import type { PasskeyProof } from '../../../protocol/passkey.ts';
import { ask, base } from '../../api.ts';
import { Copy, Hash } from '../../parts/elements.tsx';
import { Failed, type Loaded, Loading } from '../../parts/loaded.tsx';
import { signWithPasskey } from '../passkeys/browser.ts';

export interface Signing {
  readonly payload: SignedDecision;
  readonly digest: string;
  /** Asks the person's key. The answer is the field `passkey` of the decision. */
  sign(): Promise<PasskeyProof>;
}

/** `terms` are null for a denial. */
export async function signingOf(
  request: Decision['request'],
  terms: GrantTerms | null,
): Promise<Signing> {
  const { approval_request_id } = request;
  const decision = terms === null ? 'deny' : 'approve';
  const challenge = await ask('decision.challenge', { approval_request_id, decision, ...terms });
  const payload = decisionPayload(request, challenge.payload.nonce, terms);
  const digest = decisionDigest(payload);
  if (digest !== challenge.digest) {
    throw new Error('the service asks to sign something else than what is shown; do not decide');
  }
  return { payload, digest, sign: () => proofOf(challenge, payload) };
}

async function proofOf({ rp_id, credential_ids }: Challenge, payload: SignedDecision) {
  const challenge = toBase64url(decisionChallenge(payload));
  const question = { challenge, rpId: rp_id, credentialIds: credential_ids };
  return { ...(await signWithPasskey(question)), nonce: payload.nonce };
}

export function SigningFacts({ of }: { readonly of: Loaded<Signing | undefined> }) {
  if (of.state === 'loading') return <Loading what="what your passkey signs" />;
  if (of.state === 'failed') {
    return <Failed what="What your passkey signs" why={of.why} again={of.again} />;
  }
  if (!of.value) return null;
  const command = commandOf(of.value.payload);
  return (
    <div class="small stack">
      <p>
        Your passkey signs this digest of the decision, the request, what is shown and the terms:
        <br />
        <Hash hex={of.value.digest} what="the digest" />
      </p>
      <details>
        <summary>Compute it without this page</summary>
        <code>{command}</code> <Copy text={command} what="the command" />
      </details>
    </div>
  );
}

/** For the command line, which reads the request itself. */
function commandOf({ approval_request_id, nonce, terms }: SignedDecision): string {
  const options = terms
    ? [
        `--grant-type ${terms.grant_type}`,
        `--expires-in ${terms.expires_in_seconds}`,
        `--max-uses ${terms.max_uses}`,
        ...(terms.session_id === null ? [] : [`--session-id=${wordOf(terms.session_id)}`]),
      ]
    : ['--deny'];
  const command = `${commandFor('digest', approval_request_id)} --nonce=${wordOf(nonce)}`;
  return `${command} ${options.join(' ')}`;
}

/** Commands that show the request, and compute digests, without this page. */
export function commandFor(verb: 'show' | 'digest', approvalRequestId: string): string {
  const service = wordOf(`${location.origin}${base}`);
  return `writ approvals ${verb} ${approvalRequestId} --service ${service}`;
}

/** As one word of a shell: an agent may have chosen the text. */
function wordOf(text: string): string {
  return /^[\w.:/-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
