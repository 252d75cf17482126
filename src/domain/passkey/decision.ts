/**
 * What a passkey signs for one decision: the decision, what was decided about, and the terms.
 *
 * The service makes it for a challenge and again when the decision arrives, the command line makes it from the
 * request that it read, and the verifier from the entry in the log. All use this file, so all get one digest.
 *
 * @module
 */

import type { SignedDecision } from '../../protocol/console/views.ts';
import { canonicalJson, digestOf } from '../wire/canonical.ts';
import { sha256, utf8 } from '../wire/hash.ts';

/** The fields are copied one by one: a further member would change the digest. */
export function signedDecision(decision: SignedDecision): SignedDecision {
  const { terms } = decision;
  return {
    nonce: decision.nonce,
    decision: decision.decision,
    approval_request_id: decision.approval_request_id,
    parameters_digest: decision.parameters_digest,
    preview_digest: decision.preview_digest,
    terms: terms && {
      grant_type: terms.grant_type,
      session_id: terms.session_id,
      expires_in_seconds: terms.expires_in_seconds,
      max_uses: terms.max_uses,
    },
  };
}

/** As people compare it. */
export function decisionDigest(decision: SignedDecision): string {
  return digestOf(signedDecision(decision));
}

/** The same digest as bytes: the challenge of WebAuthn. */
export function decisionChallenge(decision: SignedDecision): Uint8Array {
  return sha256(utf8(canonicalJson(signedDecision(decision))));
}
