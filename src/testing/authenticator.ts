/**
 * An authenticator in software: makes passkeys and signs with them as a browser and a device together do.
 *
 * Written from the WebAuthn specification for tests, with keys of node:crypto. It asks no person.
 *
 * @module
 */

import {
  createHash,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';

export type Algorithm = 'ES256' | 'EdDSA' | 'RS256';

/** What the page of a test asks for. */
export interface Asked {
  readonly challenge: Uint8Array;
  readonly rpId: string;
  readonly origin: string;
}

/** Departures from what an honest browser and device write. */
export interface Oddities {
  readonly flags?: number;
  readonly type?: string;
  readonly client?: Readonly<Record<string, unknown>>;
  readonly extensions?: Uint8Array;
}

export interface SoftwareKey {
  readonly algorithm: Algorithm;
  readonly credentialId: string;
  readonly jwk: JsonWebKey;
  /** The public key as authenticators write it. */
  readonly cose: Uint8Array;
  /** The answer to the creation of this passkey. */
  register(asked: Asked, odd?: Oddities): { client_data: string; authenticator_data: string };
  /** The answer to a question for this passkey. */
  assert(
    asked: Asked,
    odd?: Oddities,
  ): {
    credential_id: string;
    client_data: string;
    authenticator_data: string;
    signature: string;
  };
}

export const [PRESENT, VERIFIED] = [0x01, 0x04];
const [ATTESTED, EXTENDED] = [0x40, 0x80];

export function softwareKey(algorithm: Algorithm = 'ES256'): SoftwareKey {
  const { publicKey, privateKey } = pairOf(algorithm);
  const id = randomBytes(32);
  const jwk = publicKey.export({ format: 'jwk' });
  const cose = coseOf(algorithm, jwk);
  const head = (rpId: string, flags: number) =>
    Buffer.concat([sha256(rpId), Buffer.from([flags, 0, 0, 0, 0])]);
  return {
    algorithm,
    credentialId: id.toString('base64url'),
    jwk,
    cose,
    register(asked, odd = {}) {
      const flags = (odd.flags ?? PRESENT | VERIFIED) | ATTESTED | (odd.extensions ? EXTENDED : 0);
      const length = Buffer.from([id.length >> 8, id.length & 0xff]);
      const data = [head(asked.rpId, flags), Buffer.alloc(16), length, id, cose];
      return {
        client_data: clientData('webauthn.create', asked, odd).toString('base64url'),
        authenticator_data: Buffer.concat([...data, odd.extensions ?? Buffer.alloc(0)]).toString(
          'base64url',
        ),
      };
    },
    assert(asked, odd = {}) {
      const flags = (odd.flags ?? PRESENT | VERIFIED) | (odd.extensions ? EXTENDED : 0);
      const client = clientData('webauthn.get', asked, odd);
      const data = Buffer.concat([head(asked.rpId, flags), odd.extensions ?? Buffer.alloc(0)]);
      const hash = algorithm === 'EdDSA' ? null : 'sha256';
      return {
        credential_id: id.toString('base64url'),
        client_data: client.toString('base64url'),
        authenticator_data: data.toString('base64url'),
        signature: sign(hash, Buffer.concat([data, sha256(client)]), privateKey).toString(
          'base64url',
        ),
      };
    },
  };
}

function pairOf(algorithm: Algorithm): { publicKey: KeyObject; privateKey: KeyObject } {
  if (algorithm === 'ES256') return generateKeyPairSync('ec', { namedCurve: 'P-256' });
  if (algorithm === 'EdDSA') return generateKeyPairSync('ed25519');
  return generateKeyPairSync('rsa', { modulusLength: 2_048 });
}

function clientData(type: string, { challenge, origin }: Asked, odd: Oddities): Buffer {
  const data = {
    type: odd.type ?? type,
    challenge: Buffer.from(challenge).toString('base64url'),
    origin,
    crossOrigin: false,
    ...odd.client,
  };
  return Buffer.from(JSON.stringify(data));
}

function coseOf(algorithm: Algorithm, jwk: JsonWebKey): Buffer {
  const [x, y, n, e] = [jwk.x, jwk.y, jwk.n, jwk.e].map((text) =>
    Buffer.from(text ?? '', 'base64url'),
  );
  if (algorithm === 'ES256') {
    return cborMap([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, x as Buffer],
      [-3, y as Buffer],
    ]);
  }
  if (algorithm === 'EdDSA')
    return cborMap([
      [1, 1],
      [3, -8],
      [-1, 6],
      [-2, x as Buffer],
    ]);
  return cborMap([
    [1, 3],
    [3, -257],
    [-1, n as Buffer],
    [-2, e as Buffer],
  ]);
}

/** A map of integers to integers and bytes. */
export function cborMap(members: readonly (readonly [number, number | Buffer])[]): Buffer {
  const parts = members.flatMap(([key, value]) => [
    cborInteger(key),
    typeof value === 'number'
      ? cborInteger(value)
      : Buffer.concat([cborHead(2, value.length), value]),
  ]);
  return Buffer.concat([cborHead(5, members.length), ...parts]);
}

function cborInteger(value: number): Buffer {
  return value < 0 ? cborHead(1, -1 - value) : cborHead(0, value);
}

function cborHead(major: number, argument: number): Buffer {
  const first = major << 5;
  if (argument < 24) return Buffer.from([first | argument]);
  if (argument < 0x100) return Buffer.from([first | 24, argument]);
  return Buffer.from([first | 25, argument >> 8, argument & 0xff]);
}

function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest();
}
