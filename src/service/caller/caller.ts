/**
 * Callers: who asks, proved by a delegation token or by a bootstrap credential.
 *
 * A token is judged in the order of the specification: it is present, its signature verifies, it is
 * stored, it equals the stored row, nothing in its lineage is revoked, and it has not expired.
 * Decisions use the stored row. The token text only identifies the row.
 *
 * @module
 */

import { delegationClaims } from '../../domain/authority/claims.ts';
import type { Entitlement } from '../../domain/authority/entitlement.ts';
import { covers, entitles } from '../../domain/authority/scope-pattern.ts';
import { failure, Refusal } from '../../domain/failure.ts';
import { canonicalJson, textDigest } from '../../domain/wire/canonical.ts';
import { jwtKind, readClaims, TYPS } from '../../domain/wire/jws.ts';
import type { Keyring } from '../../keyring/keyring.ts';
import { ARTEFACTS } from '../../keyring/wire.ts';
import type { Failure } from '../../protocol/failure.ts';
import { type OperationName, operations } from '../../protocol/operations.ts';
import { DelegationClaims } from '../../protocol/token.ts';
import type { Loaded } from '../../storage/port/invocation-store.ts';
import type { ActorEnded, TokenRecord } from '../../storage/port/records.ts';
import { type Ask, failureOf } from '../operations/operations.ts';
import type { PresentedToken, ServiceParts, TokenReader } from '../operations/parts.ts';

export interface TokenCaller {
  readonly kind: 'token';
  readonly principal: string;
  readonly root_principal: string;
  readonly caller_class: string;
  readonly token: TokenRecord;
  readonly loaded: Loaded;
}

export interface IdentityCaller {
  readonly kind: 'identity';
  readonly principal: string;
  readonly root_principal: string;
  readonly caller_class: string;
  readonly entitlement: Entitlement;
}

export type Caller = TokenCaller | IdentityCaller;

/** A caller, and the request by which it asks. */
export interface Asking {
  readonly caller: Caller;
  readonly ask: Ask;
}

/** The caller by its token or bootstrap credential. Refuses anything else. */
export async function callerOf(parts: ServiceParts, ask: Ask): Promise<Judged<Caller>> {
  if (ask.bySession) return sessionCallerOf(parts, ask, ask.bySession);
  const bearer = ask.bearer();
  if (bearer === undefined) return appCallerOf(parts, ask);
  const presented = parts.readToken(bearer);
  if (presented) {
    const loaded = await parts.store.load({ tokenId: presented.tokenId });
    return counted(parts, ask, tokenCaller(parts, presented, loaded));
  }
  const entitlement = await parts.identities.identify(bearer);
  if (!entitlement) throw new Refusal(unknownBearer(bearer, parts.definition.id));
  return counted<Caller>(parts, ask, { caller: identityCaller(entitlement) });
}

/** The person of a browser session. A credential beside the cookie of a session counts for nothing. */
async function sessionCallerOf(
  parts: ServiceParts,
  ask: Ask,
  bySession: NonNullable<Ask['bySession']>,
): Promise<Judged<Caller>> {
  const entitlement = await bySession();
  if (!entitlement) {
    const detail = 'Cannot identify the person: the session is over; sign in again';
    throw new Refusal(failure('authentication_required', detail));
  }
  return counted<Caller>(parts, ask, { caller: identityCaller(entitlement) });
}

/** The caller that the app around the service knows, when it presents no credential. */
async function appCallerOf(parts: ServiceParts, ask: Ask): Promise<Judged<Caller>> {
  const entitlement = ask.byApp && (await parts.identities.identifyBy(ask.byApp));
  if (!entitlement) throw new Refusal(nothingPresented());
  return counted<Caller>(parts, ask, { caller: identityCaller(entitlement) });
}

function identityCaller(entitlement: Entitlement): IdentityCaller {
  const { principal, caller_class } = entitlement;
  return { kind: 'identity', principal, root_principal: principal, caller_class, entitlement };
}

