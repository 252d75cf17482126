/**
 * Sessions of the app around a mounted service: who sits at the browser is what the app says, at every request.
 *
 * Nothing is stored and the browser keeps no cookie of the service, so such a session is over when that of the app is.
 * The proof of its pages is bound to the person: a page that was made for one person proves nothing once another one is
 * signed in to the app. It is no account, so a client that asks for a delegation sends the person to sign in here.
 *
 * @module
 */

import type { AppPerson } from '../../domain/authority/app-person.ts';
import type { Entitlement } from '../../domain/authority/entitlement.ts';
import { SKEW_SECONDS } from '../../domain/authority/external-identity.ts';
import { idFrom } from '../operations/random.ts';
import type { SignInParts } from './parts.ts';
import type { Session } from './sessions.ts';

export interface AppSession {
  readonly session: Session;
  readonly entitlement: Entitlement;
}

/** Begins the account id of a person of the app. There is no row with such an id. */
const APP_ACCOUNT = 'app:';

const OLD = new Date(0);

/** The person whom the app names; undefined when it names none. Rejects with a refusal when it cannot say. */
export async function appSession(
  parts: SignInParts,
  identify: () => unknown,
): Promise<AppSession | undefined> {
  const person = await parts.identities.identifyBy(identify);
  return person && { session: sessionOf(parts, person), entitlement: person };
}

/** Whether the app, and not this service, began and ends the session. */
export function isOfApp({ record }: Pick<Session, 'record'>): boolean {
  return record.account_id.startsWith(APP_ACCOUNT);
}

/** Without a time of sign-in that can be right the session counts as old: a first passkey then waits. */
function sessionOf(
  { definition, keyring, store }: SignInParts,
  { principal, signedInAt = OLD }: AppPerson,
): Session {
  const about = `session of the app\n${definition.id}\n${principal}`;
  const now = store.now();
  const begun = signedInAt.getTime() > now.getTime() + SKEW_SECONDS * 1_000 ? OLD : signedInAt;
  return {
    secret: keyring.rows.macOf(about),
    record: {
      session_id: idFrom('ses_', about),
      secret_hash: '',
      principal,
      account_id: `${APP_ACCOUNT}${principal}`,
      user_agent: '',
      auth_time: begun,
      created_at: begun,
      expires_at: now,
    },
  };
}
