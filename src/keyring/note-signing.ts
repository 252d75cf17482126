/**
 * Signs notes with a log key, and with the Ed25519 key derived from it.
 *
 * Witnesses verify Ed25519. A second stored key would have to be shared and rotated too,
 * so this key is derived from the log key, by a one-way function and for this use alone. It changes
 * with the log key: operators give witnesses the next one before it signs.
 *
 * @module
 */

import {
  createPrivateKey,
  createPublicKey,
  hkdfSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import type { NoteClaim, NoteSignature } from '../domain/log/note.ts';
import { type NoteKey, noteKey } from '../domain/log/note-key.ts';
import { type SigningKey, signDer, spkiOf } from './es256.ts';

/** The signature lines of a note under one log key. */
export function noteSignatures(key: SigningKey, name: string, text: string): NoteSignature[] {
  // No other signed artefact has line breaks, so a note cannot be taken for one.
  if (!text.endsWith('\n')) throw new RangeError('Cannot sign a note: it has no last line');
  const bytes = new TextEncoder().encode(text);
  const [ecdsa, ed25519] = noteKeysOf(key, name);
  const { privateKey } = derivedKey(key);
  return [
    { name, keyId: ecdsa.id, signature: signDer(key, bytes) },
    { name, keyId: ed25519.id, signature: new Uint8Array(sign(null, bytes, privateKey)) },
  ];
}

/** The keys that verify those lines. */
export function noteKeysOf(key: SigningKey, name: string): [ecdsa: NoteKey, ed25519: NoteKey] {
  const { bytes } = derivedKey(key);
  return [noteKey(name, 'ecdsa', spkiOf(key)), noteKey(name, 'ed25519', bytes)];
}

/** Whether a signature line of a note verifies. */
export function isNoteClaim({ key, message, signature }: NoteClaim): boolean {
  if (key.type === 'ecdsa') {
    const spki = createPublicKey({ key: Buffer.from(key.key), format: 'der', type: 'spki' });
    return verify('sha256', message, spki, signature);
  }
  const x = Buffer.from(key.key).toString('base64url');
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return verify(null, message, publicKey, signature);
}

const INFO = 'writ note ed25519 v1';
const SEED_BYTES = 32;

/** RFC 8410: a private Ed25519 key, of which the seed follows. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

interface DerivedKey {
  readonly privateKey: KeyObject;
  /** The public key. */
  readonly bytes: Uint8Array;
}

/** Every seal needs it, and deriving it takes longer than a signature. It lives as long as its log key. */
const derivedKeys = new WeakMap<KeyObject, DerivedKey>();

function derivedKey({ privateKey: from }: SigningKey): DerivedKey {
  const known = derivedKeys.get(from);
  if (known) return known;
  const privateKey = deriveKey(from);
  const jwk = createPublicKey(privateKey).export({ format: 'jwk' });
  const bytes = new Uint8Array(Buffer.from(`${jwk.x}`, 'base64url'));
  const derived = { privateKey, bytes };
  derivedKeys.set(from, derived);
  return derived;
}

function deriveKey(privateKey: KeyObject): KeyObject {
  const secret = Buffer.from(`${privateKey.export({ format: 'jwk' }).d}`, 'base64url');
  const seed = Buffer.from(hkdfSync('sha256', secret, '', INFO, SEED_BYTES));
  const key = Buffer.concat([PKCS8_PREFIX, seed]);
  return createPrivateKey({ key, format: 'der', type: 'pkcs8' });
}
