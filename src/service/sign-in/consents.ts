/**
 * Consents: what persons gave to clients, and how it ends.
 *
 * A consent is over when its root token is revoked or expired. Revoking that one row ends every access token
 * and every sub-agent below it.
 *
 * @module
 */

import type { AccountRecord, ConsentRecord } from '../../storage/port/sign-in-store.ts';
import { actEntry } from '../core/entries.ts';
import type { ServiceParts } from '../core/parts.ts';

/** Consents in one read. */
const PAGE = 64;

/** Who ended a consent. */
export type EndedBy =
  | { readonly person: string }
  | { readonly service: string; readonly why: string };

/** Ends a consent. True when it was alive until now. */
export async function endConsent(
  parts: ServiceParts,
  { token_id, principal, subject, consent_id }: ConsentRecord,
  by: EndedBy,
): Promise<boolean> {
  // The holder of the tokens caused what the service noticed.
  const actor = 'person' in by ? by.person : subject;
  const why = 'why' in by ? { why: by.why } : {};
  const entry = (was_alive: boolean) =>
    actEntry(
      parts,
      { principal: actor, root_principal: principal },
      {
        entry_type: 'revocation',
        token_id,
        detail: { was_alive, subject, consent_id, ...why },
      },
    );
  const revoked = await parts.store.revokeToken(token_id, parts.store.now(), entry);
  return typeof revoked === 'object' && revoked.wasAlive;
}

/** Ends every living consent of an account. */
export async function endConsentsOf(
  parts: ServiceParts,
  { principal, account_id }: AccountRecord,
  why: string,
): Promise<void> {
  for await (const consent of consentsOf(parts, principal)) {
    if (consent.account_id !== account_id || !(await isAlive(parts, consent))) continue;
    await endConsent(parts, consent, { service: parts.definition.id, why });
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

export async function isAlive(
  { store }: Pick<ServiceParts, 'store'>,
  { token_id, expires_at }: Pick<ConsentRecord, 'token_id' | 'expires_at'>,
): Promise<boolean> {
  if (expires_at <= store.now()) return false;
  const { token, lineage } = await store.load({ tokenId: token_id });
  return token !== undefined && lineage.every(({ revoked_at }) => revoked_at === undefined);
}
