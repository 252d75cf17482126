/**
 * What the routes of the pages share: their parts, the query and the form of a request, and the way to an
 * identity provider.
 *
 * @module
 */

import { failure, Refusal } from '../../domain/failure.ts';
import type { Console } from '../../service/console/console.ts';
import type { People } from '../../service/people/pages.ts';
import type { Session } from '../../service/sign-in/sessions.ts';
import type { SignIn } from '../../service/sign-in/sign-in.ts';
import type { Exchange, HttpAnswer } from '../exchange.ts';
import { type Cookies, provedForm, redirectAnswer } from './arrival.ts';
import { COOKIE_LENGTH_MAX } from './cookies.ts';
import type { Form } from './forms.ts';

export interface PageParts {
  readonly signIn: SignIn;
  readonly people: People;
  readonly ofApp: Console['ofApp'];
  readonly basePath: string;
  cookies(): Cookies;
}

/** Seconds: how long a browser keeps the way to an identity provider, or to an account elsewhere. */
export const LOGIN_SECONDS = 600;

/** In the address of the sign-in page: shows it to a person who is signed in, too. */
export const AGAIN_FIELD = 'again';

export function requestQuery({ ask }: Exchange): URLSearchParams {
  const start = ask.target.indexOf('?');
  return paramsIn(start < 0 ? '' : ask.target.slice(start + 1));
}

/** The parameters in a query. Refuses U+0000, as forms and JSON do: no store can look for it. */
export function paramsIn(query: string): URLSearchParams {
  const params = new URLSearchParams(query);
  for (const [name, value] of params) {
    if (!name.includes('\0') && !value.includes('\0')) continue;
    const detail = 'Cannot read the request: expected text without U+0000';
    throw new Refusal(failure('invalid_parameters', detail));
  }
  return params;
}

export function sessionIn(
  { signIn, cookies }: PageParts,
  { ask }: Exchange,
): Promise<Session | undefined> {
  return signIn.session(cookies().session.read(ask));
}

/** The form of a session. Refuses one without its proof. */
export function formOf(
  { signIn }: PageParts,
  exchange: Exchange,
  session: Session,
  repeatable: readonly string[] = [],
): Form {
  const read = provedForm(exchange, signIn, session.secret, repeatable);
  if ('fault' in read) throw new Refusal(failure('not_entitled', read.fault));
  return read.form;
}

export async function loginAnswer(
  { signIn, cookies }: PageParts,
  exchange: Exchange,
  request: Parameters<SignIn['beginLogin']>[0],
): Promise<HttpAnswer> {
  const { location, login } = await signIn.beginLogin(request);
  if (login.length > COOKIE_LENGTH_MAX) {
    const detail =
      'Cannot sign in on the way to this program: its request is too long. Sign in here first, then begin again in the program';
    throw new Refusal(failure('invalid_parameters', detail));
  }
  return redirectAnswer(exchange, location, [cookies().login.write(login, LOGIN_SECONDS)]);
}
