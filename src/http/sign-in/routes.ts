/**
 * The paths of sign-in: pages for people.
 *
 * Translates between a browser and `service/sign-in`. Decides nothing: a request without a session is sent
 * to sign in, a form without proof is not read. `oauth-routes.ts` has the paths for programs.
 *
 * @module
 */

import { isLoopback, pagesUrl, pathOfBase } from '../../address/host.ts';
import { failure, Refusal } from '../../domain/failure.ts';
import type { Runtime } from '../../service/runtime.ts';
import { OAuthError } from '../../service/sign-in/oauth.ts';
import type { Session } from '../../service/sign-in/sessions.ts';
import { tooLong } from '../bounds/bodies.ts';
import type { Visits } from '../bounds/strangers.ts';
import type { AddedRoute, Exchange, HttpAnswer } from '../exchange.ts';
import { requestPath } from '../request.ts';
import { upTo } from '../router.ts';
import { statusOf } from '../status.ts';
import { type AccountPages, accountPages } from './accounts-routes.ts';
import { agentsPage, endAgentPage, stopAllPage } from './agents-page.ts';
import {
  createCookies,
  faultAnswer,
  frameOf,
  ownName,
  pageAnswer,
  redirectAnswer,
  userAgentOf,
} from './arrival.ts';
import { answerConsent, REQUEST_FIELD } from './consent-route.ts';
import { type Form, readForm } from './forms.ts';
import { oauthRoutes } from './oauth-routes.ts';
import {
  AGAIN_FIELD,
  formOf,
  loginAnswer,
  type PageParts,
  requestQuery,
  sessionIn,
} from './page-parts.ts';
import { PASSKEY_SCRIPT_HASH } from './passkey-page.ts';
import {
  arrived,
  enrolled,
  formIn,
  passkeySession,
  problemOf,
  showLink,
  tryCode,
} from './passkey-routes.ts';
import { signInPage } from './sign-in-page.ts';

/** None where no person can sign in. */
export function signInRoutes(
  {
    signIn,
    people,
    console,
    accounts,
  }: Pick<Runtime, 'signIn' | 'people' | 'console' | 'accounts'>,
  visits: Visits | undefined,
): AddedRoute[] {
  if (!signIn || !people || !console) return [];
  const { ofApp } = console;
  return [...pageRoutes({ signIn, people, ofApp }, accounts), ...oauthRoutes(signIn, visits)];
}

function pageRoutes(
  given: Pick<PageParts, 'signIn' | 'people' | 'ofApp'>,
  accounts: Runtime['accounts'],
): AddedRoute[] {
  const { signIn } = given;
  const parts: PageParts = {
    ...given,
    cookies: createCookies(signIn),
    // Known once the service listens. A proxy may add a path that the service itself does not see.
    get basePath() {
      return pathOfBase(signIn.baseUrl());
    },
  };
  const open = (path: `/${string}`, answer: PageMethod) => pageRoute(parts, 'GET', path, answer);
  const post = (path: `/${string}`, answer: PageMethod) => pageRoute(parts, 'POST', path, answer);
  return [
    open('/sign-in', showSignIn),
    post('/sign-in', signInWith(keySession)),
    post('/sign-in/passkey', signInWith(passkeySession)),
    open('/enrol', showLink),
    post('/enrol', tryCode),
    post('/enrol/passkey', endEnrolment),
    open('/sign-in/start', startLogin),
    open('/sign-in/callback', endLogin),
    open('/sign-in/callback/{provider}', endLogin),
    post('/sign-out', signOut),
    open('/authorize', withSession(answerConsent)),
    post('/authorize', withSession(answerConsent)),
    open('/agents', withSession(showAgents)),
    open('/agents/end', withSession(askToEnd)),
    post('/agents/end', withSession(endOne)),
    open('/agents/stop', withSession(askToStop)),
    post('/agents/stop', withSession(stopEach)),
    ...(accounts ? accountRoutes(accountPages(accounts)) : []),
  ];

  function accountRoutes({ show, connect, disconnect, callback }: AccountPages): AddedRoute[] {
    return [
      open('/accounts', withSession(show)),
      open('/accounts/{name}', withSession(show)),
      open('/accounts/{name}/callback', callback),
      post('/accounts/{name}/connect', withSession(connect)),
      post('/accounts/{name}/disconnect', withSession(disconnect)),
    ];
  }
}

type PageMethod = (parts: PageParts, exchange: Exchange) => Promise<HttpAnswer> | HttpAnswer;
type SessionMethod = (
  parts: PageParts,
  exchange: Exchange,
  session: Session,
) => Promise<HttpAnswer>;

