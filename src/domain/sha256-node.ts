/**
 * SHA-256 where Node runs: the platform's own, in one call.
 *
 * The package's `#sha256` import picks this file, or `sha256-browser.ts` under the `browser`
 * condition. Both keep one promise: the same 32 bytes, as a plain `Uint8Array`.
 *
 * @module
 */

import { hash } from 'node:crypto';

export function sha256(data: Uint8Array): Uint8Array {
  // One call takes half the time of createHash, update, digest on the short inputs of a tree.
  const digest = hash('sha256', data, 'buffer');
  // A Buffer compares and prints unlike the array that browsers get, so none leaves this file.
  return new Uint8Array(digest.buffer, digest.byteOffset, digest.byteLength);
}
