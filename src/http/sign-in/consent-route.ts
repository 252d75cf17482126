/**
 * The authorization endpoint in a browser: shows the consent page and takes its form.
 *
 * @module
 */

import { TICKS } from '../../domain/sign-in/consent.ts';
import type { AuthorizeAnswer } from '../../service/sign-in/authorize.ts';
import type { Session } from '../../service/sign-in/sessions.ts';
import type { Exchange, HttpAnswer } from '../exchange.ts';
import { frameOf, pageAnswer, redirectAnswer, userAgentOf } from './arrival.ts';
import { consentPage } from './consent-page.ts';
import type { Form } from './forms.ts';
import { formTargetOf } from './headers.ts';
import {
  AGAIN_FIELD,
  formOf,
  loginAnswer,
  type PageParts,
  paramsIn,
  requestQuery,
} from './page-parts.ts';

/** Carries the parameters of the client from the page to the form. The service reads them again. */
export const REQUEST_FIELD = 'request';

export async function answerConsent(
  parts: PageParts,
  exchange: Exchange,
  session: Session,
): Promise<HttpAnswer> {
  const userAgent = userAgentOf(exchange);
  if (exchange.ask.method === 'GET') {
    const params = requestQuery(exchange);
    const answer = await parts.signIn.authorize({ session, params, userAgent });
    return consentAnswer(parts, exchange, { session, params, answer });
  }
  const form = formOf(parts, exchange, session, ['c']);
  const params = paramsIn(form.one(REQUEST_FIELD) ?? '');
  const decision = decisionIn(form);
  const answer = await parts.signIn.authorize({ session, params, userAgent, decision });
  return consentAnswer(parts, exchange, { session, params, answer });
}

function decisionIn(form: Form) {
  const answer = form.one('answer');
  const tick = TICKS.find((each) => each === answer);
  if (tick !== undefined || answer === 'kept') return { filled: consentForm(form), tick };
  return answer === 'allow' ? consentForm(form) : ('refuse' as const);
}

function consentForm(form: Form) {
  const text = (name: string) => form.one(name) ?? '';
  return {
    chosen: form.all('c'),
    limit: text('limit'),
    currency: text('currency'),
    until: text('until'),
    for: text('for'),
    pass: text('pass'),
  };
}

interface Answered {
  readonly session: Session;
  readonly params: URLSearchParams;
  readonly answer: AuthorizeAnswer;
}

async function consentAnswer(
  parts: PageParts,
  exchange: Exchange,
  { session, params, answer }: Answered,
): Promise<HttpAnswer> {
  const { signIn, basePath } = parts;
  if ('redirect' in answer) return redirectAnswer(exchange, answer.redirect);
  if ('stepUp' in answer) return proveAgain(parts, exchange, { session, params, answer });
  const view = { ...answer.show, hidden: { [REQUEST_FIELD]: params.toString() } };
  const html = consentPage(frameOf(signIn, basePath, session), view);
  const target = formTargetOf(params.get('redirect_uri') as string);
  const status = view.problem === undefined ? 200 : 422;
  return pageAnswer(exchange, html, { status, formTargets: [target] });
}

/**
 * The person signs in again, and comes back to the same request. The session lives on until then: any site can
 * link to such a request.
 */
async function proveAgain(
  parts: PageParts,
  exchange: Exchange,
  { session, params, answer }: Answered,
): Promise<HttpAnswer> {
  const returnTo = `/authorize?${params}`;
  const provider = session.record.issuer && parts.signIn.providerOf(session.record.issuer);
  if (provider && 'stepUp' in answer) {
    return loginAnswer(parts, exchange, { provider, returnTo, stepUp: answer.stepUp });
  }
  const query = new URLSearchParams({ return_to: returnTo, [AGAIN_FIELD]: 'yes' });
  return redirectAnswer(exchange, `${parts.basePath}/sign-in?${query}`);
}
