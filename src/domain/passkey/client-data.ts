/**
 * Client data (WebAuthn, section 5.8.1): what the browser says it was asked for, and by which page.
 *
 * @module
 */

import { toBase64url } from '../wire/base64.ts';
import { isObject, type JsonLimits, readJson } from '../wire/json.ts';

/** Browsers write five or six members, and may add one that asks readers to expect others. */
const LIMITS: JsonLimits = { bytes: 3_000, depth: 4, keys: 32 };

export interface ExpectedClientData {
  readonly type: 'webauthn.create' | 'webauthn.get';
  readonly challenge: Uint8Array;
  /** The addresses whose pages may ask. */
  readonly origins: readonly string[];
}

/** The origin that client data names, unchecked. */
export function clientOrigin(bytes: Uint8Array): string | undefined {
  const origin = membersOf(bytes)?.origin;
  return typeof origin === 'string' ? origin : undefined;
}

/** Why the browser was asked for something else, or by another page. */
export function otherClientData(
  bytes: Uint8Array,
  { type, challenge, origins }: ExpectedClientData,
): string | undefined {
  const data = membersOf(bytes);
  if (data === undefined) return 'the client data is not what browsers write';
  if (data.type !== type) return `the client data is not of type "${type}"`;
  if (data.challenge !== toBase64url(challenge)) return 'it was made for another challenge';
  if (!origins.some((origin) => origin === data.origin)) return 'a page of another origin asked';
  const isFramed = (data.crossOrigin ?? false) !== false || data.topOrigin !== undefined;
  return isFramed ? 'a page inside a page of another origin asked' : undefined;
}

function membersOf(bytes: Uint8Array): Record<string, unknown> | undefined {
  const reading = readJson(bytes, LIMITS);
  return 'value' in reading && isObject(reading.value) ? reading.value : undefined;
}
