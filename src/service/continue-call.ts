/**
 * Calling again: a call that names no grant continues with the one that waits for it.
 *
 * Only where the caller asks for it (`continue_approved`). A grant that is found is judged and taken
 * exactly like one that the caller names: this only saves the caller from learning its id. Which call
 * gets the last use when several race is decided in the store, inside admission.
 *
 * @module
 */

import { amended } from '../domain/amended.ts';
import { digestOf } from '../domain/canonical.ts';
import type { Capability } from '../protocol/capability.ts';
import type { InvokeRequest } from '../protocol/invocation.ts';
import type { JsonObject } from '../protocol/primitives.ts';
import type { GrantRecord } from '../storage/records.ts';
import type { Question } from '../storage/store.ts';
import { usableGrant } from './approve-call.ts';
import type { TokenCaller } from './caller.ts';
import type { Parts } from './parts.ts';
import { askedUnder, continuationKey } from './replay.ts';
import { resolvedParameters } from './resolve.ts';

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

/** What makes this call the same question as an earlier one. */
export function questionOf(
  { token: { chain, session_id } }: TokenCaller,
  { name, contract_version }: Capability,
  parametersDigest: string,
): Question {
  return {
    chain,
    session_id,
    capability: name,
    contract_version,
    parameters_digest: parametersDigest,
  };
}

/** The call as if it had named the grant that waits for it; unchanged where none does. */
export async function continued(
  parts: Parts,
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
  { store }: Parts,
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
  parts: Parts,
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
