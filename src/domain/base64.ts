/**
 * Base64 (RFC 4648 section 4), strictly: one spelling for one value.
 *
 * Platforms accept spaces, missing padding and unused bits. A text that is signed or compared must
 * not have twins, so what is not spelt as we would spell it is refused.
 *
 * @module
 */

export function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** The bytes, or `undefined` unless `text` is their one spelling. */
export function fromBase64(text: string): Uint8Array | undefined {
  if (!ALPHABET.test(text) || text.length % 4 !== 0) return undefined;

  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return toBase64(bytes) === text ? bytes : undefined;
}

/** The same for the alphabet of URLs, without padding. */
export function fromBase64url(text: string): Uint8Array | undefined {
  if (!URL_ALPHABET.test(text) || text.length % 4 === 1) return undefined;

  const plain = text.replaceAll('-', '+').replaceAll('_', '/');
  return fromBase64(plain.padEnd(Math.ceil(plain.length / 4) * 4, '='));
}

/** Padding only at the end: the platform would stop at any other. */
const ALPHABET = /^[A-Za-z0-9+/]*={0,2}$/;
const URL_ALPHABET = /^[A-Za-z0-9_-]*$/;
