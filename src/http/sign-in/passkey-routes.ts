/**
 * Passkeys in a browser before there is a session: sign-in, and the enrolment of an invited person.
 *
 * The forms are bound to a cookie of this browser, and so are the challenges in them. Opening the page of a link asks
 * nothing of the service but the page.
 *
 * @module
 */

import { Refusal } from '../../domain/failure.ts';
import { newSecret } from '../../keyring/secrets.ts';
import { consoleMethods } from '../../protocol/console/methods.ts';
import type { Browser } from '../../service/people/enrolment.ts';
import type { Session } from '../../service/sign-in/sessions.ts';
import type { Exchange, HttpAnswer } from '../exchange.ts';
import { statusOf } from '../status.ts';
import { frameOf, pageAnswer, pageCsrf, provedForm, userAgentOf } from './arrival.ts';
import type { Form } from './forms.ts';
import type { Frame } from './frame.ts';
import { browserWords } from './names.ts';
import type { PageParts } from './page-parts.ts';
import { enrolmentPage, linkPage, PASSKEY_SCRIPT_HASH } from './passkey-page.ts';

/** A browser without a session, with what its forms are bound to. */
export interface Arrived {
  readonly browser: Browser;
  readonly frame: Frame;
  /** Makes the browser keep its secret; none where it has one. */
  readonly cookies: readonly string[];
}

export function arrived({ signIn, basePath, cookies }: PageParts, exchange: Exchange): Arrived {
  const { form } = cookies();
  const known = form.read(exchange.ask);
  const secret = known ?? newSecret();
  return {
    browser: { secret, userAgent: userAgentOf(exchange) },
    frame: frameOf(signIn, basePath, undefined, pageCsrf(secret)),
    cookies: known === undefined ? [form.write(secret)] : [],
  };
}

interface Problem {
  readonly status: number;
  readonly text: string;
}

export function showLink(parts: PageParts, exchange: Exchange): HttpAnswer {
  return linkAnswer(parts, exchange);
}

function linkAnswer(
  parts: PageParts,
  exchange: Exchange,
  { link, problem }: { readonly link?: string | undefined; readonly problem?: Problem } = {},
): HttpAnswer {
  const { frame, cookies } = arrived(parts, exchange);
  const html = linkPage(frame, { link, problem: problem?.text });
  const scriptHash = PASSKEY_SCRIPT_HASH;
  return pageAnswer(exchange, html, { status: problem?.status ?? 200, cookies, scriptHash });
}

/** The code is right: shows the page that makes the passkey. */
export async function tryCode(parts: PageParts, exchange: Exchange): Promise<HttpAnswer> {
  const read = formIn(parts, exchange);
  if ('fault' in read) {
    return linkAnswer(parts, exchange, { problem: { status: 403, text: read.fault } });
  }
  const [link, code] = [read.form.one('link') ?? '', read.form.one('code') ?? ''];
  const { browser, frame } = arrived(parts, exchange);
  try {
    const view = await parts.people.beginEnrolment({ link, code }, browser);
    const html = enrolmentPage(frame, view, browserWords(browser.userAgent));
    return pageAnswer(exchange, html, { scriptHash: PASSKEY_SCRIPT_HASH });
  } catch (error) {
    return linkAnswer(parts, exchange, { link, problem: problemOf(error) });
  }
}

/** The session of a person who made the passkey; otherwise the page of the link, which says why. */
export async function enrolled(
  parts: PageParts,
  exchange: Exchange,
): Promise<Session | HttpAnswer> {
  const read = formIn(parts, exchange);
  if ('fault' in read) {
    return linkAnswer(parts, exchange, { problem: { status: 403, text: read.fault } });
  }
  const text = (name: string) => read.form.one(name) ?? '';
  const names = ['label', 'challenge', 'client_data', 'authenticator_data'];
  const sent = Object.fromEntries(names.map((name) => [name, text(name)]));
  const made = consoleMethods['passkeys.add'].safeParse(sent).data;
  if (!made) return linkAnswer(parts, exchange, { problem: UNREADABLE });
  try {
    const { browser } = arrived(parts, exchange);
    return await parts.people.completeEnrolment(
      { ...made, invitation_id: text('invitation') },
      browser,
    );
  } catch (error) {
    return linkAnswer(parts, exchange, { problem: problemOf(error) });
  }
}

const UNREADABLE: Problem = {
  status: 400,
  text: 'Cannot enrol: the name of the passkey must have 1 to 64 visible characters',
};

/** The session of a person who signed in with a passkey. Rejects with the refusal. */
export function passkeySession(parts: PageParts, exchange: Exchange, form: Form): Promise<Session> {
  const names = ['challenge', 'credential_id', 'client_data', 'authenticator_data', 'signature'];
  const answer = Object.fromEntries(names.map((name) => [name, form.one(name) ?? '']));
  return parts.people.signIn(answer, arrived(parts, exchange).browser);
}

/** The form of a browser without a session. */
export function formIn({ signIn, cookies }: PageParts, exchange: Exchange) {
  return provedForm(exchange, signIn, cookies().form.read(exchange.ask));
}

export function problemOf(error: unknown): Problem {
  if (!(error instanceof Refusal)) throw error;
  const { failure } = error;
  return { status: statusOf(failure), text: failure.detail };
}
