/**
 * Reads a JWT and verifies it offline, with keys on this machine.
 *
 * Our own token types must have our strict form; every other token must use one of the algorithms
 * that the service admits from identity providers. Fetches nothing, and ignores keys that a token
 * names or contains.
 *
 * @module
 */

import { constants, createPublicKey, type JsonWebKey, type KeyObject, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fromBase64url } from '../../domain/wire/base64.ts';
import { isObject, type JsonLimits, readJson } from '../../domain/wire/json.ts';
import { readCompact, signedBytes } from '../../domain/wire/jws.ts';
import { isSignature } from '../../keyring/es256.ts';
import { errorCode } from '../../keyring/key-file.ts';
import { readKeyFolder } from '../../keyring/key-folder.ts';
import { ARTEFACTS } from '../../keyring/wire.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface Jwt {
  readonly text: string;
  readonly header: Fields;
  readonly claims: Fields;
  readonly signed: Uint8Array;
  readonly signature: Uint8Array;
}

/** A key, and which tokens it may verify. */
export interface HeldKey {
  /** Names the key and its source in messages. */
  readonly from: string;
  readonly kid: unknown;
  readonly key: KeyObject;
  fits(jwt: Jwt): boolean;
}

export interface HeldKeys {
  readonly keys: readonly HeldKey[];
  /** One message for each key that could not be used. */
  readonly faults: readonly string[];
}

/** Eight times the size of a header; identity providers do not issue longer tokens. */
const JWT_LENGTH_MAX = 64 * 1024;

const PART_LIMITS: JsonLimits = { bytes: JWT_LENGTH_MAX, depth: 32, keys: 1_000 };
const JWKS_LIMITS: JsonLimits = { bytes: 256 * 1024, depth: 16, keys: 10_000 };

/** Shorter moduli can be factored. */
const RSA_BITS_MIN = 2_048;

export function readJwt(text: string): Jwt | { fault: string } {
  const [, head = '', body = '', last = ''] =
    /^([\w-]+)\.([\w-]+)\.([\w-]*)$/.exec(text.slice(0, JWT_LENGTH_MAX + 1)) ?? [];
  if (head === '' || text.length > JWT_LENGTH_MAX) {
    return { fault: 'it is not a JWT of the form header.claims.signature' };
  }
  const signature = fromBase64url(last);
  const header = fieldsOf(fromBase64url(head));
  const claims = fieldsOf(fromBase64url(body));
  if (signature === undefined) return { fault: 'its signature is not base64url' };
  if ('fault' in header) return { fault: `its header is not readable (${header.fault})` };
  if ('fault' in claims) return { fault: `its claims are not readable (${claims.fault})` };
  const signed = signedBytes(head, body);
  return { text, header: header.fields, claims: claims.fields, signed, signature };
}

/** The key that verifies, or why none does. */
export function verifiedBy(jwt: Jwt, keys: readonly HeldKey[]): { by: string } | { why: string } {
  const { alg, kid, crit } = jwt.header;
  const check = Object.hasOwn(CHECKS, String(alg)) ? CHECKS[String(alg)] : undefined;
  if (!check) return { why: `its algorithm ${JSON.stringify(alg)} is not admitted` };
  if (crit !== undefined) return { why: 'it requires extensions that are not supported (crit)' };
  const named = keys.filter((held) => kid === undefined || held.kid === kid);
  if (named.length === 0) return { why: `none of ${keys.length} keys has its kid` };
  const fitting = named.filter((held) => check.kind === kindOf(held.key) && held.fits(jwt));
  if (fitting.length === 0) return { why: 'the key it names is not for this kind of token' };
  const found = fitting.find(({ key }) => check.isSigned(key, jwt));
  return found ? { by: found.from } : { why: 'its signature does not verify' };
}

