/**
 * Secrets that the service hands out once and recognises later: of sessions, of codes and of invitations.
 *
 * The store holds the digest only, so a copy of the database opens no session.
 *
 * @module
 */

import { createHash, randomBytes, randomInt } from 'node:crypto';

/** In bytes: no one finds such a secret by trying. */
const SECRET_BYTES = 32;

/** 43 characters of base64url. */
const SECRET = /^[A-Za-z0-9_-]{43}$/;

export function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

/** The form in which a secret is stored; undefined for a text that `newSecret` cannot have made. */
export function secretHash(secret: string): string | undefined {
  if (!SECRET.test(secret)) return undefined;
  return createHash('sha256').update(secret).digest('hex');
}

/** Six digits for a person to type. They count only beside a secret, and only a few times. */
export function newDigits(): string {
  return String(randomInt(1_000_000)).padStart(6, '0');
}

/** The form in which digits are stored: whoever copies the database can try a million of them only with the secret. */
export function digitsHash(secret: string, digits: string): string {
  return createHash('sha256').update(`${secret}\n${digits}`).digest('hex');
}
