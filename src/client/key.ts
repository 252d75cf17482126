/**
 * Idempotency keys of the client: where they come from, and when a call goes on under another one.
 *
 * @module
 */

import { sha256Hex, toHex } from '../domain/hash.ts';
import type { Refused } from './reply.ts';

/** Characters: as many as 16 random bytes have. */
const KEY_LENGTH = 32;

export function freshKey(): string {
  return toHex(globalThis.crypto.getRandomValues(new Uint8Array(KEY_LENGTH / 2)));
}

/**
 * The key under which a refused call is sent again: its own, unless what is kept under that one is
 * that nothing ran, which would be answered for as long as it is kept. The next key follows from the
 * first, so that whoever repeats the call from the beginning comes to the same one.
 */
export function keyAfter({ failure, replayed, idempotencyKey: key }: Refused): string | undefined {
  const isSpent = replayed === true && failure.type === 'service_unavailable';
  return isSpent && key !== undefined ? nextKey(key) : key;
}

function nextKey(key: string): string {
  return sha256Hex(`the key after ${key}`).slice(0, KEY_LENGTH);
}
