/**
 * Callers: who asks, proved by a delegation token or by a bootstrap credential.
 *
 * A token is judged in the specification's order: it is there, its signature verifies, it is stored
 * and equal to what is stored, nothing in its lineage is revoked, it has not expired. Decisions use the
 * stored row; the text only names it.
 *
 * @module
 */

import { claimsOf } from '../../domain/authority/claims.ts';
import type { Entitlement } from '../../domain/authority/entitlement.ts';
import { covers, entitles } from '../../domain/authority/scope-pattern.ts';
import { failure, Refusal } from '../../domain/failure.ts';
import { createRecent } from '../../domain/values/recent.ts';
import { canonicalJson, textDigest } from '../../domain/wire/canonical.ts';
import { jwtKind, readClaims, TYPS } from '../../domain/wire/jws.ts';
import type { Keyring } from '../../keyring/keyring.ts';
import { ARTEFACTS } from '../../keyring/wire.ts';
import type { Failure } from '../../protocol/failure.ts';
import { DelegationClaims } from '../../protocol/token.ts';
import type { Loaded } from '../../storage/port/invocation-store.ts';
import type { ActorEnded, TokenRecord } from '../../storage/port/records.ts';
import type { Ask } from './operations.ts';
import type { PresentedToken, ServiceParts, TokenReader } from './parts.ts';

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

/** A token, or a bootstrap credential; refuses when it is neither. */
export async function callerOf(parts: ServiceParts, ask: Ask): Promise<Judged<Caller>> {
  const bearer = ask.bearer();
  if (bearer === undefined) throw new Refusal(nothingPresented());
  const presented = parts.readToken(bearer);
  if (presented) {
    const loaded = await parts.store.load({ tokenId: presented.tokenId });
    return counted(parts, ask, tokenCaller(parts, presented, loaded));
  }
  const entitlement = await parts.identities.identify(bearer);
  if (!entitlement) throw new Refusal(unknownBearer(bearer, parts.definition.id));
  const { principal, caller_class } = entitlement;
  const caller = { principal, root_principal: principal, caller_class, entitlement };
  return counted<Caller>(parts, ask, { caller: { kind: 'identity', ...caller } });
}

/** A delegation token; a bootstrap credential does not do. */
export async function tokenCallerOf(parts: ServiceParts, ask: Ask): Promise<Judged> {
  const presented = presentedToken(parts, ask);
  const loaded = await parts.store.load({ tokenId: presented.tokenId });
  return counted(parts, ask, tokenCaller(parts, presented, loaded));
}

/** Counts a call of a caller that is known now, and refuses it where its root principal calls too fast. */
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

/** The part of the check that needs no store. */
export function presentedToken(parts: ServiceParts, ask: Ask): PresentedToken {
  const bearer = ask.bearer();
  if (bearer === undefined) throw new Refusal(nothingPresented());
  const presented = parts.readToken(bearer);
  if (!presented) throw new Refusal(failure('invalid_token', UNUSABLE));
  return presented;
}

/** A caller, or why there is none; `known` is who it would have been, where the token is stored. */
export type Judged<Known extends Caller = TokenCaller> =
  | { readonly caller: Known }
  | { readonly failure: Failure; readonly known?: Known | undefined };

/** Judges what was loaded for a presented token. */
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

/** Whether the caller holds a scope: in its token, or by its entitlement. */
export function holds(caller: Caller, scope: string): boolean {
  return caller.kind === 'token'
    ? caller.token.scope.some((held) => covers(held, scope))
    : caller.entitlement.scopes.some((pattern) => entitles(pattern, scope));
}

/** The token that a step of the store has to find alive; none for a bootstrap credential. */
export function actorOf(caller: Caller): string | undefined {
  return caller.kind === 'token' ? caller.token.token_id : undefined;
}

/** What a step of the store came to. Refuses where the caller's token ended before the step. */
export function acted<Outcome>(outcome: Outcome): Exclude<Outcome, ActorEnded> {
  if (outcome === 'actor_revoked') throw new Refusal(failure('invalid_token', UNUSABLE));
  if (outcome === 'actor_expired') {
    throw new Refusal(failure('token_expired', 'Cannot use the token: it has expired'));
  }
  return outcome as Exclude<Outcome, ActorEnded>;
}

/** One wording for everything that is wrong with a token, so that a forger learns nothing. */
const UNUSABLE = 'Cannot use the token: it is malformed, unknown or revoked';

/** Rows that were found to say what was signed. A store may give the same record for the same row. */
const asPresented = new WeakMap<TokenRecord, PresentedToken>();

/** Whether the row says what was signed: the digest it was kept with, and every column of it now. */
function isAsPresented(token: TokenRecord, presented: PresentedToken, service: string): boolean {
  if (asPresented.get(token) === presented) return true;
  const { signed, claims, digest } = presented;
  if (token.claims_digest !== digest) return false;
  const spelt = claimsOf(service, token);
  // The same text is the same claims; another order of them is no difference, and takes longer to see.
  const isSame = JSON.stringify(spelt) === signed || canonicalJson(spelt) === claims;
  if (isSame) asPresented.set(token, presented);
  return isSame;
}

function endedToken(token: TokenRecord, { lineage }: Loaded, now: Date): Failure | undefined {
  if (lineage.some(({ revoked_at }) => revoked_at !== undefined)) {
    return failure('invalid_token', UNUSABLE);
  }
  if (token.expires_at > now) return undefined;
  const detail = `Cannot use the token: it expired at ${token.expires_at.toISOString()}`;
  return failure('token_expired', detail, { grantable_by: token.root_principal });
}

/** Tokens in use at once by busy callers; one that was forgotten is read again when it comes back. */
const READ_TOKENS_MAX = 10_000;

/** Reads tokens, and remembers what it read: the claims of one text never change. */
export function createTokenReader(keyring: Keyring, serviceId: string): TokenReader {
  const { use, typ } = ARTEFACTS.delegation;
  const known = createRecent<string, PresentedToken>(READ_TOKENS_MAX);
  return (bearer) => {
    // Asked every time: a key may have been withdrawn since the text was read.
    const verified = keyring.verify(use, typ, bearer);
    if (!verified) return undefined;
    const before = known.get(bearer);
    if (before) return before;

    const { payload } = verified;
    const claims = DelegationClaims.safeParse(readClaims(payload));
    if (!claims.success) return undefined;
    const { iss, aud, jti } = claims.data;
    if (iss !== serviceId || aud !== serviceId) return undefined;
    const text = canonicalJson(claims.data);
    const signed = new TextDecoder().decode(payload);
    const presented = { tokenId: jti, signed, claims: text, digest: textDigest(text) };
    known.set(bearer, presented);
    return presented;
  };
}

function nothingPresented(): Failure {
  return failure(
    'authentication_required',
    'Cannot identify the caller: no credential was presented',
  );
}

/** What has the form of a JWT was meant as a token of ours, unless it names another issuer. */
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
