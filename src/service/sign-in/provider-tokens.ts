/**
 * Tokens of an identity provider for this service as its client: identity tokens and logout tokens.
 *
 * Both are signed by the same keys and carry similar claims, so each rule here also keeps one from passing for
 * the other. Which login an identity token belongs to is decided in `provider.ts`.
 *
 * @module
 */

import type { ProviderClient } from '../../config/parts.ts';
import { SKEW_SECONDS, unfitToken } from '../../domain/authority/external-identity.ts';
import { failure, Refusal } from '../../domain/failure.ts';
import type { Logger } from '../../log.ts';
import { claimedIssuer, type Issuer, type Json, type VerifiedToken } from '../authority/issuers.ts';

/** One issuer, and this service as its client. */
export interface Connection {
  readonly issuer: Issuer;
  readonly client: ProviderClient;
  readonly now: () => Date;
  readonly log: Logger;
}

/** The claims of an identity token for this client. OpenID Connect Core, 3.1.3.7. */
export async function identityClaims(
  { issuer, client, now }: Connection,
  token: unknown,
): Promise<VerifiedToken['payload']> {
  if (typeof token !== 'string') return refuseLogin('the provider gave no identity token');
  if (claimedIssuer(token) !== issuer.rules.issuer) {
    return refuseLogin('the identity token is not one of the provider');
  }
  const { payload, protectedHeader } = await issuer.verified(token, {
    audience: client.client_id,
    requiredClaims: ['exp', 'iat', 'sub'],
  });
  const party = { audience: client.client_id };
  const why = unfitToken({ typ: protectedHeader.typ, claims: payload }, party, now());
  if (why) return refuseLogin(`the identity token does not fit: ${why}`);
  if (payload.azp !== undefined && payload.azp !== client.client_id) {
    return refuseLogin('the identity token was issued to another client');
  }
  if (!shortText(payload, 'sub')) return refuseLogin('the identity token has no usable "sub"');
  return payload;
}

export interface LoggedOut {
  readonly sub?: string | undefined;
  readonly sid?: string | undefined;
}

const LOGOUT_TYP = /^(?:application\/)?logout\+jwt$/i;
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** In seconds: a provider sends the token when the person signs out. */
const LOGOUT_AGE_MAX_SECONDS = 300;

/**
 * Whom a logout token names, if it fits. It may come twice, and its `jti` is not remembered: it can only end sessions of the person it names.
 * A copy ends, at worst, a session that the person began in the few minutes since; the person signs in again.
 */
export async function loggedOut(
  { issuer, client, now, log }: Connection,
  token: string,
): Promise<LoggedOut | undefined> {
  if (claimedIssuer(token) !== issuer.rules.issuer) return undefined;
  const checks = { audience: client.client_id, requiredClaims: ['iat', 'jti', 'events'] };
  const verified = await issuer.verified(token, checks).catch((error: Refusal) => {
    if (error.failure?.type === 'authentication_required') return undefined;
    throw error;
  });
  if (verified === undefined) return undefined;
  const why = unfitLogout(verified, now());
  if (why === undefined) {
    const { sub, sid } = verified.payload;
    return { sub, sid: sid as string | undefined };
  }
  log.warn({ issuer: issuer.rules.issuer, why }, 'the provider sent an unusable logout token');
  return undefined;
}

/** OpenID Connect Back-Channel Logout 1.0, 2.6. */
function unfitLogout({ payload, protectedHeader }: VerifiedToken, now: Date): string | undefined {
  const { events, nonce, jti, sub, sid, iat } = payload;
  if (!LOGOUT_TYP.test(String(protectedHeader.typ))) return 'its typ is not logout+jwt';
  const event = (events as Json | null)?.[LOGOUT_EVENT];
  if (typeof event !== 'object' || event === null) return 'it has no logout event';
  // An identity token has one: neither may pass for the other.
  if (nonce !== undefined) return 'it has a nonce';
  if (!isShortText(jti)) return 'it has no jti';
  const age = now.getTime() / 1_000 - Number(iat);
  if (!(age >= -SKEW_SECONDS && age <= LOGOUT_AGE_MAX_SECONDS)) return 'it was not issued just now';
  const named = [sub, sid].filter((each) => each !== undefined);
  return named.length > 0 && named.every(isShortText)
    ? undefined
    : 'it names no person and no session';
}

/** UTF-16 units of a claim that is stored. OpenID Connect Core, 2, gives the bound for `sub`. */
const CLAIM_LENGTH_MAX = 255;

function isShortText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= CLAIM_LENGTH_MAX;
}

/** An optional claim. */
export function shortText(claims: Json, name: string): string | undefined {
  const value = claims[name];
  if (value === undefined || isShortText(value)) return value;
  return refuseLogin(`the identity token has no usable "${name}"`);
}

export function refuseLogin(why: string): never {
  throw new Refusal(failure('authentication_required', `Cannot sign in: ${why}`));
}
