/**
 * The keys of signed notes: their names, ids and texts (C2SP signed-note and tlog-cosignature).
 *
 * Three kinds: Ed25519, which every witness reads; ECDSA on P-256, so that the published log key of
 * the service signs its notes too; and cosignatures, the Ed25519 keys of witnesses. Bytes only.
 *
 * @module
 */

import { fromBase64, fromBase64url, toBase64 } from '../wire/base64.ts';
import { fromHex, sha256, toHex } from '../wire/hash.ts';

export const KEY_TYPES = { ed25519: 0x01, ecdsa: 0x02, cosignature: 0x04 } as const;
export type NoteKeyType = keyof typeof KEY_TYPES;

export const KEY_ID_BYTES = 4;

/**
 * The key of a log or of a witness that signs notes.
 *
 * @example
 * import { type NoteKey, readVkey } from 'writ/verify';
 *
 * const texts = ['witness.example+5d3a19d4+BHMwCHH0TBaOfJSd4sdQ5gwsm7j/UwAXxaJnI06ctNuO', 'not a key'];
 * const keys: NoteKey[] = texts.flatMap((text) => readVkey(text) ?? []);
 * console.log(keys.map(({ name, type }) => `${name}: ${type}`));
 */
export interface NoteKey {
  readonly name: string;
  readonly id: Uint8Array;
  readonly type: NoteKeyType;
  /** 32 bytes of an Ed25519 key, or the SPKI of an ECDSA key in DER. */
  readonly key: Uint8Array;
}

/** Builds a key with the id that follows from its content. Throws when the content is no key of its type. */
export function noteKey(name: string, type: NoteKeyType, key: Uint8Array): NoteKey {
  if (!isKeyName(name))
    throw new RangeError(`Cannot name a key "${name}": a space, "+" or nothing`);
  if (!isKeyOf(type, key)) {
    throw new RangeError(`Cannot use ${key.length} bytes as a key: none of type "${type}"`);
  }
  return { name, type, key, id: keyIdOf(name, type, key) };
}

/** The key in the text form that people exchange: name, id and content in one word. */
export function vkeyText({ name, id, type, key }: NoteKey): string {
  return `${name}+${toHex(id)}+${toBase64(typed(type, key))}`;
}

/**
 * Reads a key. `undefined` when its form, its type or its id is wrong.
 *
 * @example
 * import { readKeys, readVkey } from 'writ/verify';
 *
 * const witness = readVkey('witness.example+5d3a19d4+BHMwCHH0TBaOfJSd4sdQ5gwsm7j/UwAXxaJnI06ctNuO');
 * if (!witness) throw new Error('Cannot read the key of the witness');
 * const keys = readKeys({ noteKeys: [witness] });
 * console.log('fault' in keys ? keys.fault : keys.noteKeys.length);
 */
export function readVkey(text: string): NoteKey | undefined {
  if (text.length > VKEY_LENGTH_MAX) return undefined;
  const [, name = '', hex = '', encoded = ''] = VKEY.exec(text) ?? [];
  const blob = fromBase64(encoded);
  const type = NOTE_KEY_TYPES.find((known) => KEY_TYPES[known] === blob?.[0]);
  if (blob === undefined || type === undefined || !isKeyName(name)) return undefined;

  const key = blob.slice(1);
  if (!isKeyOf(type, key)) return undefined;
  const id = keyIdOf(name, type, key);
  return toHex(id) === toHex(fromHex(hex) ?? new Uint8Array())
    ? { name, id, type, key }
    : undefined;
}

/** The SPKI of a published P-256 key, or `undefined` unless both coordinates have 32 bytes. */
export function p256Spki({ x, y }: { x: string; y: string }): Uint8Array | undefined {
  const [left, right] = [fromBase64url(x), fromBase64url(y)];
  if (left?.length !== COORDINATE_BYTES || right?.length !== COORDINATE_BYTES) return undefined;
  return Uint8Array.of(...P256_SPKI_PREFIX, ...left, ...right);
}

/**
 * Converts the DER signature of a note into the 64 bytes (r, s) that web cryptography verifies. `undefined`
 * unless it is the unique DER form: minimal integers, no extra byte.
 */
export function rawEcdsa(der: Uint8Array): Uint8Array | undefined {
  if (der[0] !== DER_SEQUENCE || der[1] !== der.length - 2) return undefined;
  const r = derInteger(der, 2);
  const s = r && derInteger(der, r.end);
  if (r === undefined || s === undefined || s.end !== der.length) return undefined;
  return Uint8Array.of(...r.value, ...s.value);
}

/** Not empty, without white space and "+", so that the parts of a vkey and of a line stay apart. */
export function isKeyName(name: string): boolean {
  return KEY_NAME.test(name) && name.length <= KEY_NAME_LENGTH_MAX;
}

/** Characters. Service ids have up to 128 and log ids 36; other logs use addresses. */
const KEY_NAME_LENGTH_MAX = 512;
const VKEY_LENGTH_MAX = 1024;

const NOTE_KEY_TYPES = Object.keys(KEY_TYPES) as NoteKeyType[];
// biome-ignore lint/suspicious/noControlCharactersInRegex: a note may not contain them.
const KEY_NAME = /^[^\s+\x00-\x1f\p{Surrogate}]+$/u;
const VKEY = /^([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$/;

const ED25519_BYTES = 32;
const COORDINATE_BYTES = 32;
const LINE_BREAK = 0x0a;

/** RFC 5480: an EC public key on P-256, as an uncompressed point that follows. */
const P256_SPKI_PREFIX = fromHex(
  '3059301306072a8648ce3d020106082a8648ce3d03010703420004',
) as Uint8Array;

const DER_SEQUENCE = 0x30;
const DER_INTEGER = 0x02;

function keyIdOf(name: string, type: NoteKeyType, key: Uint8Array): Uint8Array {
  // By the specification an ECDSA id covers neither the name nor the type.
  if (type === 'ecdsa') return sha256(key).slice(0, KEY_ID_BYTES);
  const named = new TextEncoder().encode(name);
  return sha256(Uint8Array.of(...named, LINE_BREAK, ...typed(type, key))).slice(0, KEY_ID_BYTES);
}

function typed(type: NoteKeyType, key: Uint8Array): Uint8Array {
  return Uint8Array.of(KEY_TYPES[type], ...key);
}

function isKeyOf(type: NoteKeyType, key: Uint8Array): boolean {
  if (type !== 'ecdsa') return key.length === ED25519_BYTES;
  return (
    key.length === P256_SPKI_PREFIX.length + 2 * COORDINATE_BYTES &&
    P256_SPKI_PREFIX.every((byte, i) => byte === key[i])
  );
}

/** One unsigned integer of at most 32 bytes, as 32 bytes, and where it ends. */
function derInteger(der: Uint8Array, at: number): { value: Uint8Array; end: number } | undefined {
  const length = der[at + 1];
  if (der[at] !== DER_INTEGER || length === undefined || length === 0) return undefined;
  const end = at + 2 + length;
  const [first = 0, second = 0] = der.slice(at + 2, end);
  const isPadded = first === 0 && length > 1;
  // A leading zero is needed exactly where the number would otherwise read as negative.
  if (end > der.length || first > 0x7f || (isPadded && second <= 0x7f)) return undefined;

  const digits = der.slice(at + 2 + (isPadded ? 1 : 0), end);
  if (digits.length > COORDINATE_BYTES) return undefined;
  const value = new Uint8Array(COORDINATE_BYTES);
  value.set(digits, COORDINATE_BYTES - digits.length);
  return { value, end };
}
