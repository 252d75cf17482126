/**
 * Nonces: texts that the service made for one person and one purpose, and that expire.
 *
 * Sealed, so the service keeps nothing, and every replica can read the nonce of another. A nonce can come twice
 * within its time; what it is for must not count twice.
 *
 * @module
 */

import { SKEW_SECONDS } from '../../domain/authority/external-identity.ts';
import type { ServiceParts } from '../operations/parts.ts';

/** In milliseconds: how long a person may take to look at a page and to find the device. */
const NONCE_MS = 10 * 60_000;

/** What the nonce is for, and whose it is. */
export type Purpose = readonly string[];

export function sealNonce({ keyring, store }: ServiceParts, purpose: Purpose): string {
  return keyring.rows.sealText(String(store.now().getTime()), aboutOf(purpose));
}

/** Whether the service made the nonce for this purpose, lately. */
export function openNonce(
  { keyring, store }: ServiceParts,
  nonce: string,
  purpose: Purpose,
): boolean {
  const text = keyring.rows.openText(nonce, aboutOf(purpose));
  const ageMs = store.now().getTime() - Number(text);
  return text !== undefined && ageMs >= -SKEW_SECONDS * 1_000 && ageMs <= NONCE_MS;
}

function aboutOf(purpose: Purpose): string {
  return `passkey ${JSON.stringify(purpose)}`;
}
