/**
 * Idempotency keys of the client: where they come from, and when a call goes on under another one.
 *
 * @module
 */

import { sha256Hex, toHex } from '../domain/wire/hash.ts';
import type { Refused } from './reply.ts';

/** Characters: as many as 16 random bytes have. */
const KEY_LENGTH = 32;

export function freshKey(): string {
  return toHex(globalThis.crypto.getRandomValues(new Uint8Array(KEY_LENGTH / 2)));
}

/**
 * The key under which a refused call is sent again: its own, unless what is kept under that one is
 * that nothing happened, which would be answered for as long as it is kept. The next key follows from
 * the first, so that every repetition of the call from the beginning comes to the same one.
 */
export function keyAfter(refused: Refused): string | undefined {
  const { idempotencyKey: key } = refused;
  return key !== undefined && isSpent(refused) ? nextKey(key) : key;
}

/** Only the service's statement counts: what failed otherwise may have acted, and would act again. */
export function isSpent({ answer }: Refused): boolean {
  return answer !== undefined && 'effect' in answer && answer.effect === 'none';
}

function nextKey(key: string): string {
  return sha256Hex(`the key after ${key}`).slice(0, KEY_LENGTH);
}
