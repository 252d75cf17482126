/**
 * Consents: what persons gave to clients, and how it ends.
 *
 * A consent is over when its root token is revoked or expired. Revoking that one row ends every access token
 * and every sub-agent below it.
 *
 * @module
 */

import type { AccountRecord, ConsentRecord } from '../../storage/port/sign-in-store.ts';
import type { Parent } from '../authority/issue.ts';
import { revocationEntry } from '../authority/tokens.ts';
import type { ServiceParts } from '../operations/parts.ts';

/** Consents in one read. */
const PAGE = 64;

/** Who ends a consent: a person or the agent itself by name, or the service for a reason. */
type EndedBy = { readonly actor: string } | { readonly why: string };

/**
 * Ends a consent. True when it was alive until now. One that is over leaves no further entry: a secret of
 * it may be presented again and again.
 */
export async function endConsent(
  parts: ServiceParts,
  consent: ConsentRecord,
  by: EndedBy,
): Promise<boolean> {
  const root = await livingToken(parts, consent);
  if (!root) return false;
  const { consent_id, subject } = consent;
  // The holder of the tokens caused what the service noticed.
  const [actor, about] =
    'actor' in by ? [by.actor, { consent_id }] : [subject, { consent_id, why: by.why }];
  const entry = revocationEntry(parts, actor, root.token, about);
  const revoked = await parts.store.revokeToken(consent.token_id, parts.store.now(), entry);
  return typeof revoked === 'object' && revoked.wasAlive;
}

/** Ends every consent of an account. */
export async function endConsentsOf(
  parts: ServiceParts,
  { principal, account_id }: AccountRecord,
  why: string,
): Promise<void> {
  for await (const consent of consentsOf(parts, principal)) {
    if (consent.account_id === account_id) await endConsent(parts, consent, { why });
  }
}

/** All consents of a person, newest first, read in pages. */
export async function* consentsOf(
  { store }: Pick<ServiceParts, 'store'>,
  principal: string,
): AsyncGenerator<ConsentRecord, void, undefined> {
  let before: ConsentRecord | undefined;
  while (true) {
    const page = await store.listConsents(principal, PAGE, before);
    yield* page;
    if (page.length < PAGE) return;
    before = page.at(-1);
  }
}

/** A token with its lineage, while nothing of it is revoked and it has not expired. */
export async function livingToken(
  { store }: Pick<ServiceParts, 'store'>,
  { token_id }: Pick<ConsentRecord, 'token_id'>,
): Promise<Parent | undefined> {
  const { token, lineage } = await store.load({ tokenId: token_id });
  const isOver = lineage.some(({ revoked_at }) => revoked_at !== undefined);
  if (!token || isOver || token.expires_at <= store.now()) return undefined;
  return { token, lineage };
}
