/**
 * Issuance: makes root tokens and child tokens.
 *
 * A request passes these steps: find the parent (none for a root token), refuse a frozen principal,
 * decide the authority, insert row and entry in one transaction, sign the token. A root token
 * carries what the presented identity is entitled to. A child carries a narrowing of its parent,
 * and the store inserts it only while every token of the lineage is alive. A request names its
 * scope; nothing is inferred.
 *
 * The other files of this room:
 *
 * - `tokens.ts` revokes and shows stored tokens.
 * - `permissions.ts` lists what a token may do.
 * - `freeze.ts` is the kill switch of operators.
 * - `identities.ts` and `oidc.ts` know bootstrap credentials and external identity tokens.
 *
 * @module
 */

import { chainOf } from '../../domain/authority/chain.ts';
import { delegationClaims } from '../../domain/authority/claims.ts';
import { levelOf } from '../../domain/authority/disclosure.ts';
import {
  type Entitlement,
  unentitledClass,
  unentitledScope,
  unentitledSubject,
} from '../../domain/authority/entitlement.ts';
import {
  type Authority,
  expiryOf,
  malformedSubject,
  narrow,
  requestedSession,
  unreadableBudget,
} from '../../domain/authority/narrowing.ts';
import {
  conditionsView,
  entitledConditions,
  narrowedConditions,
  readStated,
  type TokenConditions,
} from '../../domain/authority/token-conditions.ts';
import { failure, Refusal, refuse } from '../../domain/failure.ts';
import { issuanceFacts } from '../../domain/log/entry-facts.ts';
import { amended } from '../../domain/values/amended.ts';
import { canonicalJson, textDigest } from '../../domain/wire/canonical.ts';
import { utf8 } from '../../domain/wire/hash.ts';
import { PAYLOAD_BYTES_MAX, readClaims } from '../../domain/wire/jws.ts';
import { ARTEFACTS } from '../../keyring/wire.ts';
import type { Failure } from '../../protocol/failure.ts';
import {
  type DelegationClaims,
  type IssueAnswer,
  type IssueRequest,
  TTL_HOURS_DEFAULT,
} from '../../protocol/token.ts';
import type { LineageLink, TokenRecord } from '../../storage/port/records.ts';
import { capabilityOf } from '../author/definition.ts';
import { absenceOf } from '../author/off.ts';
import { audited } from '../caller/audited.ts';
import { type Caller, callerOf, type IdentityCaller } from '../caller/caller.ts';
import { actEntry } from '../caller/entries.ts';
import { type Ask, requestOf } from '../operations/operations.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { newId } from '../operations/random.ts';
import { frozenFor } from './freeze.ts';

/**
 * Bounds the children of one token. A holder that needs more should ask for its own root tokens.
 */
const CHILDREN_PER_TOKEN_MAX = 10_000;

export async function issueToken(parts: ServiceParts, ask: Ask): Promise<IssueAnswer> {
  const judged = await callerOf(parts, ask);
  const { signed } = await audited(parts, judged, 'issuance', async (caller) => {
    const request = requestOf('tokens.issue', ask);
    refuse(unknownBinding(parts, request));
    const { parent_token: parentId } = request;
    const parent =
      parentId === undefined ? noParent(caller) : await parentOf(parts, caller, parentId);
    refuse(await frozenFor(parts, parent?.token.root_principal ?? caller.root_principal));
    return parent
      ? issueChild(parts, caller, parent, request)
      : issueRoot(parts, caller as IdentityCaller, request);
  });
  const issued = await signed();
  ask.proved?.(issued.token);
  return issued;
}

async function issueRoot(
  parts: ServiceParts,
  caller: IdentityCaller,
  request: IssueRequest,
): Promise<UnsignedToken> {
  const subject = request.subject ?? caller.principal;
  refuse(malformedSubject(subject));
  refuse(unentitledSubject(caller.entitlement, subject));
  const authority = rootAuthority(parts, caller.entitlement, amended(request, { subject }));
  const token = unsignedToken(parts, authority);
  await parts.store.insertRoot(token.record, issuanceEntry(parts, caller, token.record));
  return token;
}

/** What a root token carries. The caller has checked that the subject may be named. */
export function rootAuthority(
  { config, definition, store }: ServiceParts,
  entitlement: Entitlement,
  request: IssueRequest & { readonly subject: string },
): Authority {
  const { subject } = request;
  refuse(unentitledScope(entitlement, request.scope));
  refuse(unentitledClass(entitlement, request.caller_class));
  refuse(unreadableBudget(request));
  const conditions = rootConditions(definition, entitlement, request);
  refuse(excessiveLifetime(request, config.max_ttl_hours));
  refuse(excessiveDepth(request, config.max_delegation_depth));
  const { session, failure: found } = requestedSession(request);
  refuse(found);
  return {
    subject,
    root_principal: entitlement.principal,
    scope: request.scope,
    capability: request.capability,
    purpose: request.purpose_parameters ?? {},
    budget: request.budget,
    caller_class: request.caller_class ?? entitlement.caller_class,
    concurrent_branches: request.concurrent_branches ?? 'allowed',
    depth: 0,
    max_delegation_depth: request.max_delegation_depth ?? config.max_delegation_depth,
    session_id: session,
    conditions,
    // The default is cut to the configured maximum, because keys are retired after the longest
    // lifetime.
    expires_at: expiryOf(
      Math.min(request.ttl_hours ?? TTL_HOURS_DEFAULT, config.max_ttl_hours),
      store.now(),
    ),
  };
}

