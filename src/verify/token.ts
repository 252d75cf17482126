/**
 * Verifies a delegation token without its service.
 *
 * @module
 */

import { readClaims, readCompact, TYPS } from '../domain/wire/jws.ts';
import { DelegationClaims } from '../protocol/token.ts';
import { type Check, failed, ok, type Report, reportOf, unlessFound } from './report.ts';
import { expiryCheck, type Ground, serviceCheck, serviceLimit, signatureChecks } from './signed.ts';

export interface TokenReport extends Report {
  /** The claims; present when the signature verifies. */
  readonly claims?: DelegationClaims | undefined;
}

export async function verifyToken(text: string, ground: Ground): Promise<TokenReport> {
  const read = readCompact(text, TYPS.delegation);
  const { checks, isSigned } = await signatureChecks(read, TYPS.delegation, ground.keys);
  const limits = [
    'whether the service stored the token, or revoked it or one above it',
    ...serviceLimit(ground),
  ];
  if (!read || !isSigned) return reportOf(checks, limits);

  const parsed = DelegationClaims.safeParse(readClaims(read.payload));
  if (!parsed.success) {
    const fault = 'they are not those that a service writes';
    return reportOf([...checks, failed('claims', fault)], limits);
  }
  const claims = parsed.data;
  return { ...reportOf([...checks, ...claimChecks(claims, ground)], limits), claims };
}

function claimChecks(claims: DelegationClaims, ground: Ground): Check[] {
  const isOneTime = claims.exp * 1_000 === Date.parse(claims.expires);
  return [
    ok('claims', `"${claims.jti}" of "${claims.sub}" for "${claims.root_principal}"`),
    unlessFound('audience', claims.iss === claims.aud ? undefined : 'issuer and audience differ'),
    ...serviceCheck(claims.iss, ground),
    unlessFound('expiry', isOneTime ? undefined : '"exp" and "expires" differ'),
    expiryCheck(claims.expires, ground.now),
  ];
}
