/**
 * Keys of identities in the store: their form, so that other texts are never looked up.
 *
 * @module
 */

/** Begins every key, so that a person or a scanner of secrets recognises one. */
export const IDENTITY_KEY_PREFIX = 'wk_';

/** In bytes, random. Too many to guess, so a plain hash of a key can be stored and shown. */
export const IDENTITY_KEY_BYTES = 32;

/** 32 bytes in base64url without padding. */
const IDENTITY_KEY = /^wk_[A-Za-z0-9_-]{43}$/;

export function isIdentityKey(text: string): boolean {
  return IDENTITY_KEY.test(text);
}
