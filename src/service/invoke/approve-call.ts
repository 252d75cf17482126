/**
 * Approval of one call: whether the call needs one, whether its grant covers it, and which waiting
 * grant a repeated call continues with.
 *
 * This file only decides, so a dry run uses it too. When several calls race for one use of a grant,
 * the store decides at admission.
 *
 * @module
 */

import { type ApproverPolicy, isBarredAgent } from '../../domain/authority/approver.ts';
import { unsignedGrant, unusableGrant } from '../../domain/authority/grant.ts';
import { declarationDigest } from '../../domain/catalog/declaration.ts';
import { failure, Refusal, refuse } from '../../domain/failure.ts';
import { needsApproval } from '../../domain/invocation/approval.ts';
import { isFreshAtRun } from '../../domain/invocation/bindings.ts';
import { type Charge, chargeFrom } from '../../domain/invocation/budget.ts';
import { amended } from '../../domain/values/amended.ts';
import { canonicalJson, digestOf } from '../../domain/wire/canonical.ts';
import { copyOf } from '../../domain/wire/json.ts';
import { ARTEFACTS } from '../../keyring/wire.ts';
import type { Capability } from '../../protocol/capability.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { InvokeRequest } from '../../protocol/invocation.ts';
import { type JsonObject, Money } from '../../protocol/primitives.ts';
import { type Eventual, type Steps, wait } from '../../steps.ts';
import type { GrantUse } from '../../storage/port/invocation-store.ts';
import type { GrantRecord } from '../../storage/port/records.ts';
import { approvalQuestion, PRICE_FIELD } from '../approval/request.ts';
import { approverScope } from '../author/approval-policy.ts';
import type { TokenCaller } from '../caller/caller.ts';
import { askNow, returnedBy } from '../foreign/foreign.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { resolvedParameters } from './inputs.ts';
import { askedUnder, continuationKey } from './replay.ts';

/** A call whose inputs are resolved. */
export interface ApprovableCall {
  readonly caller: TokenCaller;
  readonly capability: Capability;
  readonly request: { readonly approval_grant?: string | undefined };
  readonly parameters: JsonObject;
  readonly parametersDigest: string;
  readonly charge?: Charge | undefined;
}

export interface CallApproval {
  readonly needed: boolean;
  /** The grant that covers the call, even where none was needed. */
  readonly grant?: GrantRecord | undefined;
}

/** Refuses a presented grant that does not cover the call, even if no approval is needed. */
export function callApproval(parts: ServiceParts, call: ApprovableCall): Eventual<CallApproval> {
  const { caller, request } = call;
  const needed = isApprovalNeeded(parts, call);
  if (request.approval_grant === undefined) return { needed };
  const { grant } = caller.loaded;
  return unusable(parts, call, request.approval_grant, grant).then((found) => {
    refuse(found);
    return { needed, grant };
  });
}

/** The first grant that covers the call. */
async function usableGrant(
  parts: ServiceParts,
  call: JudgedCall,
  grants: readonly GrantRecord[],
): Promise<GrantRecord | undefined> {
  for (const grant of grants) {
    if (!(await unusable(parts, call, grant.grant_id, grant))) return grant;
  }
  return undefined;
}

type JudgedCall = Pick<ApprovableCall, 'caller' | 'capability' | 'parametersDigest'>;

/** Whether the policy of the capability requires approval. */
export function isApprovalNeeded(
  { definition }: ServiceParts,
  { capability, parameters, charge }: Pick<ApprovableCall, 'capability' | 'parameters' | 'charge'>,
): boolean {
  const when = definition.code.get(capability.name)?.approval?.when;
  const predicate = typeof when === 'object' && 'needed' in when ? when.needed : undefined;
  const condition = predicate && ((given: JsonObject) => isNeeded(predicate, given));
  return needsApproval(capability, { parameters, charge, condition });
}

/** Accepts only a boolean: a falsy value must not count as "no approval needed". */
function isNeeded(predicate: (given: JsonObject) => unknown, given: JsonObject): boolean {
  const what = 'what an approval condition returned';
  // A copy, because a predicate that changes it must not change the digest or the handler input.
  const answer = returnedBy(
    askNow(() => predicate(copyOf(given))),
    what,
  );
  if (typeof answer === 'boolean') return answer;
  throw new Error(`Cannot use ${what}: expected true or false`);
}

/** What admission must find unchanged to take one use. */
export function grantUseOf(
  { grant_id, declaration_digest, expires_at, max_uses }: GrantRecord,
  { caller, capability, parametersDigest }: Omit<ApprovableCall, 'parameters'>,
): GrantUse {
  const { chain, session_id } = caller.token;
  return {
    grant_id,
    capability: capability.name,
    contract_version: capability.contract_version,
    declaration_digest,
    parameters_digest: parametersDigest,
    chain,
    session_id,
    expires_at,
    max_uses,
  };
}

/** Why admission could not take a use: the grant changed, or another call was faster. */
export async function lostGrant(
  parts: ServiceParts,
  call: ApprovableCall,
  found: GrantRecord | undefined,
): Promise<Failure> {
  const { approval_grant: id = '' } = call.request;
  const detail = `Cannot use grant "${id}": it has changed since it was read`;
  const known = await unusable(parts, call, id, found);
  return known ?? failure('approval_grant_invalid', detail);
}

/** The presented grant, if it is one of this chain for this capability. A later rule checks that it covers this call. */
function ownGrant(
  { token, loaded: { grant } }: TokenCaller,
  { name }: Capability,
): GrantRecord | undefined {
  return grant?.chain === token.chain && grant.capability === name ? grant : undefined;
}