/** The caller by its delegation token. Refuses a bootstrap credential. */
export async function tokenCallerOf(parts: ServiceParts, ask: Ask): Promise<Judged> {
  const presented = presentedToken(parts, ask);
  const loaded = await parts.store.load({ tokenId: presented.tokenId });
  return counted(parts, ask, tokenCaller(parts, presented, loaded));
}

/** Counts a call of a known caller, and refuses it when its root principal calls too fast. */
function counted<Known extends Caller>(
  { rates }: Pick<ServiceParts, 'rates'>,
  ask: Ask,
  judged: Judged<Known>,
): Judged<Known> {
  if ('failure' in judged) return judged;
  ask.proved?.();
  const found = rates.outpaced(judged.caller.root_principal);
  return found ? { failure: found, known: judged.caller } : judged;
}

/**
 * Why no caller of an operation presents this credential; nothing when one may. Judged before the request is read: a
 * token by its signature alone, and only another credential may need the store.
 */
export async function strangerTo(
  parts: ServiceParts,
  name: OperationName,
  ask: Pick<Ask, 'bearer'>,
): Promise<Failure | undefined> {
  try {
    const bearer = ask.bearer();
    if (bearer === undefined) return nothingPresented();
    if (parts.readToken(bearer)) return undefined;
    if (operations[name].auth === 'token') return failure('invalid_token', UNUSABLE);
    const isKnown = await parts.identities.identify(bearer);
    return isKnown ? undefined : unknownBearer(bearer, parts.definition.id);
  } catch (error) {
    return failureOf(name, error, parts.log);
  }
}

/** The part of the judgement that does not need the store. */
export function presentedToken(parts: ServiceParts, ask: Ask): PresentedToken {
  const bearer = ask.bearer();
  if (bearer === undefined) throw new Refusal(nothingPresented());
  const presented = parts.readToken(bearer);
  if (!presented) throw new Refusal(failure('invalid_token', UNUSABLE));
  return presented;
}

/** The token of a caller as its text would present it: for a call that a handler makes, which has no text. */
export function presentedBy({ definition }: ServiceParts, { token }: TokenCaller): PresentedToken {
  const claims = canonicalJson(delegationClaims(definition.id, token));
  return { tokenId: token.token_id, claims, digest: token.claims_digest };
}

/**
 * A caller, or the failure of a refused one. `known` is the owner of a stored token that is
 * refused.
 */
export type Judged<Known extends Caller = TokenCaller> =
  | { readonly caller: Known }
  | { readonly failure: Failure; readonly known?: Known | undefined };

/** Judges the rows that were loaded for a presented token. */
export function tokenCaller(
  { definition, store }: Pick<ServiceParts, 'definition' | 'store'>,
  presented: PresentedToken,
  loaded: Loaded,
): Judged {
  const { token } = loaded;
  if (!token || !isAsPresented(token, presented, definition.id)) {
    return { failure: failure('invalid_token', UNUSABLE) };
  }
  const caller: TokenCaller = {
    kind: 'token',
    principal: token.subject,
    root_principal: token.root_principal,
    caller_class: token.caller_class,
    token,
    loaded,
  };
  const found = endedToken(token, loaded, store.now());
  return found ? { failure: found, known: caller } : { caller };
}

/** Whether the token or the entitlement of the caller has the scope. */
export function holdsScope(caller: Caller, scope: string): boolean {
  return caller.kind === 'token'
    ? caller.token.scope.some((held) => covers(held, scope))
    : caller.entitlement.scopes.some((pattern) => entitles(pattern, scope));
}

/** The token that the store must find alive in the same transaction; none for a credential. */
export function actorOf(caller: Caller): string | undefined {
  return caller.kind === 'token' ? caller.token.token_id : undefined;
}

/** The outcome of a transition. Refuses when the token of the caller ended before it. */
export function acted<Outcome>(outcome: Outcome): Exclude<Outcome, ActorEnded> {
  if (outcome === 'actor_revoked') throw new Refusal(failure('invalid_token', UNUSABLE));
  if (outcome === 'actor_expired') {
    throw new Refusal(failure('token_expired', 'Cannot use the token: it has expired'));
  }
  return outcome as Exclude<Outcome, ActorEnded>;
}

