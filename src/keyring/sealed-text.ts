/**
 * Sealed texts: secrets of others that a row keeps, encrypted under a key that the database does not have.
 *
 * AES-256-GCM under a key derived from a row key, written as `<kid>.<base64url>` of nonce, ciphertext and tag.
 * The text opens only together with the `about` it was sealed with, so that a sealed text moved to another row is
 * useless there. Who may open it, and what `about` names, callers decide.
 *
 * @module
 */

import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const TAG_BYTES = 16;

/** Random nonces of this size are safe for 2^32 texts under one key; a service seals one for a sign-in or a check. */
const NONCE_BYTES = 12;

/** Separates this use of a row key from its MACs, which use the key itself. */
const LABEL = 'writ sealed text 1';

interface SealingKey {
  readonly kid: string;
  readonly secret: KeyObject;
}

export function sealText({ kid, secret }: SealingKey, text: string, about: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, derivedKey(secret), nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(boundText(kid, about));
  const sealed = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
  return `${kid}.${Buffer.concat(sealed).toString('base64url')}`;
}

/** `undefined` when none of the keys sealed exactly this text about this. */
export function openText(
  keys: readonly SealingKey[],
  sealed: string,
  about: string,
): string | undefined {
  const dot = sealed.indexOf('.');
  const key = keys.find(({ kid }) => kid === sealed.slice(0, dot));
  const encoded = sealed.slice(dot + 1);
  const bytes = Buffer.from(encoded, 'base64url');
  // base64url has several spellings of the same bytes, and the service writes one.
  if (key === undefined || bytes.toString('base64url') !== encoded) return undefined;
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const options = { authTagLength: TAG_BYTES };
  const decipher = createDecipheriv(CIPHER, derivedKey(key.secret), nonce, options);
  decipher.setAAD(boundText(key.kid, about));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
  try {
    decipher.final();
  } catch {
    return undefined;
  }
  return text.toString('utf8');
}

/** A kid has no line break, so no other pair gives the same bytes. */
function boundText(kid: string, about: string): Buffer {
  return Buffer.from(`${kid}\n${about}`);
}

const DERIVED = new WeakMap<KeyObject, KeyObject>();

function derivedKey(secret: KeyObject): KeyObject {
  const known = DERIVED.get(secret);
  if (known !== undefined) return known;
  const bytes = hkdfSync('sha256', secret, new Uint8Array(), LABEL, KEY_BYTES);
  const derived = createSecretKey(new Uint8Array(bytes));
  DERIVED.set(secret, derived);
  return derived;
}
