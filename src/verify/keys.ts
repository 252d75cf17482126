/**
 * The keys to verify with, and whether each is pinned.
 *
 * A key set fetched from the service proves only what the service claims: an attacker who replaces
 * the service replaces the set. A key is pinned when it, or its thumbprint, came from another source.
 *
 * @module
 */

import { type NoteKey, p256Spki } from '../domain/log/note-key.ts';
import { pointThumbprint, type SuccessorUse } from '../domain/log/successor.ts';
import { toBase64url } from '../domain/wire/base64.ts';
import { Jwks } from '../protocol/trust.ts';

/**
 * A key, and whether it is pinned.
 *
 * @example
 * import type { VerifyingKey } from 'writ/verify';
 *
 * const described = ({ kid, isPinned, follows }: VerifyingKey) =>
 *   isPinned ? `${kid}, pinned${follows ? ` by way of ${follows}` : ''}` : `${kid}, not pinned`;
 * console.log(described({ kid: 'k-1', spki: new Uint8Array(91), isPinned: false }));
 */
export interface VerifyingKey {
  /** RFC 7638: computed from the key, not taken from the set. */
  readonly kid: string;
  /** DER, on curve P-256. */
  readonly spki: Uint8Array;
  readonly isPinned: boolean;
  /** The use of the key, if a successor statement names it (`successors.ts`). */
  readonly use?: SuccessorUse | undefined;
  /** The thumbprint of the pinned key whose chain of successors led here. */
  readonly follows?: string | undefined;
}

/**
 * The keys to verify with.
 *
 * @example
 * import { type Keys, readKeys } from 'writ/verify';
 *
 * function keysOf(jwks: unknown, pinned: readonly string[]): Keys {
 *   const keys = readKeys({ jwks, pinned });
 *   if ('fault' in keys) throw new Error(`Cannot use the key set: ${keys.fault}`);
 *   return keys;
 * }
 * console.log(keysOf(undefined, []).keys.length);
 */
export interface Keys {
  readonly keys: readonly VerifyingKey[];
  /** Note keys of the log and of witnesses that the caller gave. All are pinned. */
  readonly noteKeys: readonly NoteKey[];
}

/**
 * Where the keys come from, and which of them are trusted.
 *
 * @example
 * import { createService } from 'writ';
 * import { expectAnswer, testService } from 'writ/testing';
 * import type { KeySource } from 'writ/verify';
 *
 * const desk = await testService(createService({ id: 'demo', capabilities: [] }));
 * const jwks = expectAnswer(await desk.human('ann').client.ask('jwks', {}));
 * const source: KeySource = { jwks, pinned: ['the-thumbprint-that-ann-noted'] };
 * console.log(source.pinned?.length);
 * await desk.close();
 */
export interface KeySource {
  /** A published key set, parsed. */
  readonly jwks?: unknown;
  /** Thumbprints from another source than the set; `all` when the whole set is trusted. */
  readonly pinned?: 'all' | readonly string[] | undefined;
  readonly noteKeys?: readonly NoteKey[] | undefined;
}

/**
 * The keys, or why the set cannot be used: one bad key makes the whole set unusable. Successors of
 * pinned keys are not pinned here; `followKeys` does that.
 *
 * @example
 * import { createService } from 'writ';
 * import { expectAnswer, testService } from 'writ/testing';
 * import { readKeys } from 'writ/verify';
 *
 * const desk = await testService(createService({ id: 'demo', capabilities: [] }));
 * const jwks = expectAnswer(await desk.human('ann').client.ask('jwks', {}));
 * const keys = readKeys({ jwks, pinned: ['a-thumbprint-of-another-service'] });
 * console.log('fault' in keys ? keys.fault : keys.keys.map(({ isPinned }) => isPinned));
 * await desk.close();
 */
export function readKeys(source: KeySource): Keys | { fault: string } {
  const { pinned = [], noteKeys = [] } = source;
  const given = noteKeys.filter(({ type }) => type === 'ecdsa').map(({ key }) => pinnedKey(key));
  if (source.jwks === undefined) return { keys: given, noteKeys };

  const parsed = Jwks.safeParse(source.jwks);
  if (!parsed.success) return { fault: 'it is not a list of P-256 keys as services publish it' };
  const keys: VerifyingKey[] = [...given];
  for (const { kid, x, y } of parsed.data.keys) {
    const spki = p256Spki({ x, y });
    if (spki === undefined) return { fault: `key "${kid}" has no two coordinates of 32 bytes` };
    if (pointThumbprint({ x, y }) !== kid)
      return { fault: `key "${kid}" is not the one that this names` };
    const isPinned = pinned === 'all' || pinned.includes(kid);
    if (!keys.some((known) => known.kid === kid)) keys.push({ kid, spki, isPinned });
  }
  return { keys, noteKeys };
}

function kidOf(spki: Uint8Array): string {
  const [x, y] = [
    spki.slice(-2 * COORDINATE_BYTES, -COORDINATE_BYTES),
    spki.slice(-COORDINATE_BYTES),
  ];
  return pointThumbprint({ x: toBase64url(x), y: toBase64url(y) });
}

const COORDINATE_BYTES = 32;

function pinnedKey(spki: Uint8Array): VerifyingKey {
  return { kid: kidOf(spki), spki, isPinned: true };
}
