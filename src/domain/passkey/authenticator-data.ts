/**
 * Authenticator data (WebAuthn, section 6.1): what the device says about itself and about the person.
 *
 * Read to the last byte. In an assertion the signature covers all of it.
 *
 * @module
 */

import type { PasskeyKey } from '../../protocol/passkey.ts';
import { type CborReading, readCbor } from './cbor.ts';
import { keyOfCose } from './key.ts';

const HASH_BYTES = 32;

/** The hash of the relying party, the flags, and the counter. */
const HEAD_BYTES = HASH_BYTES + 1 + 4;

const AAGUID_BYTES = 16;

/** WebAuthn allows no longer id. */
const CREDENTIAL_ID_BYTES_MAX = 1_023;

const [USER_PRESENT, USER_VERIFIED, HAS_CREDENTIAL, HAS_EXTENSIONS] = [0x01, 0x04, 0x40, 0x80];

export interface AuthenticatorData {
  /** SHA-256 of the id of the relying party. */
  readonly rpIdHash: Uint8Array;
  /** Somebody touched the device. */
  readonly isPresent: boolean;
  /** The device checked who: by a PIN, a finger or a face. */
  readonly isVerified: boolean;
  /** Of a new passkey. */
  readonly credential?: { readonly id: Uint8Array; readonly key: PasskeyKey } | undefined;
}

/** `undefined` when the bytes have another form, or a key of a kind that is not accepted. */
export function readAuthenticatorData(bytes: Uint8Array): AuthenticatorData | undefined {
  const flags = bytes[HASH_BYTES];
  if (flags === undefined || bytes.length < HEAD_BYTES) return undefined;
  let at = HEAD_BYTES;
  let credential: AuthenticatorData['credential'];
  if (flags & HAS_CREDENTIAL) {
    const read = readCredential(bytes, at);
    if (read === undefined) return undefined;
    ({ credential, end: at } = read);
  }
  if (flags & HAS_EXTENSIONS) {
    const extensions = readMap(bytes, at);
    if (extensions === undefined) return undefined;
    at = extensions.end;
  }
  if (at !== bytes.length) return undefined;
  return {
    rpIdHash: bytes.slice(0, HASH_BYTES),
    isPresent: (flags & USER_PRESENT) !== 0,
    isVerified: (flags & USER_VERIFIED) !== 0,
    credential,
  };
}

function readCredential(bytes: Uint8Array, at: number) {
  const start = at + AAGUID_BYTES + 2;
  const [high, low] = [bytes[start - 2], bytes[start - 1]];
  if (high === undefined || low === undefined) return undefined;
  const length = high * 256 + low;
  const id = bytes.slice(start, start + length);
  if (length === 0 || length > CREDENTIAL_ID_BYTES_MAX || id.length !== length) return undefined;
  const cose = readMap(bytes, start + length);
  const key = cose && keyOfCose(cose.value);
  return key && { credential: { id, key }, end: cose.end };
}

function readMap(bytes: Uint8Array, at: number) {
  const read: CborReading | undefined = readCbor(bytes, at);
  return read?.value instanceof Map ? { value: read.value, end: read.end } : undefined;
}
