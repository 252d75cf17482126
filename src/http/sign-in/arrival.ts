/**
 * A request of a browser to the pages: whose it is, and whether a page of this service sent it.
 *
 * A form counts only with the proof of the session that its page was made for, and from a page of this
 * service: a page of another site can send a form with the cookies of the person, but neither read that
 * proof nor claim our origin.
 *
 * @module
 */

import { foreignArrival } from '../../address/arrival.ts';
import { bareHost, isLoopback, pagesUrl, pathOfBase } from '../../address/host.ts';
import type { Session } from '../../service/sign-in/sessions.ts';
import type { SignIn } from '../../service/sign-in/sign-in.ts';
import { type Exchange, type HttpAnswer, headerText } from '../exchange.ts';
import { isOfOtherSite } from '../origin.ts';
import { type Cookie, cookieFor } from './cookies.ts';
import { CSRF_FIELD, csrfOf, isCsrf } from './csrf.ts';
import { type Form, readForm } from './forms.ts';
import { type Frame, signInHeaders } from './frame.ts';
import { messagePage } from './message-page.ts';
import { personName } from './names.ts';

/**
 * The cookies of the pages: the session, the way to an identity provider, forms before the session, and the way to an
 * account at another service.
 */
export interface Cookies {
  readonly session: Cookie;
  readonly login: Cookie;
  readonly form: Cookie;
  readonly account: Cookie;
}

/** The address is known once the service listens, so cookies are made at the first request. */
export function createCookies({ baseUrl }: Pick<SignIn, 'baseUrl'>): () => Cookies {
  let made: { readonly base: string; readonly cookies: Cookies } | undefined;
  return () => {
    const base = baseUrl();
    if (made?.base !== base) {
      const of = (use: string) => cookieFor(base, use);
      const cookies = { session: of('session'), login: of('login'), form: of('form') };
      made = { base, cookies: { ...cookies, account: of('account') } };
    }
    return made.cookies;
  };
}

/** What the proofs of all forms have in common. */
const FORMS = 'pages';

/** The proof of every form on the pages for a session, or for a browser before it has one. */
export function pageCsrf(secret: string): string {
  return csrfOf(secret, FORMS);
}

export function userAgentOf({ ask }: Exchange): string {
  return headerText(ask, 'user-agent') ?? 'an unknown browser';
}

/** Whether a page of another site sent the request. */
export function isForeign({ ask }: Exchange, { baseUrl }: Pick<SignIn, 'baseUrl'>): boolean {
  const { host, origin } = ask.headers;
  const arrival = {
    host: host?.toString(),
    origin: origin?.toString(),
    localAddress: ask.localAddress,
    publicUrl: baseUrl(),
  };
  return isOfOtherSite(ask.headers) || foreignArrival(arrival) !== undefined;
}

/** The fields of a form with the proof of `secret`; otherwise what is wrong, in words for the person. */
export function provedForm(
  exchange: Exchange,
  signIn: SignIn,
  secret: string | undefined,
  repeatable: readonly string[] = [],
): { readonly form: Form } | { readonly fault: string } {
  if (isForeign(exchange, signIn)) {
    return { fault: 'Cannot take the form: a page of another site sent it' };
  }
  const reading = readForm(exchange.body, repeatable);
  if ('fault' in reading) return reading;
  const isProved = secret !== undefined && isCsrf(reading.form.one(CSRF_FIELD), secret, FORMS);
  if (isProved) return reading;
  return { fault: 'Cannot take the form: it is out of date; open the page again' };
}

export function frameOf(
  { service, hasAccounts }: SignIn,
  basePath: string,
  session?: Session | undefined,
  csrf = session ? pageCsrf(session.secret) : '',
): Frame {
  const person = session && personName(session.record.principal);
  return { service, basePath, person, csrf, hasAccounts };
}

export function pageAnswer(
  exchange: Exchange,
  html: string,
  { status = 200, formTargets = [], cookies = [], scriptHash }: PageOptions = {},
): HttpAnswer {
  const own = signInHeaders(formTargets, scriptHash);
  const headers: HttpAnswer['headers'] = { ...exchange.headers, ...own };
  if (cookies.length > 0) headers['set-cookie'] = [...cookies];
  return { status, headers, body: html };
}

interface PageOptions {
  readonly status?: number;
  readonly formTargets?: readonly string[];
  readonly cookies?: readonly string[];
  readonly scriptHash?: string | undefined;
}

/** 303: the browser continues with GET. */
export function redirectAnswer(
  exchange: Exchange,
  location: string,
  cookies: readonly string[] = [],
): HttpAnswer {
  const headers: HttpAnswer['headers'] = {
    ...exchange.headers,
    location,
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
  };
  if (cookies.length > 0) headers['set-cookie'] = [...cookies];
  return { status: 303, headers, body: undefined };
}

/** Why a request cannot be answered. */
export function faultAnswer(
  exchange: Exchange,
  frame: Frame,
  { status, title, text, link }: Fault,
): HttpAnswer {
  const reference = exchange.headers['x-request-id'];
  const html = messagePage(frame, { title, text, link, proof: { status, reference } });
  return pageAnswer(exchange, html, { status });
}

interface Fault {
  readonly status: number;
  readonly title: string;
  readonly text: string;
  readonly link?: { readonly path: `/${string}`; readonly label: string };
}

/**
 * The address of the same page under the name that the pages have, for a browser on this machine that used another:
 * cookies and passkeys belong to one name. An identity provider and a client may still use the address.
 */
export function ownName(
  { ask }: Exchange,
  { baseUrl }: Pick<SignIn, 'baseUrl'>,
): string | undefined {
  const own = new URL(pagesUrl(baseUrl()));
  const { host } = ask.headers;
  if (ask.method !== 'GET' || typeof host !== 'string' || host === own.host) return undefined;
  const asked = `http://${host}`;
  if (!URL.canParse(asked) || !isLoopback(bareHost(new URL(asked)))) return undefined;
  if (own.protocol !== 'http:' || !isLoopback(bareHost(own))) return undefined;
  return `${own.origin}${pathOfBase(baseUrl())}${ask.target}`;
}
