/**
 * Idempotency keys of the client: how they are made, and when a repetition uses another one.
 *
 * @module
 */

import { sha256Hex, toHex } from '../domain/wire/hash.ts';
import type { Refused } from './reply.ts';

/** In characters: the length of 16 random bytes. */
const KEY_LENGTH = 32;

export function freshKey(): string {
  return toHex(globalThis.crypto.getRandomValues(new Uint8Array(KEY_LENGTH / 2)));
}

/**
 * The key for the repetition of a refused call: the same key, unless the service stored under it
 * that nothing happened, and would replay that answer. The next key is derived from
 * the first, so that every repetition of the call from the beginning gets the same one.
 */
export function keyAfter(refused: Refused): string | undefined {
  const { idempotencyKey: key } = refused;
  return key !== undefined && isSpent(refused) ? nextKey(key) : key;
}

/** Only `effect: "none"` counts: after any other failure the handler may have acted, and would act again. */
export function isSpent({ answer }: Refused): boolean {
  return answer !== undefined && 'effect' in answer && answer.effect === 'none';
}

function nextKey(key: string): string {
  return sha256Hex(`the key after ${key}`).slice(0, KEY_LENGTH);
}
