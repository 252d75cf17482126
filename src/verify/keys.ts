/**
 * The keys to verify with, and how far each is to be believed.
 *
 * A key set that a service publishes proves only what the service says of itself: whoever replaces
 * the service replaces the set. A key is pinned when it came, or its thumbprint did, by another way.
 *
 * @module
 */

import { type NoteKey, p256Spki } from '../domain/log/note-key.ts';
import { type SuccessorUse, thumbprintOf } from '../domain/log/successor.ts';
import { toBase64url } from '../domain/wire/base64.ts';
import { Jwks } from '../protocol/trust.ts';

export interface VerifyingKey {
  /** RFC 7638: computed from the key, never believed. */
  readonly kid: string;
  /** DER, on curve P-256. */
  readonly spki: Uint8Array;
  readonly isPinned: boolean;
  /** What it may sign, where a successor statement says so (`successors.ts`). */
  readonly use?: SuccessorUse | undefined;
  /** The thumbprint of the pinned key whose chain of successors led here. */
  readonly follows?: string | undefined;
}

export interface Keys {
  readonly keys: readonly VerifyingKey[];
  /** Keys of notes that were given one by one: of the log, and of witnesses. All are pinned. */
  readonly noteKeys: readonly NoteKey[];
}

export interface KeySource {
  /** A key set as it is published, parsed. */
  readonly jwks?: unknown;
  /** Thumbprints known by another way than the set; `all` when the set itself is. */
  readonly pinned?: 'all' | readonly string[] | undefined;
  readonly noteKeys?: readonly NoteKey[] | undefined;
}

/**
 * The keys, or why the set cannot be used: one bad key in it makes all of it doubtful. Successors of
 * pinned keys are not pinned by this; `followKeys` does that.
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
    if (thumbprintOf({ x, y }) !== kid)
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
  return thumbprintOf({ x: toBase64url(x), y: toBase64url(y) });
}

const COORDINATE_BYTES = 32;

function pinnedKey(spki: Uint8Array): VerifyingKey {
  return { kid: kidOf(spki), spki, isPinned: true };
}
