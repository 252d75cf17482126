/**
 * What the page checks about a request before it offers to approve: that the digests are of what is shown, and that
 * nothing is missing.
 *
 * @module
 */

import type { ApprovalRequest, GrantTerms } from '../../protocol/approval.ts';
import type { SignedDecision } from '../../protocol/console/views.ts';
import type { Decision } from '../../protocol/decision.ts';
import { chainOf } from '../authority/chain.ts';
import { digestOf } from '../wire/canonical.ts';

/** What this browser computed from what it shows. */
export interface Digests {
  /** Undefined where the value cannot be hashed. */
  readonly parameters: string | undefined;
  /** Null where there is no preview. */
  readonly preview: string | null | undefined;
}

export function digestsOf({ parameters, preview }: ApprovalRequest): Digests {
  return { parameters: hashed(parameters), preview: preview === null ? null : hashed(preview) };
}

function hashed(value: unknown): string | undefined {
  try {
    return digestOf(value);
  } catch {
    return undefined;
  }
}

/** Why the request must not be approved as it stands; each is a sentence. */
export function faultsOf(of: Decision): string[] {
  const { request, capability } = of;
  const missing = missingIn(of);
  const before: Faults = [
    [missing.length > 0, `The answer of the service is not complete: ${missing.join(', ')}.`],
    [isOtherChain(of), 'The chain of principals is not the one that the request was made through.'],
  ];
  const after: Faults = [
    [!capability, 'The service no longer has this capability.'],
    [
      hasChanged(of),
      'The declaration of the capability changed since the agent asked: an approval could not be used.',
    ],
    [
      hashed(of.cost) !== hashed(request.cost ?? null),
      'The cost is not the one that the request was made with.',
    ],
  ];
  return [...sentences(before), ...digestFaults(request), ...sentences(after)];
}

type Faults = readonly (readonly [isFault: boolean, sentence: string])[];

function sentences(faults: Faults): string[] {
  return faults.filter(([isFault]) => isFault).map(([, sentence]) => sentence);
}

/** Where the digests that the service states are not those of what it answers. */
export function digestFaults(request: ApprovalRequest): string[] {
  const { parameters, preview } = digestsOf(request);
  return sentences([
    [
      parameters !== request.requested_parameters_digest,
      'The parameters are not those that the request was made for: their digest differs.',
    ],
    [
      request.preview === null && request.preview_digest !== null,
      'The request was made with a preview, and the service answered without it.',
    ],
    [
      request.preview !== null && preview !== request.preview_digest,
      'The preview is not the one that the request was made with: its digest differs.',
    ],
  ]);
}

/** What the page needs and would not miss in the parts themselves. */
function missingIn(of: Decision): string[] {
  const { request, similar, capability, has_changed, passkey } = of;
  const { approvals_required, expires_at, scope, terms } = request;
  const isThere: Readonly<Record<string, boolean>> = {
    'the declaration': capability !== undefined && typeof has_changed === 'boolean',
    'the comparison with the last approval': similar !== undefined,
    'whether a passkey is required': typeof passkey.is_required === 'boolean',
    'the number of approvals': Number.isInteger(approvals_required) && approvals_required > 0,
    'the time of expiry': !Number.isNaN(Date.parse(expires_at)),
    'the scopes': Array.isArray(scope),
    'the terms': terms !== undefined,
  };
  return Object.keys(isThere).filter((name) => !isThere[name]);
}

/** The chain that is shown, against the digest of it. Where its tokens cannot be read, names may be missing. */
function isOtherChain({ request: { requester }, chain }: Decision): boolean {
  const names = chain.map(({ principal }) => principal);
  if (names[0] !== requester.root_principal) return true;
  if (chain.some(({ state }) => state === 'unknown')) return false;
  return (
    names.at(-1) !== requester.subject ||
    chainOf(requester.root_principal, names) !== requester.chain
  );
}

/** Side effect, costs and policy come from the declaration, so it is compared with the one that the request names. */
function hasChanged({ request, capability, has_changed }: Decision): boolean {
  if (has_changed) return true;
  if (!capability) return false;
  const { name, ...declaration } = capability;
  const { declaration_digest } = request;
  if (name !== request.capability || capability.contract_version !== request.contract_version) {
    return true;
  }
  return hashed(declaration) !== declaration_digest;
}

/** Of everything that was asked. It stays the same until the request is decided, and afterwards. */
export function decisionIdentity({ request, cost }: Decision): string | undefined {
  const { approvals, status, terms, terms_digest, safe, ...rest } = request;
  const { decided_at, decided_by, reason, grant_id, ...asked } = rest;
  return hashed({ asked, cost });
}

/** What a passkey signs, made from what is shown. Only the nonce is of the service. */
export function decisionPayload(
  request: ApprovalRequest,
  nonce: string,
  terms: GrantTerms | null,
): SignedDecision {
  const { parameters, preview } = digestsOf(request);
  if (parameters === undefined || preview === undefined) {
    throw new Error('Cannot sign: what is shown has no digest');
  }
  return {
    nonce,
    decision: terms === null ? 'deny' : 'approve',
    approval_request_id: request.approval_request_id,
    parameters_digest: parameters,
    preview_digest: preview,
    terms,
  };
}