/** The service's own keys. Reads only, and does not create a missing folder. */
export function keysInFolder(folder: string): HeldKeys {
  const { files, faults } = readKeyFolder(folder);
  const usable = [...files].filter(([, { compromised }]) => !compromised);
  const keys = usable.map(([name, { key, use }]) => ({
    from: `"${name}" in "${folder}"`,
    kid: key.kid,
    key: key.publicKey,
    fits: ({ text, header }: Jwt) =>
      Object.values(ARTEFACTS).some(
        (kind) =>
          kind.typ === header.typ && kind.use === use && readCompact(text, kind.typ) !== undefined,
      ),
  }));
  const withdrawn = [...files].filter(([, { compromised }]) => compromised);
  const notes = withdrawn.map(([name]) => `"${name}" is marked as compromised and was not used`);
  return { keys, faults: [...faults, ...notes] };
}

/** The keys of a JWKS file, such as one saved from an issuer. */
export function keysInFile(path: string): HeldKeys {
  const reading = readJwks(path);
  if ('fault' in reading) return { keys: [], faults: [`Cannot use "${path}": ${reading.fault}`] };
  const made = reading.keys.map((jwk, index) => heldKey(jwk, `key ${index + 1} of "${path}"`));
  return {
    keys: made.flatMap((each) => ('fault' in each ? [] : each)),
    faults: made.flatMap((each) => ('fault' in each ? each.fault : [])),
  };
}

function fieldsOf(bytes: Uint8Array | undefined): { fields: Fields } | { fault: string } {
  if (bytes === undefined) return { fault: 'not base64url' };
  const reading = readJson(bytes, PART_LIMITS);
  if ('fault' in reading) return reading;
  return isObject(reading.value) ? { fields: reading.value } : { fault: 'not a JSON object' };
}

interface Check {
  readonly kind: string;
  isSigned(key: KeyObject, jwt: Jwt): boolean;
}

/** The algorithms that the service admits. HMAC is not among them: a verifier would hold the secret. */
const CHECKS: Readonly<Record<string, Check>> = {
  ES256: {
    kind: 'ec prime256v1',
    isSigned: (key, { signed, signature }) => isSignature(key, signed, signature),
  },
  RS256: {
    kind: 'rsa',
    isSigned: (key, { signed, signature }) => verify('sha256', signed, key, signature),
  },
  PS256: {
    kind: 'rsa',
    isSigned: (key, { signed, signature }) => {
      const padding = constants.RSA_PKCS1_PSS_PADDING;
      return verify('sha256', signed, { key, padding, saltLength: 32 }, signature);
    },
  },
};

function kindOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string {
  const curve = asymmetricKeyDetails?.namedCurve;
  return curve ? `${asymmetricKeyType} ${curve}` : String(asymmetricKeyType);
}

function readJwks(path: string): { keys: readonly unknown[] } | { fault: string } {
  try {
    const reading = readJson(new Uint8Array(readFileSync(path)), JWKS_LIMITS);
    if ('fault' in reading) return { fault: 'it is not JSON' };
    const { value } = reading;
    const keys = isObject(value) ? value.keys : undefined;
    return Array.isArray(keys) ? { keys } : { fault: 'it has no list of "keys"' };
  } catch (error) {
    return { fault: `it cannot be read (${errorCode(error)})` };
  }
}

function heldKey(jwk: unknown, from: string): HeldKey | { fault: string } {
  const unusable = { fault: `Cannot use ${from}: it is not a public key for signatures` };
  if (!isObject(jwk)) return unusable;
  const { kid, alg, use = 'sig', key_ops: operations = ['verify'] } = jwk;
  if (use !== 'sig' || !Array.isArray(operations) || !operations.includes('verify'))
    return unusable;
  try {
    const key = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' });
    const { modulusLength = RSA_BITS_MIN } = key.asymmetricKeyDetails ?? {};
    if (modulusLength < RSA_BITS_MIN) {
      return { fault: `Cannot use ${from}: ${modulusLength} bits, expected ${RSA_BITS_MIN}` };
    }
    return { from, kid, key, fits: ({ header }) => alg === undefined || alg === header.alg };
  } catch {
    return unusable;
  }
}
