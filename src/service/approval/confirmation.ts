/**
 * Whether a decision needs the approver's passkey, and whether it has it.
 *
 * A policy with `require: passkey` lets no approval count without one; a denial ends nothing but the request, so
 * it may come without. A passkey that is given is always checked, and becomes part of the entry.
 *
 * @module
 */

import type { GrantTerms } from '../../domain/authority/grant.ts';
import { failure, Refusal } from '../../domain/failure.ts';
import type { DecisionPasskey, PasskeyProof } from '../../protocol/passkey.ts';
import type { ApprovalRecord } from '../../storage/port/records.ts';
import type { Caller } from '../caller/caller.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { confirmedDecision, unconfirmed } from '../passkey/decision.ts';
import { approvingSide } from './approvers.ts';

/** What is decided. The terms are null for a denial. */
interface Confirmable {
  readonly request: ApprovalRecord;
  readonly terms: GrantTerms | null;
}

export async function confirmationOf(
  parts: ServiceParts,
  caller: Caller,
  { request, terms }: Confirmable,
  proof: PasskeyProof | undefined,
): Promise<DecisionPasskey | undefined> {
  const { capability } = request;
  if (!proof) {
    if (terms === null || !needsPasskey(parts, request)) return undefined;
    const why = 'its policy requires the passkey of the approver, and the request has none';
    const detail = `Cannot approve "${capability}": ${why}; decide it on the page of the request`;
    throw new Refusal(failure('approver_not_authorized', detail));
  }
  const { root_principal: approver, through } = approvingSide(caller);
  if (!through.every((name) => name === approver)) {
    throw unconfirmed(capability, 'with a passkey a person decides in person');
  }
  return confirmedDecision(parts, { request, approver, terms }, proof);
}

/**
 * By the policy that was in force for the request, or by the one of now. The grant is bound to the former, and
 * counts at every replica that has it.
 */
export function needsPasskey(
  { definition }: ServiceParts,
  { capability, require }: Pick<ApprovalRecord, 'capability' | 'require'>,
): boolean {
  if (require === 'passkey') return true;
  return definition.catalog.capabilities.get(capability)?.approval?.require === 'passkey';
}

/** What the entry of a decision has in its detail. The digest of the preview is part of what was signed. */
export function confirmationFacts(
  { preview_digest }: Pick<ApprovalRecord, 'preview_digest'>,
  passkey: DecisionPasskey | undefined,
) {
  return passkey && { preview_digest: preview_digest ?? null, passkey };
}
