/**
 * Verifies what a passkey signed. The service and the offline verifier use the same function.
 *
 * @module
 */

import { type ExpectedPasskey, readAssertion } from '../domain/passkey/assertion.ts';
import { rawSignature, verifyingKey } from '../domain/passkey/key.ts';
import type { PasskeyAssertion, PasskeyKey } from '../protocol/passkey.ts';
import { isKey, isSignatureValid } from './signature.ts';

/** `unsupported` where the platform does not know the algorithm of the key. */
export type AssertionFault = { readonly fault: string; readonly isUnsupported?: true };

/** Why an assertion is not by this key, or not for what was expected; `undefined` when it is both. */
export async function assertionFault(
  assertion: Omit<PasskeyAssertion, 'credential_id'>,
  key: PasskeyKey,
  expected: ExpectedPasskey,
): Promise<AssertionFault | undefined> {
  const read = readAssertion(assertion, expected);
  if ('fault' in read) return read;
  const verifying = verifyingKey(key);
  const signature = verifying && rawSignature(verifying, read.signature);
  if (!verifying || !signature)
    return { fault: 'the signature has another form than its key makes' };
  const isHeld = await isSignatureValid({ ...verifying, message: read.message, signature });
  if (isHeld === undefined) {
    return {
      fault: `this platform cannot verify by a key of kind ${key.kty}`,
      isUnsupported: true,
    };
  }
  return isHeld ? undefined : { fault: 'the signature is not by this key' };
}

/** Whether a new key can verify anything. */
export async function isPasskeyKey(key: PasskeyKey): Promise<boolean> {
  const verifying = verifyingKey(key);
  return verifying !== undefined && (await isKey(verifying)) === true;
}
