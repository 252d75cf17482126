/**
 * Verifies an approval grant without its service.
 *
 * @module
 */

import { isObject } from '../domain/wire/json.ts';
import { readDetached, TYPS } from '../domain/wire/jws.ts';
import { Grant } from '../protocol/approval.ts';
import { type Check, failed, passedCheck, type Report, reportOf } from './report.ts';
import { canonicalBytes, expiryCheck, signatureChecks, type TrustAnchors } from './signed.ts';

/**
 * The checks of a grant.
 *
 * @example
 * import { type GrantReport, verifyGrant } from 'writ/verify';
 *
 * const anchors = { keys: { keys: [], noteKeys: [] }, now: new Date() };
 * const report: GrantReport = await verifyGrant({ grant_id: 'unsigned' }, anchors);
 * console.log(report.grant ? `for ${report.grant.capability}` : report.checks);
 */
export interface GrantReport extends Report {
  /** The grant; present when the signature verifies. */
  readonly grant?: Grant | undefined;
}

/**
 * Verifies a grant. The signature covers every field as received, also fields that this version does not know.
 *
 * @example
 * import { createService, defineCapability } from 'writ';
 * import { expectAnswer, testService } from 'writ/testing';
 * import { readKeys, verifyGrant } from 'writ/verify';
 *
 * const refund = defineCapability({
 *   name: 'refund', description: 'Pay back', side_effect: 'irreversible',
 *   minimum_scope: ['refund'], approval: { when: 'always' }, handler: () => ({ paid: true }),
 * });
 * const shop = await testService(createService({ id: 'shop', capabilities: [refund] }));
 * const [agent, bob] = [await shop.caller('clerk'), shop.human('bob')];
 * const grant = expectAnswer(await bob.approve(await agent.invoke('refund')));
 * const keys = readKeys({ jwks: expectAnswer(await bob.client.ask('jwks', {})), pinned: 'all' });
 * if (!('fault' in keys)) console.log((await verifyGrant(grant, { keys, now: shop.now() })).verdict);
 * await shop.close();
 */
export async function verifyGrant(value: unknown, anchors: TrustAnchors): Promise<GrantReport> {
  const parsed = Grant.safeParse(value);
  if (!parsed.success || !isObject(value)) {
    return reportOf([failed('form', 'it is not a grant as services write it')]);
  }
  const grant = parsed.data;
  const { signature: _, ...content } = value;
  const payload = canonicalBytes(content);
  const read = payload && readDetached(grant.signature, TYPS.grant, payload);
  const { checks, isSigned } = await signatureChecks(read, TYPS.grant, anchors.keys);
  const limits = [
    'how often it was used, and whether its approvers still may approve',
    'which service it is of, beyond whose keys signed it: a grant does not say',
  ];
  if (!isSigned) return reportOf(checks, limits);
  const all: Check[] = [...checks, contentOf(grant), expiryCheck(grant.expires_at, anchors.now)];
  return { ...reportOf(all, limits), grant };
}

function contentOf({ grant_id, capability, approved_by, max_uses }: Grant): Check {
  const uses = max_uses === 1 ? 'once' : `${max_uses} times`;
  return passedCheck(
    'content',
    `"${grant_id}": "${capability}" ${uses}, by ${approved_by.join(', ')}`,
  );
}
