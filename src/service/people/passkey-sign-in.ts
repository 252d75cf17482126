/**
 * Sign-in with a passkey: the browser offers those that its devices have for this service, so nobody types a name.
 *
 * The challenge belongs to this browser and expires; the service stores nothing until the answer holds. The id of the
 * session follows from challenge and passkey, so an answer begins one session at most, on every replica.
 *
 * @module
 */

import { failure, Refusal } from '../../domain/failure.ts';
import { maySignIn } from '../../domain/passkey/waiting.ts';
import { secretHash } from '../../keyring/secrets.ts';
import { PasskeyAssertion } from '../../protocol/passkey.ts';
import { assertionFault } from '../../verify/assertion.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { idFrom } from '../operations/random.ts';
import { challengeBytes, challengeText, relyingParty } from '../passkey/keys.ts';
import { passkeyAccount } from '../sign-in/accounts.ts';
import type { SignInParts } from '../sign-in/parts.ts';
import { begin, type Session } from '../sign-in/sessions.ts';
import type { Browser } from './enrolment.ts';

/** What the browser asks the device. */
export interface SignInQuestion {
  readonly challenge: string;
  readonly rp_id: string;
}

export function signInQuestion(parts: ServiceParts, browser: Browser): SignInQuestion {
  return {
    challenge: challengeText(parts, purposeOf(browser)),
    rp_id: relyingParty(parts).rpId,
  };
}

function purposeOf({ secret }: Browser): readonly string[] {
  return ['sign-in', secretHash(secret) ?? ''];
}

export async function signInByPasskey(
  parts: SignInParts,
  { challenge, ...answer }: Readonly<Record<string, string>>,
  browser: Browser,
): Promise<Session> {
  const bytes = challengeBytes(parts, challenge ?? '', purposeOf(browser));
  if (!bytes)
    throw notSignedIn('the page took too long or was opened in another browser; try again');
  const assertion = PasskeyAssertion.safeParse(answer).data;
  const found = assertion && (await parts.store.findPasskey(assertion.credential_id));
  const now = parts.store.now();
  if (!found || !maySignIn({ ...found.passkey, ...found }, now)) throw notSignedIn(UNKNOWN);
  const { principal, public_key, credential_id } = found.passkey;
  const expected = { ...relyingParty(parts), challenge: bytes };
  const wrong = await assertionFault(assertion, public_key, expected);
  if (wrong) throw notSignedIn(`the passkey does not confirm it: ${wrong.fault}`);
  if (!(await parts.identities.ofPerson(found.passkey))) throw notSignedIn(UNKNOWN);
  return begin(parts, passkeyAccount(principal, credential_id, now), {
    userAgent: browser.userAgent,
    authTime: now,
    sessionId: idFrom('ses_', `${challenge}\n${credential_id}`),
    credentialId: credential_id,
  });
}

const UNKNOWN =
  'no person signs in here with this passkey; use another one, or ask an operator for an invitation';

function notSignedIn(why: string): Refusal {
  return new Refusal(failure('authentication_required', `Cannot sign in: ${why}`));
}
