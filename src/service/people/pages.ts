/**
 * People as the pages of sign-in use them.
 *
 * @module
 */

import type { SignInParts } from '../sign-in/parts.ts';
import type { Session } from '../sign-in/sessions.ts';
import { refusingWhileAway } from '../sign-in/sign-in.ts';
import {
  type Browser,
  beginEnrolment,
  completeEnrolment,
  type EnrolmentView,
  type MadeByInvitation,
} from './enrolment.ts';
import { type SignInQuestion, signInByPasskey, signInQuestion } from './passkey-sign-in.ts';

export interface People {
  /** What the sign-in page asks a device; undefined where the address of the service cannot have passkeys. */
  question(browser: Browser): SignInQuestion | undefined;
  signIn(answer: Readonly<Record<string, string>>, browser: Browser): Promise<Session>;
  beginEnrolment(
    given: { readonly link: string; readonly code: string },
    browser: Browser,
  ): Promise<EnrolmentView>;
  completeEnrolment(made: MadeByInvitation, browser: Browser): Promise<Session>;
}

export function createPeople(parts: SignInParts): People {
  const refusing = refusingWhileAway(parts.log);
  return {
    question: (browser) => (parts.relyingParty() ? signInQuestion(parts, browser) : undefined),
    signIn: refusing((answer, browser) => signInByPasskey(parts, answer, browser)),
    beginEnrolment: refusing((given, browser) => beginEnrolment(parts, given, browser)),
    completeEnrolment: refusing((made, browser) => completeEnrolment(parts, made, browser)),
  };
}
