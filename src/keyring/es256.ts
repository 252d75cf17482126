/**
 * ES256: reads, checks and uses one P-256 key.
 *
 * Decides whether a key is valid: the right curve, a public half that belongs to the
 * private one, a kid that matches. Knows nothing about where a key comes from or
 * when it may be used.
 *
 * Invariant: no message made here contains a value of a key. Messages of the platform may, so they are
 * not passed on.
 *
 * @module
 */

import {
  createECDH,
  createPrivateKey,
  createPublicKey,
  type JsonWebKey,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { fromBase64url, toBase64url } from '../domain/wire/base64.ts';
import { sha256 } from '../domain/wire/hash.ts';
import type { PublicKey } from '../protocol/trust.ts';

export interface PrivateJwk {
  readonly kty: 'EC';
  readonly crv: 'P-256';
  readonly x: string;
  readonly y: string;
  readonly d: string;
}

export interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** The public half as it is published. */
  readonly jwk: PublicKey;
}

export type KeyReading = { readonly key: SigningKey } | { readonly fault: string };

/**
 * Does not use `generateKeyPairSync`: Node 20 hangs when it collects garbage while the
 * generated pair is exported.
 */
export function generateJwk(): PrivateJwk {
  const pair = createECDH('prime256v1');
  const point = pair.generateKeys();
  // The platform omits leading zeros; a JWK has all 32 bytes.
  const secret = Buffer.concat([Buffer.alloc(COORDINATE_BYTES), pair.getPrivateKey()]);
  return {
    kty: 'EC',
    crv: 'P-256',
    x: toBase64url(point.subarray(1, 1 + COORDINATE_BYTES)),
    y: toBase64url(point.subarray(1 + COORDINATE_BYTES)),
    d: toBase64url(secret.subarray(-COORDINATE_BYTES)),
  };
}

/**
 * Reads a private JWK. The fault completes a message that begins with the source of the key.
 */
export function readPrivateJwk(jwk: unknown): KeyReading {
  if (!isJwk(jwk)) return { fault: 'the key is not an EC key on curve P-256 with x, y and d' };
  if (!isForSigning(jwk)) return { fault: 'the key does not allow signing with ES256' };
  if (!isPair(jwk)) return { fault: 'the private and public halves of the key do not match' };

  const kid = thumbprintOf(jwk);
  if (jwk.kid !== undefined && jwk.kid !== kid) {
    return { fault: 'kid does not match the key, it must be the RFC 7638 thumbprint' };
  }
  const { kty, crv, x, y, d } = jwk;
  const privateKey = createPrivateKey({ key: { kty, crv, x, y, d }, format: 'jwk' });
  return {
    key: {
      kid,
      privateKey,
      publicKey: createPublicKey(privateKey),
      jwk: { kty, crv, x, y, kid, use: 'sig', alg: 'ES256' },
    },
  };
}

/** Reads one PKCS#8 block. */
export function readPrivatePem(pem: string): KeyReading {
  const jwk = jwkOf(pem);
  return jwk ? readPrivateJwk(jwk) : { fault: 'the block is not a PKCS#8 key on curve P-256' };
}

/** RFC 7638: the digest of the required members in a fixed order, so equal keys have equal thumbprints. */
export function thumbprintOf({ crv, kty, x, y }: Pick<PrivateJwk, 'crv' | 'kty' | 'x' | 'y'>) {
  return toBase64url(sha256(Buffer.from(JSON.stringify({ crv, kty, x, y }))));
}

/** Signs on this thread. */
export function signBytes({ privateKey }: SigningKey, bytes: Uint8Array): Uint8Array {
  return sign('sha256', bytes, { key: privateKey, dsaEncoding: 'ieee-p1363' });
}

/**
 * Signs on a thread of the pool: takes the event loop a tenth of the time where many are made at once (decision
 * 0069).
 */
export function signBytesAside({ privateKey }: SigningKey, bytes: Uint8Array): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    sign('sha256', bytes, { key: privateKey, dsaEncoding: 'ieee-p1363' }, (error, signature) => {
      if (error) reject(new Error('Cannot sign: the platform did not make a signature'));
      else resolve(signature);
    });
  });
}

/** The signature in the form of notes: ASN.1 instead of two numbers. */
export function signDer({ privateKey }: SigningKey, bytes: Uint8Array): Uint8Array {
  return new Uint8Array(sign('sha256', bytes, { key: privateKey, dsaEncoding: 'der' }));
}

/** The public half as notes name it. */
export function spkiOf({ publicKey }: SigningKey): Uint8Array {
  return new Uint8Array(publicKey.export({ type: 'spki', format: 'der' }));
}

export function isSignature(
  publicKey: KeyObject,
  bytes: Uint8Array,
  signature: Uint8Array,
): boolean {
  return verify('sha256', bytes, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature);
}

/**
 * Further members that other tools write. Unknown ones are ignored (RFC 7517).
 */
interface DescribedJwk extends PrivateJwk {
  readonly kid?: unknown;
  readonly use?: unknown;
  readonly alg?: unknown;
  readonly key_ops?: unknown;
}

function isJwk(jwk: unknown): jwk is DescribedJwk {
  if (typeof jwk !== 'object' || jwk === null) return false;
  const { kty, crv, x, y, d } = jwk as Record<string, unknown>;
  return kty === 'EC' && crv === 'P-256' && [x, y, d].every(isCoordinate);
}

/** 32 bytes in their one canonical spelling; another would give the same key a second name. */
function isCoordinate(value: unknown): boolean {
  return typeof value === 'string' && fromBase64url(value)?.length === COORDINATE_BYTES;
}
const COORDINATE_BYTES = 32;

function isForSigning({ use, alg, key_ops }: DescribedJwk): boolean {
  const operations = key_ops ?? ['sign'];
  return (
    (use === undefined || use === 'sig') &&
    (alg === undefined || alg === 'ES256') &&
    Array.isArray(operations) &&
    operations.includes('sign')
  );
}

/**
 * Computes the public half, because the platform does not check the one in the JWK.
 */
function isPair({ x, y, d }: PrivateJwk): boolean {
  const curve = createECDH('prime256v1');
  try {
    curve.setPrivateKey(d, 'base64url');
  } catch {
    return false;
  }
  const point = Buffer.concat([
    Buffer.of(UNCOMPRESSED_POINT),
    Buffer.from(x, 'base64url'),
    Buffer.from(y, 'base64url'),
  ]);
  return curve.getPublicKey().equals(point);
}
/** SEC 1: the byte before both coordinates. */
const UNCOMPRESSED_POINT = 0x04;

function jwkOf(pem: string): JsonWebKey | undefined {
  try {
    return createPrivateKey({ key: pem, format: 'pem' }).export({ format: 'jwk' });
  } catch {
    return undefined;
  }
}