/** What the entitlement fixes, and what the request states within it. */
function rootConditions(
  definition: ServiceParts['definition'],
  { conditions, principal }: Entitlement,
  request: IssueRequest,
): TokenConditions | undefined {
  const held = entitledConditions(conditions, (name) => capabilityOf(definition, name));
  const narrowed = narrowedConditions(held, statedConditions(definition, request), (detail) =>
    failure('not_entitled', `${detail} for ${principal}`),
  );
  if ('failure' in narrowed) throw new Refusal(narrowed.failure);
  return narrowed.conditions;
}

/** The conditions that a request states, or a refusal. */
function statedConditions(
  definition: ServiceParts['definition'],
  { conditions }: IssueRequest,
): TokenConditions | undefined {
  if (conditions === undefined) return undefined;
  const read = readStated(conditions, (name) => capabilityOf(definition, name));
  if ('failure' in read) throw new Refusal(read.failure);
  return read.conditions;
}

async function issueChild(
  parts: ServiceParts,
  caller: Caller,
  parent: Parent,
  request: IssueRequest,
): Promise<UnsignedToken> {
  const subject = request.subject ?? (caller.kind === 'identity' ? caller.principal : undefined);
  if (subject === undefined) {
    const detail = 'Cannot delegate: expected "subject", the principal that gets the token';
    throw new Refusal(failure('invalid_parameters', detail));
  }
  const now = parts.store.now();
  const narrowed = narrow(
    parent.token,
    { ...request, subject },
    {
      now,
      disclosure: (name) => levelOf(parts.config.disclosure, name),
      conditions: statedConditions(parts.definition, request),
    },
  );
  if ('failure' in narrowed) throw new Refusal(narrowed.failure);

  const token = unsignedToken(parts, narrowed.authority, parent);
  const bounds = { now, childrenMax: CHILDREN_PER_TOKEN_MAX, judged: parent.lineage };
  const inserted = await parts.store.insertChild(
    token.record,
    issuanceEntry(parts, caller, token.record),
    bounds,
  );
  if (inserted !== 'inserted') throw new Refusal(LOST[inserted](parent.token));
  return token;
}

/** Failures for a parent that changed between the first look and the insertion. */
const LOST = {
  parent_unknown: (parent: TokenRecord) => notTheirs(parent.token_id),
  parent_altered: (parent: TokenRecord) => notTheirs(parent.token_id),
  parent_revoked: () => failure('invalid_token', 'Cannot delegate: the parent token is revoked'),
  parent_expired: () => failure('token_expired', 'Cannot delegate: the parent token has expired'),
  too_many: (parent: TokenRecord) =>
    failure(
      'delegation_depth_exceeded',
      `Cannot delegate: "${parent.token_id}" has ${CHILDREN_PER_TOKEN_MAX} children`,
      { grantable_by: parent.root_principal },
    ),
} as const;

/** A token to delegate from, with its lineage. */
export interface Parent {
  readonly token: TokenRecord;
  /** Root first, the token itself last. */
  readonly lineage: readonly LineageLink[];
}

/** A token without a parent takes an identity. */
function noParent(caller: Caller): undefined {
  if (caller.kind === 'identity') return undefined;
  const detail =
    'Cannot issue a root token: it takes a bootstrap credential; to delegate, name the presented token as "parent_token"';
  throw new Refusal(failure('invalid_parameters', detail));
}

/**
 * The token to delegate from: the presented one, or a stored one that belongs to the presented
 * identity. The answer for a foreign token is the same as for an unknown one.
 */
async function parentOf(parts: ServiceParts, caller: Caller, parentId: string): Promise<Parent> {
  if (caller.kind === 'token') {
    if (caller.token.token_id !== parentId) throw new Refusal(notTheirs(parentId));
    return { token: caller.token, lineage: caller.loaded.lineage };
  }
  const { token, lineage } = await parts.store.load({ tokenId: parentId });
  const theirs = token?.subject === caller.principal || token?.root_principal === caller.principal;
  if (!token || !theirs) throw new Refusal(notTheirs(parentId));
  return { token, lineage };
}

function notTheirs(parentId: string) {
  return failure(
    'not_entitled',
    `Cannot delegate from "${parentId}": it is not the caller's token`,
  );
}

