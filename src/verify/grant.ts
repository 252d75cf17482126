/**
 * Verifies an approval grant without its service.
 *
 * @module
 */

import { isObject } from '../domain/wire/json.ts';
import { readDetached, TYPS } from '../domain/wire/jws.ts';
import { Grant } from '../protocol/approval.ts';
import { type Check, failed, ok, type Report, reportOf } from './report.ts';
import { canonicalBytes, expiryCheck, type Ground, signatureChecks } from './signed.ts';

export interface GrantReport extends Report {
  /** The grant; present when the signature verifies. */
  readonly grant?: Grant | undefined;
}

/** The signature covers every field as received, also fields that this version does not know. */
export async function verifyGrant(value: unknown, ground: Ground): Promise<GrantReport> {
  const parsed = Grant.safeParse(value);
  if (!parsed.success || !isObject(value)) {
    return reportOf([failed('form', 'it is not a grant as services write it')]);
  }
  const grant = parsed.data;
  const { signature: _, ...content } = value;
  const payload = canonicalBytes(content);
  const read = payload && readDetached(grant.signature, TYPS.grant, payload);
  const { checks, isSigned } = await signatureChecks(read, TYPS.grant, ground.keys);
  const limits = [
    'how often it was used, and whether its approvers still may approve',
    'which service it is of, beyond whose keys signed it: a grant does not say',
  ];
  if (!isSigned) return reportOf(checks, limits);
  const all: Check[] = [...checks, contentOf(grant), expiryCheck(grant.expires_at, ground.now)];
  return { ...reportOf(all, limits), grant };
}

function contentOf({ grant_id, capability, approved_by, max_uses }: Grant): Check {
  const uses = max_uses === 1 ? 'once' : `${max_uses} times`;
  return ok('content', `"${grant_id}": "${capability}" ${uses}, by ${approved_by.join(', ')}`);
}
