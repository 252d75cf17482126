/**
 * The public key of a passkey: from the form of authenticators (COSE, RFC 9052 and 9053) to JWK, and from JWK to
 * the bytes that a signature is verified with.
 *
 * Three kinds are accepted: ES256 on P-256, Ed25519, and RS256 of 2,048 to 4,096 bits. Whether the numbers are a
 * key at all, the import of the key decides.
 *
 * @module
 */

import type { PasskeyKey } from '../../protocol/passkey.ts';
import { p256Spki, rawEcdsa } from '../log/note-key.ts';
import { fromBase64url, toBase64url } from '../wire/base64.ts';
import type { CborMap } from './cbor.ts';

/** The numbers of the algorithms, in the order in which a browser is asked for them. */
export const COSE_ALGORITHMS = { ES256: -7, EdDSA: -8, RS256: -257 } as const;

/** Bytes of a number of P-256, and of an Ed25519 key. */
const COORDINATE_BYTES = 32;

/** Bytes of the modulus of an RSA key. */
const MODULUS_BYTES_MIN = 256;
const MODULUS_BYTES_MAX = 512;

/** 65,537, the only exponent that is accepted. */
const EXPONENT = 'AQAB';

/** The key; `undefined` for any other algorithm, curve or length, and for a key with a member too many. */
export function keyOfCose(cose: CborMap): PasskeyKey | undefined {
  const [kty, algorithm] = [cose.get(1), cose.get(3)];
  const named = { crv: cose.get(-1), x: encoded(cose.get(-2)), y: encoded(cose.get(-3)) };
  let key: PasskeyKey | undefined;
  if (kty === 2 && algorithm === COSE_ALGORITHMS.ES256 && named.crv === 1 && cose.size === 5) {
    key = { kty: 'EC', crv: 'P-256', x: named.x, y: named.y };
  }
  if (kty === 1 && algorithm === COSE_ALGORITHMS.EdDSA && named.crv === 6 && cose.size === 4) {
    key = { kty: 'OKP', crv: 'Ed25519', x: named.x };
  }
  if (kty === 3 && algorithm === COSE_ALGORITHMS.RS256 && cose.size === 4) {
    const isUsual = encoded(cose.get(-2)) === EXPONENT;
    if (isUsual) key = { kty: 'RSA', n: encoded(cose.get(-1)), e: EXPONENT };
  }
  return key && verifyingKey(key) ? key : undefined;
}

/** Empty for a value of another kind: no key has an empty number. */
function encoded(value: unknown): string {
  return value instanceof Uint8Array ? toBase64url(value) : '';
}

/** A key in the form of `src/verify/signature.ts`: SPKI for P-256 and RSA, 32 bytes for Ed25519. */
export interface PasskeyVerifyingKey {
  readonly type: 'ecdsa' | 'ed25519' | 'rsa';
  readonly key: Uint8Array;
}

export function verifyingKey(key: PasskeyKey): PasskeyVerifyingKey | undefined {
  if (key.kty === 'EC') {
    const spki = p256Spki(key);
    return spki && { type: 'ecdsa', key: spki };
  }
  if (key.kty === 'OKP') {
    const raw = fromBase64url(key.x);
    return raw?.length === COORDINATE_BYTES ? { type: 'ed25519', key: raw } : undefined;
  }
  const modulus = fromBase64url(key.n);
  if (!modulus || modulus.length < MODULUS_BYTES_MIN || modulus.length > MODULUS_BYTES_MAX) {
    return undefined;
  }
  // A modulus with a leading zero, or one that is even, is none.
  if (modulus[0] === 0 || (modulus.at(-1) ?? 0) % 2 === 0) return undefined;
  return { type: 'rsa', key: rsaSpki(modulus) };
}

/** The signature in the form that web cryptography verifies; `undefined` when it has another form. */
export function rawSignature(
  { type }: PasskeyVerifyingKey,
  signature: Uint8Array,
): Uint8Array | undefined {
  // Only ECDSA signatures of authenticators are in DER.
  return type === 'ecdsa' ? rawEcdsa(signature) : signature;
}

const [SEQUENCE, INTEGER, BIT_STRING] = [0x30, 0x02, 0x03];

/** RFC 8017: the algorithm rsaEncryption without parameters. */
const RSA_ALGORITHM = [0x30, 13, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 1, 1, 5, 0];

function rsaSpki(modulus: Uint8Array): Uint8Array {
  const exponent = fromBase64url(EXPONENT) as Uint8Array;
  // The first byte of a number in DER has its sign.
  const sign = (modulus[0] as number) > 0x7f ? [0] : [];
  const key = der(SEQUENCE, [
    ...der(INTEGER, [...sign, ...modulus]),
    ...der(INTEGER, [...exponent]),
  ]);
  return Uint8Array.from(der(SEQUENCE, [...RSA_ALGORITHM, ...der(BIT_STRING, [0, ...key])]));
}

/** At most 65,535 bytes of content. */
function der(tag: number, content: readonly number[]): number[] {
  const { length } = content;
  if (length < 0x80) return [tag, length, ...content];
  const [high, low] = [length >> 8, length & 0xff];
  return high === 0 ? [tag, 0x81, low, ...content] : [tag, 0x82, high, low, ...content];
}
