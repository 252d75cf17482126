/**
 * Decisions that a passkey confirms: what it signs, and whether it signed that.
 *
 * The service makes what was signed from its own rows, never from the request: a page that shows something else
 * than what is stored gets a signature that does not hold.
 *
 * @module
 */

import type { GrantTerms } from '../../domain/authority/grant.ts';
import { failure, Refusal } from '../../domain/failure.ts';
import {
  decisionChallenge,
  decisionDigest,
  signedDecision,
} from '../../domain/passkey/decision.ts';
import type { Challenge, SignedDecision } from '../../protocol/console/views.ts';
import type { DecisionPasskey, PasskeyProof } from '../../protocol/passkey.ts';
import type { ApprovalRecord } from '../../storage/port/records.ts';
import { assertionFault } from '../../verify/assertion.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { relyingParty, usablePasskeys } from './keys.ts';
import { openNonce, sealNonce } from './nonce.ts';

/** A decision as it is about to be made. */
export interface Deciding {
  readonly request: ApprovalRecord;
  /** The person who decides. */
  readonly approver: string;
  /** Null for a denial. */
  readonly terms: GrantTerms | null;
}

export async function decisionQuestion(
  parts: ServiceParts,
  deciding: Deciding,
): Promise<Challenge> {
  const { rpId } = relyingParty(parts);
  const payload = payloadOf(deciding, sealNonce(parts, purposeOf(deciding)));
  const usable = await usablePasskeys(parts, deciding.approver);
  return {
    payload,
    digest: decisionDigest(payload),
    rp_id: rpId,
    credential_ids: usable.map(({ passkey }) => passkey.credential_id),
  };
}

function purposeOf({ request, approver }: Deciding): readonly string[] {
  return ['decision', approver, request.approval_request_id];
}

function payloadOf({ request, terms }: Deciding, nonce: string): SignedDecision {
  return signedDecision({
    nonce,
    decision: terms === null ? 'deny' : 'approve',
    approval_request_id: request.approval_request_id,
    parameters_digest: request.parameters_digest,
    preview_digest: request.preview_digest ?? null,
    terms,
  });
}

/** What the entry of the decision has of the passkey. Refuses a proof that does not hold. */
export async function confirmedDecision(
  parts: ServiceParts,
  deciding: Deciding,
  proof: PasskeyProof,
): Promise<DecisionPasskey> {
  const { capability } = deciding.request;
  const { nonce, credential_id } = proof;
  if (!openNonce(parts, nonce, purposeOf(deciding))) {
    throw unconfirmed(capability, 'its nonce is not for this decision of yours, or is too old');
  }
  const usable = await usablePasskeys(parts, deciding.approver);
  const found = usable.find(({ passkey }) => passkey.credential_id === credential_id);
  if (!found) throw unconfirmed(capability, 'it is not one of yours, or does not count yet');
  const challenge = decisionChallenge(payloadOf(deciding, nonce));
  const expected = { ...relyingParty(parts), challenge };
  const { public_key } = found.passkey;
  const wrong = await assertionFault(proof, public_key, expected);
  if (wrong) throw unconfirmed(capability, wrong.fault);
  const { client_data, authenticator_data, signature } = proof;
  return { nonce, credential_id, public_key, client_data, authenticator_data, signature };
}

export function unconfirmed(capability: string, why: string): Refusal {
  const detail = `Cannot decide on "${capability}": the passkey does not confirm it: ${why}`;
  return new Refusal(failure('approver_not_authorized', detail));
}
