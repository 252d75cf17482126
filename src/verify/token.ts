/**
 * Verifies a delegation token without its service.
 *
 * @module
 */

import { readClaims, readCompact, TYPS } from '../domain/wire/jws.ts';
import { DelegationClaims } from '../protocol/token.ts';
import { type Check, failed, passedCheck, type Report, reportOf, unlessFound } from './report.ts';
import {
  expiryCheck,
  serviceCheck,
  serviceLimit,
  signatureChecks,
  type TrustAnchors,
} from './signed.ts';

/**
 * The checks of a token.
 *
 * @example
 * import { type TokenReport, verifyToken } from 'writ/verify';
 *
 * const anchors = { keys: { keys: [], noteKeys: [] }, now: new Date() };
 * const report: TokenReport = await verifyToken('not a token', anchors);
 * console.log(report.verdict, report.claims?.sub ?? 'of an unknown holder');
 */
export interface TokenReport extends Report {
  /** The claims; present when the signature verifies. */
  readonly claims?: DelegationClaims | undefined;
}

/**
 * Verifies a token: its signature, its claims and its time.
 *
 * @example
 * import { createService } from 'writ';
 * import { expectAnswer, testService } from 'writ/testing';
 * import { readKeys, verifyToken } from 'writ/verify';
 *
 * const desk = await testService(createService({ id: 'demo', capabilities: [] }));
 * const { client } = desk.human('ann');
 * const asked = { subject: 'agent:planner', scope: ['operator:audit'] };
 * const { token } = expectAnswer(await client.ask('tokens.issue', asked));
 * const keys = readKeys({ jwks: expectAnswer(await client.ask('jwks', {})), pinned: 'all' });
 * if ('fault' in keys) throw new Error(keys.fault);
 * const { verdict, claims } = await verifyToken(token, { keys, now: desk.now(), serviceId: 'demo' });
 * console.log(verdict, claims?.sub);
 * await desk.close();
 */
export async function verifyToken(text: string, anchors: TrustAnchors): Promise<TokenReport> {
  const read = readCompact(text, TYPS.delegation);
  const { checks, isSigned } = await signatureChecks(read, TYPS.delegation, anchors.keys);
  const limits = [
    'whether the service stored the token, or revoked it or one above it',
    ...serviceLimit(anchors),
  ];
  if (!read || !isSigned) return reportOf(checks, limits);

  const parsed = DelegationClaims.safeParse(readClaims(read.payload));
  if (!parsed.success) {
    const fault = 'they are not those that a service writes';
    return reportOf([...checks, failed('claims', fault)], limits);
  }
  const claims = parsed.data;
  return { ...reportOf([...checks, ...claimChecks(claims, anchors)], limits), claims };
}

function claimChecks(claims: DelegationClaims, anchors: TrustAnchors): Check[] {
  const isOneTime = claims.exp * 1_000 === Date.parse(claims.expires);
  return [
    passedCheck('claims', `"${claims.jti}" of "${claims.sub}" for "${claims.root_principal}"`),
    unlessFound('audience', claims.iss === claims.aud ? undefined : 'issuer and audience differ'),
    ...serviceCheck(claims.iss, anchors),
    unlessFound('expiry', isOneTime ? undefined : '"exp" and "expires" differ'),
    expiryCheck(claims.expires, anchors.now),
  ];
}
