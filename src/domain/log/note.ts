/**
 * Signed notes, as in C2SP signed-note and tlog-checkpoint: the text form of a tree head.
 *
 * Bytes only: how a note is written and read, which bytes a signature covers, and which keys a note names.
 * This module neither signs nor verifies, so that a service, a witness and a browser can each use it with
 * their own cryptography. It treats its input as hostile: a text of another form gives `undefined`.
 *
 * @module
 */

import { fromBase64, toBase64 } from '../wire/base64.ts';
import { equalBytes } from '../wire/hash.ts';
import { type Hash, isTreeSize } from './merkle.ts';
import { isKeyName, KEY_ID_BYTES, type NoteKey } from './note-key.ts';

/** The specification lets a reader refuse longer notes. Real notes are far shorter. */
export const NOTE_BYTES_MAX = 16 * 1024;

/** The specification requires at least 16. A quorum of witnesses is a few dozen at most. */
export const NOTE_SIGNATURES_MAX = 64;

/** A tree head. The origin names the log, so that heads of two logs are never compared. */
export interface NoteHead {
  readonly origin: string;
  readonly size: number;
  readonly root: Hash;
}

export interface NoteSignature {
  readonly name: string;
  readonly keyId: Uint8Array;
  readonly signature: Uint8Array;
}

export interface Note {
  /** The text that the signatures cover, including its last line break. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

/** One signature by a known key: `signature` must verify over `message` under `key`. */
export interface NoteClaim {
  readonly key: NoteKey;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
  /** In seconds since 1970: when a witness states that it saw the tree. */
  readonly time?: number | undefined;
}

/** The three lines of a head. Throws on values that a head cannot have. */
export function headText({ origin, size, root }: NoteHead): string {
  if (!isKeyName(origin)) throw new RangeError(`Cannot write a tree head of "${origin}": no name`);
  if (!isTreeSize(size)) throw new RangeError(`Cannot write a tree head: size is ${size}`);
  if (root.length !== ROOT_BYTES) {
    throw new RangeError(`Cannot write a tree head: the root has ${root.length} bytes`);
  }
  return `${origin}\n${size}\n${toBase64(root)}\n`;
}

/**
 * Reads the head at the beginning of a text. C2SP tlog-checkpoint lets a log add extension lines below it.
 * They are opaque and not empty, and the signatures cover them with the rest of the text. They do not
 * describe the tree, so they are not part of the head.
 */
export function readHeadText(text: string): NoteHead | undefined {
  if (text.length > NOTE_BYTES_MAX || !text.endsWith('\n')) return undefined;
  const lines = text.slice(0, -1).split('\n');
  if (lines.some((line) => line === '')) return undefined;

  const [origin = '', digits = '', encoded = ''] = lines;
  const root = fromBase64(encoded);
  const size = WHOLE_NUMBER.test(digits) ? Number(digits) : Number.NaN;
  if (!isTreeSize(size) || root?.length !== ROOT_BYTES) return undefined;
  return { origin, size, root };
}

export function writeNote({ text, signatures }: Note): string {
  return `${text}\n${signatures.map(signatureLine).join('')}`;
}

/** One signature line with its line break, as a witness sends it and as a note contains it. */
export function signatureLine({ name, keyId, signature }: NoteSignature): string {
  const blob = new Uint8Array(keyId.length + signature.length);
  blob.set(keyId);
  blob.set(signature, keyId.length);
  return `— ${name} ${toBase64(blob)}\n`;
}

/** Reads a note of any text with at least one signature. `noteClaims` selects the signatures to verify. */
export function readNote(note: string): Note | undefined {
  // A character takes at least one byte, so this bounds the work before the bytes are counted.
  if (note.length > NOTE_BYTES_MAX) return undefined;
  if (new TextEncoder().encode(note).length > NOTE_BYTES_MAX) return undefined;
  const split = note.lastIndexOf('\n\n');
  if (split < 1 || FORBIDDEN.test(note)) return undefined;

  const signatures = readSignatureLines(note.slice(split + 2));
  if (signatures === undefined || signatures.length === 0) return undefined;
  return { text: note.slice(0, split + 1), signatures };
}

/** Reads signature lines without a note, as a witness sends them. */
export function readSignatureLines(lines: string): NoteSignature[] | undefined {
  if (lines.length > NOTE_BYTES_MAX) return undefined;
  const [last, ...reversed] = lines.split('\n').reverse();
  if (last !== '' || reversed.length > NOTE_SIGNATURES_MAX) return undefined;

  const signatures = reversed.reverse().map(readSignatureLine);
  return signatures.every((signature) => signature !== undefined) ? signatures : undefined;
}

/**
 * The signatures of the given keys, as claims to verify. Signatures of other keys are skipped, as the
 * specification requires. The caller must verify every claim, and refuse the note if one does not hold.
 * `undefined` when a signature of a given key is malformed.
 */
export function noteClaims(note: Note, keys: readonly NoteKey[]): NoteClaim[] | undefined {
  const claims: NoteClaim[] = [];
  for (const signature of note.signatures) {
    const key = keys.find((known) => isBy(signature, known));
    if (key === undefined) continue;
    const claim = claimOf(note.text, key, signature.signature);
    if (claim === undefined) return undefined;
    claims.push(claim);
  }
  return claims;
}

/** What a witness signs: the time at which it saw the note, then the note's text. */
export function cosignedBytes(text: string, time: number): Uint8Array {
  return new TextEncoder().encode(`cosignature/v1\ntime ${time}\n${text}`);
}

/** A cosignature as it stands in a note: the time in 8 bytes, then the signature. */
export function cosignatureOf(time: number, signature: Uint8Array): Uint8Array {
  const blob = new Uint8Array(TIME_BYTES + signature.length);
  new DataView(blob.buffer).setBigUint64(0, BigInt(time));
  blob.set(signature, TIME_BYTES);
  return blob;
}

const ROOT_BYTES = 32;
const TIME_BYTES = 8;
const ED25519_SIGNATURE_BYTES = 64;

const WHOLE_NUMBER = /^(?:0|[1-9]\d*)$/;
/** No ASCII control character but the line break may stand in a note, and it is UTF-8. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that are refused.
const FORBIDDEN = /[\x00-\x09\x0b-\x1f\p{Surrogate}]/u;
const SIGNATURE_LINE = /^— (\S+) ([A-Za-z0-9+/=]+)$/;

function readSignatureLine(line: string): NoteSignature | undefined {
  const [, name = '', encoded = ''] = SIGNATURE_LINE.exec(line) ?? [];
  const blob = fromBase64(encoded);
  if (!isKeyName(name) || blob === undefined || blob.length <= KEY_ID_BYTES) return undefined;
  return { name, keyId: blob.slice(0, KEY_ID_BYTES), signature: blob.slice(KEY_ID_BYTES) };
}

function isBy({ name, keyId }: NoteSignature, key: NoteKey): boolean {
  return key.name === name && equalBytes(key.id, keyId);
}

function claimOf(text: string, key: NoteKey, signature: Uint8Array): NoteClaim | undefined {
  if (key.type !== 'cosignature') {
    return { key, message: new TextEncoder().encode(text), signature };
  }
  if (signature.length !== TIME_BYTES + ED25519_SIGNATURE_BYTES) return undefined;
  const time = Number(new DataView(signature.slice().buffer).getBigUint64(0));
  if (!Number.isSafeInteger(time)) return undefined;
  return { key, message: cosignedBytes(text, time), signature: signature.slice(TIME_BYTES), time };
}