/** Every refusal becomes a page. */
function pageRoute(
  parts: PageParts,
  method: 'GET' | 'POST',
  path: `/${string}`,
  answer: PageMethod,
): AddedRoute {
  const name = path.slice(1).replaceAll(/[^a-z]+/g, '_');
  return {
    method,
    path,
    route: {
      name,
      takesForm: true,
      stranger: async (exchange) => ((await sessionIn(parts, exchange)) ? undefined : tooLong()),
      async answer(exchange) {
        try {
          const elsewhere = ownName(exchange, parts.signIn);
          if (elsewhere !== undefined) return redirectAnswer(exchange, elsewhere);
          return await answer(parts, exchange);
        } catch (error) {
          return refusalPage(parts, exchange, error);
        }
      },
    },
  };
}

function refusalPage(
  { signIn, basePath }: PageParts,
  exchange: Exchange,
  error: unknown,
): HttpAnswer {
  const frame = frameOf(signIn, basePath);
  if (error instanceof Refusal) {
    const { failure } = error;
    const fault = { status: statusOf(failure), title: 'This cannot be done', text: failure.detail };
    return faultAnswer(exchange, frame, fault);
  }
  if (error instanceof OAuthError) {
    const title = 'The program asked for something that cannot be given';
    return faultAnswer(exchange, frame, { status: 400, title, text: error.message });
  }
  throw error;
}

/** Sends a browser without a session to sign in, and back. */
function withSession(answer: SessionMethod): PageMethod {
  return async (parts, exchange) => {
    const session = await sessionIn(parts, exchange);
    if (session) return answer(parts, exchange, session);
    const { ask } = exchange;
    const returnTo = ask.method === 'GET' ? ask.target : requestedAgain(exchange);
    const query = new URLSearchParams({ return_to: returnTo });
    return redirectAnswer(exchange, `${parts.basePath}/sign-in?${query}`);
  };
}

/** A person whose session ended while the consent page was open comes back to the same request. */
function requestedAgain({ ask, body }: Exchange): string {
  if (requestPath(ask.target) !== '/authorize') return '/agents';
  const reading = readForm(body, ['c']);
  const request = 'form' in reading ? reading.form.one(REQUEST_FIELD) : undefined;
  return request === undefined ? '/agents' : `/authorize?${request}`;
}

/** Pages that a person may be sent to after signing in. Anything else leads to the agents. */
const RETURNS =
  /^\/(?:authorize\?[\x21-\x7e]*|agents(?:$|[/?][\x21-\x7e]*)|accounts(?:\/[\w-]+)?|console\/[\x21-\x7e]*)$/;

export function returnToOf(text: string | undefined): string {
  return text !== undefined && RETURNS.test(text) && isPlainPath(text) ? text : '/agents';
}

/** Whether a browser keeps the path as it is. One with ".." would lead out of the pages, into an app around the service. */
function isPlainPath(text: string): boolean {
  return new URL(text, 'http://localhost').pathname === requestPath(upTo('#', text));
}

async function showSignIn(parts: PageParts, exchange: Exchange): Promise<HttpAnswer> {
  const query = requestQuery(exchange);
  const returnTo = returnToOf(query.get('return_to') ?? undefined);
  const isKnown = !query.has(AGAIN_FIELD) && (await isSignedInFor(parts, exchange, returnTo));
  if (isKnown) return redirectAnswer(exchange, `${parts.basePath}${returnTo}`);
  return signInAnswer(parts, exchange, returnTo);
}

/** The console is for people of the app around the service, too; the other pages take a session that began here. */
async function isSignedInFor(
  parts: PageParts,
  exchange: Exchange,
  returnTo: string,
): Promise<boolean> {
  const { person } = exchange.ask;
  if (person && returnTo.startsWith('/console/') && (await parts.ofApp(person))) return true;
  return (await sessionIn(parts, exchange)) !== undefined;
}

/** The proof of a form before there is a session: without it another site could sign the person in as somebody else. */
function signInAnswer(
  parts: PageParts,
  exchange: Exchange,
  returnTo: string,
  problem?: ReturnType<typeof problemOf>,
): HttpAnswer {
  const { browser, frame, cookies } = arrived(parts, exchange);
  const { providers, takesKeys: takesKey } = parts.signIn;
  const question = parts.people.question(browser);
  const { host, origin } = new URL(pagesUrl(parts.signIn.baseUrl()));
  const appOrigin = exchange.ask.person && origin;
  const view = { providers, takesKey, question, returnTo, host, appOrigin, problem: problem?.text };
  return pageAnswer(exchange, signInPage(frame, view), {
    status: problem?.status ?? 200,
    cookies,
    scriptHash: question && PASSKEY_SCRIPT_HASH,
  });
}

type SignInMethod = (parts: PageParts, exchange: Exchange, form: Form) => Promise<Session>;

/** A form of the sign-in page. */
function signInWith(session: SignInMethod): PageMethod {
  return async (parts, exchange) => {
    const read = formIn(parts, exchange);
    if ('fault' in read) {
      return signInAnswer(parts, exchange, '/agents', { status: 403, text: read.fault });
    }
    const returnTo = returnToOf(read.form.one('return_to'));
    try {
      return await signedIn(parts, exchange, await session(parts, exchange, read.form), returnTo);
    } catch (error) {
      return signInAnswer(parts, exchange, returnTo, problemOf(error));
    }
  };
}

