/**
 * Bytes and their digests: SHA-256, lowercase hex, equality.
 *
 * Only this file names `#sha256`, so no other file knows which implementation runs. Hex is strict, with one
 * spelling for each value, because digests are compared as text on the wire.
 *
 * @module
 */

export { sha256, sha256Hex, toHex, utf8 } from '#sha256';

/** The bytes, or `undefined` unless `hex` is lowercase hexadecimal of whole bytes. */
export function fromHex(hex: string): Uint8Array | undefined {
  if (hex.length % 2 !== 0 || !LOWERCASE_HEX.test(hex)) return undefined;

  const bytes = new Uint8Array(hex.length / 2);
  for (let i = 0; i < bytes.length; i++) {
    bytes[i] = Number.parseInt(hex.slice(i * 2, i * 2 + 2), 16);
  }
  return bytes;
}

/** Stops at the first difference: for public hashes, never for secrets. */
export function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, i) => byte === right[i]);
}

const LOWERCASE_HEX = /^[0-9a-f]*$/;
