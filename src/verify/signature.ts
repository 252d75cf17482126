/**
 * Verifies signatures: the one place of this layer that does cryptography with keys.
 *
 * Uses WebCrypto, which browsers and Node share. Knows nothing about the signed content.
 *
 * @module
 */

import { createRecent } from '../domain/values/recent.ts';
import { toBase64 } from '../domain/wire/base64.ts';

export interface SignatureClaim {
  readonly type: 'ecdsa' | 'ed25519' | 'rsa';
  /** The SPKI of a P-256 or RSA key in DER, or the 32 bytes of an Ed25519 key. */
  readonly key: Uint8Array;
  readonly message: Uint8Array;
  /** 64 bytes: r and s, or an Ed25519 signature. As long as its modulus for RSA, by PKCS #1 1.5. */
  readonly signature: Uint8Array;
}

/** `undefined` where the platform does not know the algorithm: older browsers lack Ed25519. */
export async function isSignatureValid(claim: SignatureClaim): Promise<boolean | undefined> {
  const { use } = ALGORITHMS[claim.type];
  const { subtle } = globalThis.crypto;
  try {
    const key = await imported(claim);
    return await subtle.verify(use, key, claim.signature.slice(), claim.message.slice());
  } catch (error) {
    // Any other error is about the bytes of the key: not a point of the curve, or a wrong length.
    return isUnsupported(error) ? undefined : false;
  }
}

/** Whether the bytes are a key at all, such as a point of the curve. `undefined` as above. */
export async function isKey(
  key: Pick<SignatureClaim, 'type' | 'key'>,
): Promise<boolean | undefined> {
  try {
    await imported(key);
    return true;
  } catch (error) {
    return isUnsupported(error) ? undefined : false;
  }
}

type Imported = Awaited<ReturnType<typeof globalThis.crypto.subtle.importKey>>;

/** Importing a key takes twice as long as verifying with it, and a log has few keys. */
const known = createRecent<string, Imported>(100);

async function imported({ type, key }: Pick<SignatureClaim, 'type' | 'key'>): Promise<Imported> {
  const name = `${type} ${toBase64(key)}`;
  const before = known.get(name);
  if (before) return before;
  const { form, algorithm } = ALGORITHMS[type];
  const { subtle } = globalThis.crypto;
  const made = await subtle.importKey(form, key.slice(), algorithm, false, ['verify']);
  known.set(name, made);
  return made;
}

const ALGORITHMS = {
  ecdsa: {
    form: 'spki',
    algorithm: { name: 'ECDSA', namedCurve: 'P-256' },
    use: { name: 'ECDSA', hash: 'SHA-256' },
  },
  ed25519: { form: 'raw', algorithm: { name: 'Ed25519' }, use: { name: 'Ed25519' } },
  rsa: {
    form: 'spki',
    algorithm: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
    use: { name: 'RSASSA-PKCS1-v1_5' },
  },
} as const;

function isUnsupported(error: unknown): boolean {
  return error instanceof Error && error.name === 'NotSupportedError';
}