/** The address says that no other machine reaches the service. An app around it may listen elsewhere, too. */
const keySession: SignInMethod = async ({ signIn }, exchange, form) => {
  const { localAddress } = exchange.ask;
  if (localAddress !== undefined && !isLoopback(localAddress.replace(/^::ffff:/, ''))) {
    const detail = 'Cannot sign in: a key is taken on this machine only';
    throw new Refusal(failure('not_entitled', detail));
  }
  return signIn.signInByKey(form.one('key') ?? '', userAgentOf(exchange));
};

/** A person who enrolled is signed in, at the console. */
async function endEnrolment(parts: PageParts, exchange: Exchange): Promise<HttpAnswer> {
  const outcome = await enrolled(parts, exchange);
  return 'record' in outcome ? signedIn(parts, exchange, outcome, '/console/') : outcome;
}

/** A new session has a new secret, and ends the one that the browser had before. */
async function signedIn(
  parts: PageParts,
  exchange: Exchange,
  session: Session,
  returnTo: string,
): Promise<HttpAnswer> {
  const before = await sessionIn(parts, exchange);
  if (before) await parts.signIn.signOut(before, false);
  const { session: cookie, login, form } = parts.cookies();
  const { expires_at, created_at } = session.record;
  const seconds = (expires_at.getTime() - created_at.getTime()) / 1_000;
  return redirectAnswer(exchange, `${parts.basePath}${returnTo}`, [
    cookie.write(session.secret, seconds),
    login.clear(),
    form.clear(),
  ]);
}

async function startLogin(parts: PageParts, exchange: Exchange): Promise<HttpAnswer> {
  const query = requestQuery(exchange);
  const provider = query.get('provider') ?? '';
  const returnTo = returnToOf(query.get('return_to') ?? undefined);
  return loginAnswer(parts, exchange, { provider, returnTo });
}

async function endLogin(parts: PageParts, exchange: Exchange): Promise<HttpAnswer> {
  const { signIn, cookies, basePath } = parts;
  const login = cookies().login.read(exchange.ask);
  try {
    const { provider: callback } = exchange.params;
    const at = { login, userAgent: userAgentOf(exchange), callback };
    const { session, returnTo } = await signIn.finishLogin(requestQuery(exchange), at);
    return await signedIn(parts, exchange, session, returnToOf(returnTo));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return faultAnswer(exchange, frameOf(signIn, basePath), {
      status: statusOf(error.failure),
      title: 'You are not signed in',
      text: error.failure.detail,
      link: { path: '/sign-in', label: 'Sign in again' },
    });
  }
}

async function signOut(parts: PageParts, exchange: Exchange): Promise<HttpAnswer> {
  const { signIn, cookies, basePath } = parts;
  const session = await sessionIn(parts, exchange);
  // A form of another site brings no cookie. Clearing it would sign the person out.
  if (!session) return redirectAnswer(exchange, `${basePath}/sign-in`);
  const form = formOf(parts, exchange, session);
  const other = form.one('session');
  if (other !== undefined && other !== session.record.session_id) {
    await signIn.endSession(session, other);
    return redirectAnswer(exchange, `${basePath}/agents`);
  }
  await signIn.signOut(session, form.one('everywhere') !== undefined);
  return redirectAnswer(exchange, `${basePath}/sign-in`, [cookies().session.clear()]);
}

async function showAgents(
  { signIn, basePath }: PageParts,
  exchange: Exchange,
  session: Session,
): Promise<HttpAnswer> {
  const view = await signIn.agents(session);
  return pageAnswer(exchange, agentsPage(frameOf(signIn, basePath, session), view));
}

async function askToEnd(
  { signIn, basePath }: PageParts,
  exchange: Exchange,
  session: Session,
): Promise<HttpAnswer> {
  const agent = await signIn.agent(session, requestQuery(exchange).get('agent') ?? '');
  return pageAnswer(exchange, endAgentPage(frameOf(signIn, basePath, session), agent));
}

async function endOne(parts: PageParts, exchange: Exchange, session: Session): Promise<HttpAnswer> {
  const form = formOf(parts, exchange, session);
  await parts.signIn.endAgent(session, form.one('agent') ?? '');
  return redirectAnswer(exchange, `${parts.basePath}/agents`);
}

async function askToStop(
  { signIn, basePath }: PageParts,
  exchange: Exchange,
  session: Session,
): Promise<HttpAnswer> {
  const { agents } = await signIn.agents(session);
  return pageAnswer(exchange, stopAllPage(frameOf(signIn, basePath, session), agents));
}

async function stopEach(
  parts: PageParts,
  exchange: Exchange,
  session: Session,
): Promise<HttpAnswer> {
  formOf(parts, exchange, session);
  await parts.signIn.stopAll(session);
  return redirectAnswer(exchange, `${parts.basePath}/agents`);
}