/** The presented grant whose request says when bindings had to be fresh. */
export function livingGrant(
  { store }: ServiceParts,
  caller: TokenCaller,
  capability: Capability,
): GrantRecord | undefined {
  if (isFreshAtRun(capability)) return undefined;
  const grant = ownGrant(caller, capability);
  return grant && grant.expires_at > store.now() ? grant : undefined;
}

/** The price that the presented approval pinned: the approver saw it, so the call costs exactly that. */
export function* pinnedPrice(
  { store }: ServiceParts,
  caller: TokenCaller,
  capability: Capability,
): Steps<Charge | undefined> {
  const grant = ownGrant(caller, capability);
  if (!grant) return undefined;
  const preview = (yield* wait(store.loadApproval(grant.approval_request_id)))?.preview;
  const isShown = preview !== undefined && digestOf(preview) === grant.preview_digest;
  const price = isShown ? Money.safeParse(preview[PRICE_FIELD]) : undefined;
  if (price?.success) return chargeFrom(price.data);
  const detail = `Cannot use grant "${grant.grant_id}": it pins no price`;
  throw new Refusal(failure('approval_grant_invalid', detail));
}

async function unusable(
  parts: ServiceParts,
  { caller, capability, parametersDigest }: JudgedCall,
  id: string,
  grant: GrantRecord | undefined,
): Promise<Failure | undefined> {
  const { chain, session_id } = caller.token;
  return unusableGrant(id, grant, {
    capability: capability.name,
    contract_version: capability.contract_version,
    declarationDigest: declarationDigest(capability),
    scope: capability.minimum_scope,
    parametersDigest,
    chain,
    session_id,
    through: caller.loaded.lineage.map((link) => link.subject),
    now: parts.store.now(),
    isSigned: grant !== undefined && isSigned(parts, grant),
    formerApprover: grant && (await formerApprover(parts, grant)),
  });
}

function isSigned({ keyring }: ServiceParts, grant: GrantRecord): boolean {
  const { use, typ } = ARTEFACTS.grant;
  const payload = new TextEncoder().encode(canonicalJson(unsignedGrant(grant)));
  return keyring.verifyDetached(use, typ, grant.signature, payload) !== undefined;
}

/** The first approver who may no longer approve. */
async function formerApprover(
  { identities, definition }: ServiceParts,
  grant: GrantRecord,
): Promise<string | undefined> {
  const policy: ApproverPolicy = definition.code.get(grant.capability)?.approval ?? {};
  for (const principal of grant.approved_by) {
    if (isBarredAgent(principal, policy)) return principal;
    if (policy.separation === 'root' && principal === grant.root_principal) return principal;
    const scope = approverScope(grant.capability);
    if (!(await identities.isEntitled(principal, scope))) return principal;
  }
  return undefined;
}

/** Grants tried for one call. More exist only when approvers granted the same call repeatedly. */
const CANDIDATES_MAX = 8;

export interface Continuing {
  readonly caller: TokenCaller;
  readonly request: InvokeRequest;
  /** The parameters, or what refuses them, if they were resolved to look for a grant. */
  readonly resolved?: { readonly parameters: JsonObject } | { readonly thrown: unknown };
}

/** Whether to look for a grant. Most calls skip it at no cost. */
export function continues(capability: Capability, request: InvokeRequest): boolean {
  const { continue_approved, approval_grant } = request;
  return continue_approved === true && approval_grant === undefined && !!capability.approval;
}

/** The call with the grant that waits for it; unchanged if there is none. */
export function* continued(
  parts: ServiceParts,
  caller: TokenCaller,
  capability: Capability,
  request: InvokeRequest,
): Steps<Continuing> {
  const { idempotency: record } = caller.loaded;
  const asked = record && askedUnder(record, request);
  // The key already has an answer or is in use.
  if (record && asked === undefined) return { caller, request };
  const answered = asked && (yield* wait(answeredUnder(parts, caller, request, asked)));
  if (answered) return { caller, request: amended(request, { approval_grant: answered }) };

  // Resolved earlier than in a plain call, because the grant decides the time at which bindings
  // must be fresh. A refusal of the parameters is still reported at its place in the list.
  let parameters: JsonObject;
  try {
    const sent = request.parameters;
    parameters = yield* resolvedParameters(parts, { caller, capability, sent });
  } catch (error) {
    return { caller, request, resolved: { thrown: error } };
  }
  const resolved = { parameters };
  const grant = yield* wait(waitingGrant(parts, caller, capability, parameters));
  if (!grant) return { caller, request, resolved };
  return {
    caller: amended(caller, { loaded: amended(caller.loaded, { grant }) }),
    request: amended(request, { approval_grant: grant.grant_id }),
    resolved,
  };
}

/**
 * The grant under which a call with this key was continued before. Its answer is replayed, although
 * the grant is used up. `asked` is the approval request in the answer of the key.
 */
async function answeredUnder(
  { store }: ServiceParts,
  { token }: TokenCaller,
  { capability, idempotency_key }: InvokeRequest,
  asked: string,
): Promise<string | undefined> {
  const grantId = (await store.loadApproval(asked))?.grant_id;
  if (grantId === undefined || idempotency_key === undefined) return undefined;
  const key = continuationKey(idempotency_key, grantId);
  const { idempotency } = await store.load({
    tokenId: token.token_id,
    idempotency: { capability, key },
  });
  return idempotency && grantId;
}

async function waitingGrant(
  parts: ServiceParts,
  caller: TokenCaller,
  capability: Capability,
  parameters: JsonObject,
): Promise<GrantRecord | undefined> {
  const parametersDigest = digestOf(parameters);
  const question = approvalQuestion(caller, capability, parametersDigest);
  const { store } = parts;
  const grants = await store.waitingGrants(question, store.now(), CANDIDATES_MAX);
  return usableGrant(parts, { caller, capability, parametersDigest }, grants);
}
