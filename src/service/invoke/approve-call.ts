/**
 * Approval of one call: whether it needs one, whether the grant it brings covers it, and which waiting grant a
 * call that is made again continues with.
 *
 * Decides and changes nothing, so a dry run may ask it too. Which calls take a use when several race
 * for it is decided in the store, inside admission.
 *
 * @module
 */

import { type ApproverPolicy, isBarredAgent } from '../../domain/authority/approver.ts';
import { unsignedGrant, unusableGrant } from '../../domain/authority/grant.ts';
import { failure, refuse } from '../../domain/failure.ts';
import { needsApproval } from '../../domain/invocation/approval.ts';
import type { Charge } from '../../domain/invocation/budget.ts';
import { amended } from '../../domain/values/amended.ts';
import { canonicalJson, digestOf } from '../../domain/wire/canonical.ts';
import { copyOf } from '../../domain/wire/json.ts';
import { ARTEFACTS } from '../../keyring/wire.ts';
import type { Capability } from '../../protocol/capability.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { InvokeRequest } from '../../protocol/invocation.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import type { GrantUse } from '../../storage/port/invocation-store.ts';
import type { GrantRecord } from '../../storage/port/records.ts';
import { questionOf } from '../approval/request.ts';
import { approverScope } from '../author/approval-policy.ts';
import type { TokenCaller } from '../core/caller.ts';
import { askNow, returnedBy } from '../core/foreign.ts';
import type { ServiceParts } from '../core/parts.ts';
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
  /** The grant that covers the call; also where none was needed. */
  readonly grant?: GrantRecord | undefined;
}

/** Refuses a grant that does not cover the call: one that is given is judged, needed or not. */
export function approvalOf(parts: ServiceParts, call: ApprovableCall): CallApproval {
  const { caller, request } = call;
  const needed = isApprovalNeeded(parts, call);
  if (request.approval_grant === undefined) return { needed };
  refuse(unusable(parts, call, request.approval_grant, caller.loaded.grant));
  return { needed, grant: caller.loaded.grant };
}

/** The first of these grants that covers the call; those that do not are passed over. */
function usableGrant(
  parts: ServiceParts,
  call: JudgedCall,
  grants: readonly GrantRecord[],
): GrantRecord | undefined {
  return grants.find((grant) => !unusable(parts, call, grant.grant_id, grant));
}

type JudgedCall = Pick<ApprovableCall, 'caller' | 'capability' | 'parametersDigest'>;

/** Whether the policy of the capability asks for a person's word. */
export function isApprovalNeeded(
  { definition }: ServiceParts,
  { capability, parameters, charge }: Pick<ApprovableCall, 'capability' | 'parameters' | 'charge'>,
): boolean {
  const when = definition.code.get(capability.name)?.approval?.when;
  const predicate = typeof when === 'object' && 'needed' in when ? when.needed : undefined;
  const condition = predicate && ((given: JsonObject) => isNeeded(predicate, given));
  return needsApproval(capability, { parameters, charge, condition });
}

/** Only a plain yes or no counts: what merely looks like "no" must not open the gate. */
function isNeeded(predicate: (given: JsonObject) => unknown, given: JsonObject): boolean {
  const what = 'what an approval condition returned';
  // A copy: what an author's predicate does to it must not reach the digest or the handler.
  const answer = returnedBy(
    askNow(() => predicate(copyOf(given))),
    what,
  );
  if (typeof answer === 'boolean') return answer;
  throw new Error(`Cannot use ${what}: expected true or false`);
}

/** What admission must find unchanged to take the use. */
export function grantUseOf(
  { grant_id, expires_at, max_uses }: GrantRecord,
  { caller, capability, parametersDigest }: Omit<ApprovableCall, 'parameters'>,
): GrantUse {
  const { chain, session_id } = caller.token;
  return {
    grant_id,
    capability: capability.name,
    contract_version: capability.contract_version,
    parameters_digest: parametersDigest,
    chain,
    session_id,
    expires_at,
    max_uses,
  };
}

/** Why admission could not take the use: what is different now, or that a rival was quicker. */
export function lostGrant(
  parts: ServiceParts,
  call: ApprovableCall,
  found: GrantRecord | undefined,
): Failure {
  const { approval_grant: id = '' } = call.request;
  const detail = `Cannot use grant "${id}": it has changed since it was read`;
  return unusable(parts, call, id, found) ?? failure('approval_grant_invalid', detail);
}

