/**
 * Assertions: whether a passkey was asked for exactly this, by our page, and a verified person confirmed it.
 *
 * Pure: says what the signature must cover. `src/verify/passkey.ts` verifies it.
 *
 * @module
 */

import type { PasskeyAssertion } from '../../protocol/passkey.ts';
import { fromBase64url } from '../wire/base64.ts';
import { equalBytes, sha256, utf8 } from '../wire/hash.ts';
import { type AuthenticatorData, readAuthenticatorData } from './authenticator-data.ts';
import { type ExpectedClientData, otherClientData } from './client-data.ts';

/** The page that may ask, and the challenge that it was given. */
export interface ExpectedPasskey extends Pick<ExpectedClientData, 'challenge' | 'origins'> {
  /** The host that the keys belong to. */
  readonly rpId: string;
}

/** What a signature must cover. */
export interface AssertedBytes {
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}

export type AssertionReading = AssertedBytes | { readonly fault: string };

export function readAssertion(
  assertion: Omit<PasskeyAssertion, 'credential_id'>,
  expected: ExpectedPasskey,
): AssertionReading {
  const client = fromBase64url(assertion.client_data);
  const device = fromBase64url(assertion.authenticator_data);
  const signature = fromBase64url(assertion.signature);
  if (!client || !device || !signature) return { fault: 'it is not base64url' };
  const fault =
    otherClientData(client, { ...expected, type: 'webauthn.get' }) ??
    unconfirmed(readAuthenticatorData(device), expected);
  if (fault !== undefined) return { fault };
  return { message: Uint8Array.of(...device, ...sha256(client)), signature };
}

export type NewPasskeyReading =
  | { readonly credential: NonNullable<AuthenticatorData['credential']> }
  | { readonly fault: string };

/**
 * A new passkey. It has no signature that says where the key lives: which devices a person may use is not
 * restricted.
 */
export function readNewPasskey(
  made: Pick<PasskeyAssertion, 'client_data' | 'authenticator_data'>,
  expected: ExpectedPasskey,
): NewPasskeyReading {
  const client = fromBase64url(made.client_data);
  const device = fromBase64url(made.authenticator_data);
  if (!client || !device) return { fault: 'it is not base64url' };
  const data = readAuthenticatorData(device);
  const fault =
    otherClientData(client, { ...expected, type: 'webauthn.create' }) ??
    unconfirmed(data, expected);
  if (fault !== undefined) return { fault };
  const credential = data?.credential;
  return credential ? { credential } : { fault: 'the authenticator data has no new key' };
}

/** Why the device did not confirm it for this host, or not by a verified person. */
function unconfirmed(
  data: AuthenticatorData | undefined,
  { rpId }: ExpectedPasskey,
): string | undefined {
  if (data === undefined) return 'the authenticator data has a form or a key that is not accepted';
  if (!equalBytes(data.rpIdHash, sha256(utf8(rpId)))) return `the key is not one of "${rpId}"`;
  if (!data.isPresent || !data.isVerified) return 'the device did not verify the person';
  return undefined;
}