/** A token that is not signed yet. */
export interface UnsignedToken {
  readonly record: TokenRecord;
  /**
   * Signs the token. Issuance calls it when the row is durable, so that the signatures of one commit are made together
   * (decision 06). Refuses when the key of the row was withdrawn meanwhile. Then, and after a crash in between, the
   * row has no text that could be presented.
   */
  signed(): Promise<IssueAnswer>;
}

/** The row of a token, and what signs its text with the key that the row names. */
export function unsignedToken(
  parts: ServiceParts,
  authority: Authority,
  parent?: Parent,
): UnsignedToken {
  const token_id = newId(parts.platform, 'tok_');
  const above = parent?.lineage.map(({ subject }) => subject) ?? [];
  const issued_at = parts.store.now();
  const issued = amended(authority, {
    token_id,
    parent_token_id: parent?.token.token_id,
    issued_at,
  });
  const claims = delegationClaims(parts.definition.id, issued);
  refuse(unreadableClaims(claims));
  // One text for the signature and for the digest in row and entry.
  const text = canonicalJson(claims);
  const payload = utf8(text);
  refuse(longPayload(payload));
  const { use, typ } = ARTEFACTS.delegation;
  const signer = parts.keyring.signer(use);
  const record: TokenRecord = amended(issued, {
    lineage: [...(parent?.token.lineage ?? []), token_id],
    chain: chainOf(authority.root_principal, [...above, authority.subject]),
    kid: signer.kid,
    claims_digest: textDigest(text),
  });
  return {
    record,
    signed: async () => issueAnswer(record, claims, await signer.sign(typ, payload)),
  };
}

function issueAnswer(
  record: TokenRecord,
  { expires }: DelegationClaims,
  token: string | undefined,
): IssueAnswer {
  if (token === undefined) {
    const detail = 'Cannot issue a token: the key that signs tokens was just withdrawn; ask again';
    throw new Refusal(failure('service_unavailable', detail, { estimated_availability: 'PT1S' }));
  }
  return {
    issued: true,
    token_id: record.token_id,
    token,
    scope: [...record.scope],
    capability: record.capability ?? null,
    task_id: (record.purpose.task_id as string | undefined) ?? null,
    budget: record.budget ?? null,
    conditions: conditionsView(record.conditions),
    expires_at: expires,
    expires,
  };
}

/** `about` says more than the row: how the token came to be. */
export function issuanceEntry(
  parts: ServiceParts,
  caller: Pick<Caller, 'principal'>,
  token: TokenRecord,
  about: Readonly<Record<string, unknown>> = {},
) {
  return actEntry(
    parts,
    { principal: caller.principal, root_principal: token.root_principal },
    {
      entry_type: 'issuance',
      token_id: token.token_id,
      capability: token.capability,
      task_id: token.purpose.task_id as string | undefined,
      detail: { ...about, ...issuanceFacts(parts.definition.id, token, token.claims_digest) },
    },
  );
}

/**
 * A token that could not be read back is not issued. Only a purpose and an amount are values of the caller's own; the
 * schema of the request bounds the form of all others.
 */
function unreadableClaims(claims: DelegationClaims): Failure | undefined {
  if (claims.purpose === undefined && claims.constraints.budget === undefined) return undefined;
  const payload = utf8(JSON.stringify(claims));
  const found = longPayload(payload);
  if (found || readClaims(payload) !== undefined) return found;
  return failure('invalid_parameters', 'Cannot issue a token: purpose_parameters nest too deep');
}

/** A longer token would not fit into a header. */
function longPayload(payload: Uint8Array): Failure | undefined {
  if (payload.length <= PAYLOAD_BYTES_MAX) return undefined;
  const detail = `Cannot issue a token: its claims take ${payload.length} bytes, ${PAYLOAD_BYTES_MAX} fit`;
  return failure('invalid_parameters', detail);
}

export function unknownBinding(
  { definition }: ServiceParts,
  { capability }: Pick<IssueRequest, 'capability'>,
) {
  if (capability === undefined || capabilityOf(definition, capability)) return undefined;
  const why = absenceOf(definition, capability);
  const detail = `Cannot bind a token to "${capability}": ${why}`;
  return failure('unknown_capability', detail);
}

function excessiveLifetime({ ttl_hours: hours }: IssueRequest, most: number) {
  if (hours === undefined || hours <= most) return undefined;
  const detail = `Cannot issue a token for ${hours} hours: ttl_hours is at most ${most}`;
  return failure('invalid_parameters', detail);
}

function excessiveDepth({ max_delegation_depth: depth }: IssueRequest, most: number) {
  if (depth === undefined || depth <= most) return undefined;
  const detail = `Cannot set max_delegation_depth ${depth}: the service admits ${most}`;
  return failure('delegation_depth_exceeded', detail);
}
