/**
 * External identities: accepts tokens of the configured issuers only.
 *
 * An external token proves an identity; it is never a delegation token. Documents and signatures are those
 * of `issuers.ts`.
 *
 * @module
 */

import {
  type Claims,
  principalOfClaims,
  unfitToken,
} from '../../domain/authority/external-identity.ts';
import { Refusal } from '../../domain/failure.ts';
import { claimedIssuer, type Issuer, type Issuers, unusableToken } from './issuers.ts';

export interface ExternalIdentities {
  /** The principal of an external token; `undefined` when no configured issuer made it. */
  principal(bearer: string): Promise<string | undefined>;
}

export function createExternalIdentities(issuers: Issuers, now: () => Date): ExternalIdentities {
  return {
    async principal(bearer) {
      const issuer = issuers.get(claimedIssuer(bearer) ?? '');
      if (!issuer) return undefined;
      const claims = await verifiedClaims(bearer, issuer, now);
      const principal = principalOfClaims(claims, issuer.rules);
      if (principal) return principal;
      throw new Refusal(unusableToken('its claims name no principal'));
    },
  };
}

async function verifiedClaims(bearer: string, issuer: Issuer, now: () => Date): Promise<Claims> {
  const { rules } = issuer;
  const { payload, protectedHeader } = await issuer.verified(bearer, {
    audience: rules.audience,
    requiredClaims: ['exp', 'iat', 'sub'],
  });
  const why = unfitToken({ typ: protectedHeader.typ, claims: payload }, rules, now());
  if (why) throw new Refusal(unusableToken(why));
  return payload;
}
