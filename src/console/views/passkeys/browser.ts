/**
 * Passkeys in the browser (WebAuthn): makes one, and signs with one.
 *
 * Bytes travel as base64url. The browser gives a page nothing of a key but its public part.
 *
 * @module
 */

import { fromBase64url, toBase64url } from '../../../domain/wire/base64.ts';
import type { ConsoleInput } from '../../../protocol/console/methods.ts';
import type { PasskeyOptions } from '../../../protocol/console/views.ts';

type Assertion = NonNullable<ConsoleInput<'passkeys.add'>['confirmed_by']>;
type Made = Pick<ConsoleInput<'passkeys.add'>, 'client_data' | 'authenticator_data'>;

/** In milliseconds. People look for their key. */
const WAIT_MS = 120_000;

/** COSE: ES256, EdDSA and RS256. */
const ALGORITHMS = [-7, -8, -257];

/** What a signature is asked for. */
export interface SigningQuestion {
  /** Base64url. */
  readonly challenge: string;
  readonly rpId: string;
  readonly credentialIds: readonly string[];
}

/** Whether this browser and this address can use passkeys. */
export function hasPasskeys(): boolean {
  return window.isSecureContext && typeof PublicKeyCredential === 'function';
}

export async function makePasskey(options: PasskeyOptions): Promise<Made> {
  const credential = await asked(() =>
    navigator.credentials.create({
      publicKey: {
        challenge: bytesOf(options.challenge),
        rp: { id: options.rp_id, name: options.rp_name },
        user: {
          id: bytesOf(options.user_id),
          name: options.user_name,
          displayName: options.user_name,
        },
        pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
        excludeCredentials: options.exclude.map(descriptor),
        authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
        attestation: 'none',
        timeout: WAIT_MS,
      },
    }),
  );
  const response = credential.response as AuthenticatorAttestationResponse;
  return {
    client_data: base64urlOf(response.clientDataJSON),
    authenticator_data: base64urlOf(response.getAuthenticatorData()),
  };
}

export async function signWithPasskey(question: SigningQuestion): Promise<Assertion> {
  const credential = await asked(() =>
    navigator.credentials.get({
      publicKey: {
        challenge: bytesOf(question.challenge),
        rpId: question.rpId,
        allowCredentials: question.credentialIds.map(descriptor),
        userVerification: 'required',
        timeout: WAIT_MS,
      },
    }),
  );
  const response = credential.response as AuthenticatorAssertionResponse;
  return {
    credential_id: base64urlOf(credential.rawId),
    client_data: base64urlOf(response.clientDataJSON),
    authenticator_data: base64urlOf(response.authenticatorData),
    signature: base64urlOf(response.signature),
  };
}

function descriptor(id: string): PublicKeyCredentialDescriptor {
  return { type: 'public-key', id: bytesOf(id) };
}

/** Why a browser gives no key, by the name of its error. */
const REASONS: Readonly<Record<string, string>> = {
  NotAllowedError: 'the question was closed, or was not answered in time',
  InvalidStateError: 'this device already has a passkey for you here',
  SecurityError: 'the address of this page cannot have passkeys',
  NotSupportedError: 'this device has no passkey of a kind that is accepted',
};

async function asked(question: () => Promise<Credential | null>): Promise<PublicKeyCredential> {
  if (!hasPasskeys()) {
    throw new Error('Cannot use a passkey: this browser has none for the address of this page');
  }
  try {
    const credential = await question();
    if (credential instanceof PublicKeyCredential) return credential;
  } catch (cause) {
    const why = REASONS[(cause as Error).name] ?? (cause as Error).message;
    throw new Error(`Cannot use a passkey: ${why}`, { cause });
  }
  throw new Error('Cannot use a passkey: the browser gave none');
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const bytes = fromBase64url(text);
  if (!bytes) throw new Error('Cannot use a passkey: the service sent text that is not base64url');
  return new Uint8Array(bytes);
}

function base64urlOf(bytes: ArrayBuffer): string {
  return toBase64url(new Uint8Array(bytes));
}