/** One text for every fault of a token, so that a forger learns nothing from it. */
const UNUSABLE = 'Cannot use the token: it is malformed, unknown or revoked';

/**
 * Records already compared with the signed claims. A store may return the same record for one row.
 */
const asPresented = new WeakMap<TokenRecord, PresentedToken>();

/** Whether the stored digest and every column now equal the signed claims. */
function isAsPresented(token: TokenRecord, presented: PresentedToken, service: string): boolean {
  if (asPresented.get(token) === presented) return true;
  const { claims, digest } = presented;
  if (token.claims_digest !== digest) return false;
  const isSame = canonicalJson(delegationClaims(service, token)) === claims;
  if (isSame) asPresented.set(token, presented);
  return isSame;
}

function endedToken(token: TokenRecord, { lineage }: Loaded, now: Date): Failure | undefined {
  if (lineage.some(({ revoked_at }) => revoked_at !== undefined)) {
    return failure('invalid_token', UNUSABLE);
  }
  if (token.expires_at.getTime() > now.getTime()) return undefined;
  const detail = `Cannot use the token: it expired at ${token.expires_at.toISOString()}`;
  return failure('token_expired', detail, { grantable_by: token.root_principal });
}

/** Reads tokens and remembers their claims as long as the keyring remembers their texts. */
export function createTokenReader(keyring: Keyring, serviceId: string): TokenReader {
  const { use, typ } = ARTEFACTS.delegation;
  const known = new WeakMap<object, PresentedToken>();
  return (bearer) => {
    // Verified every time: a key may have been withdrawn since the text was first read.
    const verified = keyring.verify(use, typ, bearer);
    if (!verified) return undefined;
    const before = known.get(verified);
    if (before) return before;

    const { payload } = verified;
    const claims = DelegationClaims.safeParse(readClaims(payload));
    if (!claims.success) return undefined;
    const { iss, aud, jti } = claims.data;
    if (iss !== serviceId || aud !== serviceId) return undefined;
    const text = canonicalJson(claims.data);
    const presented = { tokenId: jti, claims: text, digest: textDigest(text) };
    known.set(verified, presented);
    return presented;
  };
}

function nothingPresented(): Failure {
  return failure(
    'authentication_required',
    'Cannot identify the caller: no credential was presented',
  );
}

/** A JWT counts as a token of this service unless it names another issuer. */
function unknownBearer(bearer: string, serviceId: string): Failure {
  const kind = jwtKind(bearer);
  if (kind === undefined) return failure('authentication_required', UNKNOWN_CREDENTIAL);
  const isIdentity = kind.typ !== TYPS.delegation && (kind.iss ?? serviceId) !== serviceId;
  return isIdentity
    ? failure('authentication_required', UNKNOWN_ISSUER)
    : failure('invalid_token', UNUSABLE);
}

const UNKNOWN_CREDENTIAL = 'Cannot identify the caller: the credential is not known';
const UNKNOWN_ISSUER =
  'Cannot identify the caller: no issuer that this service accepts signed the identity token';

/** What is remembered of a token. A row has more, and an answer may meet thousands of tokens. */
export type RememberedToken = Pick<TokenRecord, 'token_id' | 'lineage' | 'subject'>;

/** Reads each token once. Most entries of a page have the same few tokens. */
export function rememberedTokens({ store }: Pick<ServiceParts, 'store'>) {
  const known = new Map<string, RememberedToken | undefined>();
  return async (tokenId: string | null): Promise<RememberedToken | undefined> => {
    if (tokenId === null) return undefined;
    if (!known.has(tokenId)) {
      const { token } = await store.load({ tokenId });
      known.set(tokenId, token && remembered(token));
    }
    return known.get(tokenId);
  };
}

function remembered({ token_id, lineage, subject }: TokenRecord): RememberedToken {
  return { token_id, lineage, subject };
}