/**
 * The moment bindings are judged at: now, or when the approval in hand was asked for. What was fresh
 * for the question stays good for its answer; that the question was this one is checked later.
 */
export function bindingsJudgedAt(
  { store }: ServiceParts,
  { token, loaded: { grant } }: TokenCaller,
  capability: Capability,
): Promise<Date> | Date {
  const now = store.now();
  if (!grant || !capability.requires_binding?.length) return now;
  if (grant.chain !== token.chain || grant.capability !== capability.name) return now;
  if (grant.expires_at <= now) return now;
  return store.loadApproval(grant.approval_request_id).then((asked) => asked?.created_at ?? now);
}

function unusable(
  parts: ServiceParts,
  { caller, capability, parametersDigest }: JudgedCall,
  id: string,
  grant: GrantRecord | undefined,
): Failure | undefined {
  const { chain, session_id } = caller.token;
  return unusableGrant(id, grant, {
    capability: capability.name,
    contract_version: capability.contract_version,
    scope: capability.minimum_scope,
    parametersDigest,
    chain,
    session_id,
    through: caller.loaded.lineage.map((link) => link.subject),
    now: parts.store.now(),
    isSigned: grant !== undefined && isSigned(parts, grant),
    formerApprover: grant && formerApprover(parts, grant),
  });
}

function isSigned({ keyring }: ServiceParts, grant: GrantRecord): boolean {
  const { use, typ } = ARTEFACTS.grant;
  const payload = new TextEncoder().encode(canonicalJson(unsignedGrant(grant)));
  return keyring.verifyDetached(use, typ, grant.signature, payload) !== undefined;
}

/** The first who approved and could not do so today. */
function formerApprover(
  { identities, definition }: ServiceParts,
  grant: GrantRecord,
): string | undefined {
  const policy: ApproverPolicy = definition.code.get(grant.capability)?.approval ?? {};
  return grant.approved_by.find(
    (principal) =>
      !identities.isEntitled(principal, approverScope(grant.capability)) ||
      isBarredAgent(principal, policy) ||
      (policy.separation === 'root' && principal === grant.root_principal),
  );
}

/** Grants that are tried for one call. More wait only where approvers granted the same call again. */
const CANDIDATES_MAX = 8;

export interface Continuing {
  readonly caller: TokenCaller;
  readonly request: InvokeRequest;
  /** The parameters, where looking for a grant took their digest. May reject; never unheard. */
  readonly resolving?: Promise<JsonObject> | undefined;
}

/** Whether a grant has to be looked for. Most calls pay nothing for this. */
export function continues(capability: Capability, request: InvokeRequest): boolean {
  const { continue_approved, approval_grant } = request;
  return continue_approved === true && approval_grant === undefined && !!capability.approval;
}

/** The call as if it had named the grant that waits for it; unchanged where none does. */
export async function continued(
  parts: ServiceParts,
  caller: TokenCaller,
  capability: Capability,
  request: InvokeRequest,
): Promise<Continuing> {
  const { idempotency: record } = caller.loaded;
  const asked = record && askedUnder(record, request);
  // The key has an answer, or will have one.
  if (record && asked === undefined) return { caller, request };
  const answered = asked && (await answeredUnder(parts, caller, request, asked));
  if (answered) return { caller, request: amended(request, { approval_grant: answered }) };

  // Earlier than in a plain call, because the age of bindings is judged by the grant. A refusal of the
  // parameters still comes in its own place among the checks.
  const resolving = resolvedParameters(parts, caller, capability, request.parameters);
  const parameters = await resolving.catch(() => undefined);
  const grant = parameters && (await waitingGrant(parts, caller, capability, parameters));
  if (!grant) return { caller, request, resolving };
  return {
    caller: amended(caller, { loaded: amended(caller.loaded, { grant }) }),
    request: amended(request, { approval_grant: grant.grant_id }),
    resolving,
  };
}

/**
 * The grant under which a call with this key was continued before: its answer is replayed, although
 * the grant is used up. `asked` is the request of which the key tells.
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
  const question = questionOf(caller, capability, parametersDigest);
  const { store } = parts;
  const grants = await store.waitingGrants(question, store.now(), CANDIDATES_MAX);
  return usableGrant(parts, { caller, capability, parametersDigest }, grants);
}
