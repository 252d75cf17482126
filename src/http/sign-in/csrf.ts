/**
 * Tokens against cross-site request forgery: a page of another site can send a form with the person's cookie,
 * but cannot read the token in our pages.
 *
 * A token is a MAC under the secret in the cookie. Nothing is stored, and a token is worthless in another
 * session. The cookie's secret cannot be computed from it.
 *
 * @module
 */

import { createHmac, timingSafeEqual } from 'node:crypto';

/** The name of the field in every form of our pages. */
export const CSRF_FIELD = 'csrf';

/** `purpose` separates forms, so that a token of one page does not pass for another. */
export function csrfOf(secret: string, purpose: string): string {
  if (secret === '') throw new Error('Cannot make a token for a form: the secret is empty');
  return createHmac('sha256', secret).update(`writ form\n${purpose}`).digest('base64url');
}

export function isCsrf(given: string | undefined, secret: string, purpose: string): boolean {
  const [sent, expected] = [given ?? '', csrfOf(secret, purpose)].map((text) => Buffer.from(text));
  // The length of a token is no secret.
  return sent?.length === expected?.length && timingSafeEqual(sent as Buffer, expected as Buffer);
}
