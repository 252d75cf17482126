/**
 * Passkeys on the wire: what a browser returns when a person confirms, and the public key that checks it.
 *
 * Bytes are base64url without padding. The names follow WebAuthn: client data is what the browser says it was
 * asked for, authenticator data is what the device adds, and the signature covers both.
 *
 * @module
 */

import * as z from 'zod';
import { Timestamp } from './primitives.ts';

/** In characters. WebAuthn allows ids of 1,023 bytes, which are 1,364 characters. */
const CREDENTIAL_ID_MAX = 1_364;

/** In characters. Client data has an address and a challenge; authenticator data has no key in an assertion. */
const DATA_MAX = 4_000;

/** In characters. The longest is of an RSA key of 4,096 bits: 683. */
const SIGNATURE_MAX = 700;

/** In characters. The service makes the nonce, sealed. */
const NONCE_MAX = 400;

function bytes(max: number) {
  return z
    .string()
    .min(1)
    .max(max)
    .regex(/^[A-Za-z0-9_-]+$/, 'expected base64url without padding');
}

export const CredentialId = bytes(CREDENTIAL_ID_MAX);

export const PasskeyAssertion = z.strictObject({
  credential_id: CredentialId,
  client_data: bytes(DATA_MAX),
  authenticator_data: bytes(DATA_MAX),
  signature: bytes(SIGNATURE_MAX),
});
export type PasskeyAssertion = z.infer<typeof PasskeyAssertion>;

/** What confirms one decision. The nonce is of the challenge that the service made for it. */
export const PasskeyProof = PasskeyAssertion.extend({
  nonce: z.string().min(1).max(NONCE_MAX),
});
export type PasskeyProof = z.infer<typeof PasskeyProof>;

const coordinate = bytes(43);

/** A public key as JWK, of one of the three kinds that are accepted: ES256, Ed25519 and RS256. */
export const PasskeyKey = z.union([
  z.strictObject({
    kty: z.literal('EC'),
    crv: z.literal('P-256'),
    x: coordinate,
    y: coordinate,
  }),
  z.strictObject({ kty: z.literal('OKP'), crv: z.literal('Ed25519'), x: coordinate }),
  z.strictObject({ kty: z.literal('RSA'), n: bytes(SIGNATURE_MAX), e: z.literal('AQAB') }),
]);
export type PasskeyKey = z.infer<typeof PasskeyKey>;

/** What the entry of a decision has of the passkey that confirmed it: everything that a check needs. */
export const DecisionPasskey = PasskeyProof.extend({ public_key: PasskeyKey });
export type DecisionPasskey = z.infer<typeof DecisionPasskey>;

/** The detail of the entry that adds a passkey. `key_digest` is of the key in canonical form. */
export const PasskeyAdded = z.object({
  verb: z.literal('passkey_added'),
  credential_id: CredentialId,
  public_key: PasskeyKey,
  key_digest: z.string(),
  rp_id: z.string(),
  usable_from: Timestamp,
  /** The invitation that enrolled it. */
  invitation_id: z.string().optional(),
});
export type PasskeyAdded = z.infer<typeof PasskeyAdded>;

export const PasskeyRemoved = z.object({
  verb: z.literal('passkey_removed'),
  credential_id: CredentialId,
});
