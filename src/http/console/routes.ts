/**
 * The paths of the console: its page, the files that the page loads, and its API.
 *
 * Every view has a path of its own and gets the same HTML; the script in it shows the view. The API takes the
 * cookie of a session together with the proof that our page sent the request; the operations behind it are those
 * of every transport. Decides nothing.
 *
 * @module
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pagesUrl, pathOfBase } from '../../address/host.ts';
import type { Entitlement } from '../../domain/authority/entitlement.ts';
import { failure, Refusal } from '../../domain/failure.ts';
import { isObject, readJson } from '../../domain/wire/json.ts';
import {
  CONSOLE_OPERATIONS,
  type ConsoleMethodName,
  type ConsoleOperation,
} from '../../protocol/console/methods.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { Console, ConsoleAsk } from '../../service/console/console.ts';
import { perform } from '../../service/operations/operations.ts';
import type { Runtime } from '../../service/runtime.ts';
import type { Session } from '../../service/sign-in/sessions.ts';
import type { SignIn } from '../../service/sign-in/sign-in.ts';
import { httpAnswer } from '../answer.ts';
import type { Visits } from '../bounds/strangers.ts';
import {
  type AddedRoute,
  closedOf,
  type Exchange,
  type HttpAnswer,
  headerText,
  type Route,
} from '../exchange.ts';
import { traceOf } from '../request.ts';
import {
  type Cookies,
  createCookies,
  isForeign,
  ownName,
  redirectAnswer,
} from '../sign-in/arrival.ts';
import { csrfOf, isCsrf } from '../sign-in/csrf.ts';
import { requestQuery } from '../sign-in/page-parts.ts';
import { returnToOf } from '../sign-in/routes.ts';

/** What the proofs of the console's requests have in common; a form of another page has another one. */
const PURPOSE = 'console';

/** The header that carries the proof. A page of another origin cannot set it without permission. */
const CSRF_HEADER = 'x-writ-csrf';

/** The views, as their addresses begin. The script knows what follows. */
const VIEWS = [
  '/console/',
  '/console/approvals',
  '/console/approvals/{id}',
  '/console/agents',
  '/console/agents/{id}',
  '/console/activity',
  '/console/activity/{id}',
  '/console/capabilities',
  '/console/capabilities/{id}',
  '/console/trust',
  '/console/operations',
  '/console/tools',
  '/console/passkeys',
] as const;

interface ConsoleRoutes {
  readonly runtime: Runtime;
  /** Absent where only the app around the service signs people in. */
  readonly signIn: SignIn | undefined;
  readonly console: Console;
  readonly visits: Visits | undefined;
  cookies(): Cookies;
}

/** None where no person can sign in. */
export function consoleRoutes(runtime: Runtime, visits: Visits | undefined): AddedRoute[] {
  const { signIn, console } = runtime;
  if (!console) return [];
  const parts: ConsoleRoutes = {
    runtime,
    signIn,
    console,
    visits,
    cookies: createCookies(runtime),
  };
  const page = routeOf('console', (exchange) => showPage(parts, exchange));
  const start = routeOf('console', (exchange) =>
    redirectAnswer(exchange, rooted(parts, '/console/')),
  );
  const api: Route = {
    ...routeOf('console_api', (exchange) => answerApi(parts, exchange)),
    stranger: async (exchange) => {
      // The app may take long to answer, and anybody can have it asked.
      if (exchange.ask.person) exchange.slot.begin();
      await provedPerson(parts, exchange);
      exchange.slot.wait();
      return undefined;
    },
  };
  return [
    ...VIEWS.map((path) => ({ method: 'GET' as const, path, route: page })),
    { method: 'GET', path: '/console', route: start },
    { method: 'GET', path: '/console/assets/{file}', route: routeOf('console_assets', showAsset) },
    { method: 'GET', path: '/console/verify.html', route: routeOf('console_verify', giveVerifier) },
    { method: 'POST', path: '/console/api/{method}', route: api },
    ...(signIn ? [] : [signInAtApp(parts)]),
  ];
}

function routeOf(name: string, answer: Route['answer']): Route {
  return { name, isForOwnPages: true, answer };
}

/** The address to which an open page leads when its session is over: back to the page, which says who is asked. */
function signInAtApp(parts: ConsoleRoutes): AddedRoute {
  const answer = (exchange: Exchange) => {
    const view = returnToOf(requestQuery(exchange).get('return_to') ?? undefined);
    return redirectAnswer(
      exchange,
      rooted(parts, view.startsWith('/console/') ? view : '/console/'),
    );
  };
  return { method: 'GET', path: '/sign-in', route: routeOf('console', answer) };
}

/** A proxy may add a path that the service itself does not see. */
function rooted({ runtime }: ConsoleRoutes, path: string): string {
  return `${pathOfBase(runtime.baseUrl())}${path}`;
}

async function showPage(parts: ConsoleRoutes, exchange: Exchange): Promise<HttpAnswer> {
  const { runtime, signIn, cookies } = parts;
  const elsewhere = ownName(exchange, runtime);
  if (elsewhere !== undefined) return redirectAnswer(exchange, elsewhere);
  const person = await personOf(parts, exchange);
  if (!person) {
    if (!signIn) throw new Refusal(failure('authentication_required', notInApp(runtime)));
    const query = new URLSearchParams({ return_to: exchange.ask.target });
    return redirectAnswer(exchange, rooted(parts, `/sign-in?${query}`));
  }
  const { session } = person;
  const headers: HttpAnswer['headers'] = { ...exchange.headers, ...PAGE_HEADERS };
  const before = exchange.ask.person && (await ownSession(parts, exchange));
  // As a new sign-in does: otherwise the one before would be back when this person leaves the app.
  if (before && before.record.principal !== session.record.principal) {
    await signIn?.signOut(before, false);
    headers['set-cookie'] = [cookies().session.clear()];
  }
  const csrf = csrfOf(session.secret, PURPOSE);
  const html = consoleAssets().page({ basePath: rooted(parts, ''), csrf });
  return { status: 200, headers, body: html };
}

/** For the person. On this machine the pages have one name, and the app may be signed in to under another. */
function notInApp({ baseUrl }: Pick<Runtime, 'baseUrl'>): string {
  return `You are not signed in: sign in to the app at ${new URL(pagesUrl(baseUrl())).origin}, then open this page again`;
}

/** Who asks: the person of the app around the service, otherwise that of a session which began here. */
interface Person {
  readonly session: Session;
  /** What the person is entitled to now; undefined once the session is over. */
  entitlement(): Promise<Entitlement | undefined>;
}

async function personOf(parts: ConsoleRoutes, exchange: Exchange): Promise<Person | undefined> {
  const { console } = parts;
  const identify = exchange.ask.person;
  const named = identify && (await console.ofApp(identify));
  if (!named) {
    const session = await ownSession(parts, exchange);
    return session && { session, entitlement: () => console.entitlement(session.secret) };
  }
  const { session } = named;
  let heard: typeof named | undefined = named;
  return {
    session,
    async entitlement() {
      // The first answer is of this moment. A call that waited for its turn asks again.
      const found = heard ?? (await console.ofApp(identify));
      heard = undefined;
      return found?.session.secret === session.secret ? found.entitlement : undefined;
    },
  };
}

async function ownSession(
  { signIn, cookies }: ConsoleRoutes,
  { ask }: Exchange,
): Promise<Session | undefined> {
  return signIn?.session(cookies().session.read(ask));
}

function showAsset({ headers, params }: Exchange): HttpAnswer | Failure {
  const asset = consoleAssets().file(params.file ?? '');
  if (!asset)
    return failure('not_found', 'Cannot find the file: the page was built anew; load it again');
  return {
    status: 200,
    headers: { ...headers, ...ASSET_HEADERS, 'content-type': asset.type },
    body: asset.body,
  };
}

/** Saved, not shown: a page of this origin that an auditor did not take from it would prove nothing. */
function giveVerifier({ headers }: Exchange): HttpAnswer {
  return {
    status: 200,
    headers: {
      ...headers,
      ...API_HEADERS,
      'content-type': 'text/html; charset=utf-8',
      'content-disposition': 'attachment; filename="verify.html"',
      'content-security-policy': "sandbox; default-src 'none'",
    },
    body: consoleAssets().verifier,
  };
}

async function answerApi(parts: ConsoleRoutes, exchange: Exchange): Promise<HttpAnswer> {
  const { runtime, console } = parts;
  const { params } = exchange;
  Object.assign(exchange.headers, API_HEADERS);
  const person = await provedPerson(parts, exchange);
  const name = params.method as ConsoleMethodName | ConsoleOperation;
  const asking = askOf(parts, exchange, person);
  const own = Object.hasOwn(console.methods, name)
    ? console.methods[name as ConsoleMethodName]
    : undefined;
  const operation = CONSOLE_OPERATIONS.find((each) => each === name);
  const method = own ? () => own(asking) : operation && runtime.methods[operation];
  if (!method) throw new Refusal(failure('not_found', 'Cannot find this method of the console'));
  return httpAnswer(runtime, exchange, await perform(name, method, asking, runtime));
}

/** Refuses a request that our page did not send. A browser names the origin of the page in every such request. */
async function provedPerson(parts: ConsoleRoutes, exchange: Exchange): Promise<Person> {
  const { runtime } = parts;
  const { origin } = new URL(pagesUrl(runtime.baseUrl()));
  // Exactly: another port of this machine is another origin, and shares its cookies.
  if (isForeign(exchange, runtime) || headerText(exchange.ask, 'origin') !== origin) {
    const detail = 'Cannot take the request: a page of another site sent it';
    throw new Refusal(failure('not_entitled', detail));
  }
  const person = await personOf(parts, exchange);
  if (!person) {
    const detail = 'Cannot identify the person: the session is over; sign in again';
    throw new Refusal(failure('authentication_required', detail));
  }
  const { secret } = person.session;
  if (isCsrf(headerText(exchange.ask, CSRF_HEADER), secret, PURPOSE)) return person;
  const detail = 'Cannot take the request: the page is out of date; load it again';
  throw new Refusal(failure('not_entitled', detail));
}

function askOf(
  { visits }: ConsoleRoutes,
  { ask, body, visit }: Exchange,
  { session, entitlement }: Person,
): ConsoleAsk {
  return {
    session,
    bearer: () => undefined,
    bySession: entitlement,
    proved: () => visits?.prove(visit),
    input: () => fieldsOf(body),
    gone: () => closedOf(ask),
    delivered: () => closedOf(ask),
    trace: traceOf(ask.headers.traceparent),
  };
}

function fieldsOf(body: Uint8Array): object {
  const reading = body.length === 0 ? { value: {} } : readJson(body);
  if ('fault' in reading) throw new Refusal(failure('invalid_parameters', reading.fault));
  if (isObject(reading.value)) return reading.value;
  throw new Refusal(failure('invalid_parameters', 'Cannot read the body: expected a JSON object'));
}

/**
 * The page loads scripts and styles of this service only, runs no text as code, stands in no frame, and is not
 * reachable from the window of another origin.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const COMMON = {
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'same-origin',
};

const PAGE_HEADERS: Readonly<Record<string, string>> = {
  ...COMMON,
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': POLICY,
  'x-frame-options': 'DENY',
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy':
    'camera=(), microphone=(), geolocation=(), publickey-credentials-get=(self), publickey-credentials-create=(self)',
};

const ASSET_HEADERS: Readonly<Record<string, string>> = {
  ...COMMON,
  'cache-control': 'public, max-age=31536000, immutable',
};

const API_HEADERS: Readonly<Record<string, string>> = {
  ...COMMON,
  'cache-control': 'no-store',
};

interface Asset {
  readonly type: string;
  readonly body: Uint8Array;
}

interface Assets {
  /** The page for one session. */
  page(facts: PageFacts): string;
  file(name: string): Asset | undefined;
  /** A page that verifies a log without this service. */
  readonly verifier: Uint8Array;
}

/** What the page learns from its HTML. */
interface PageFacts {
  readonly basePath: string;
  readonly csrf: string;
}

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Beside the compiled files of the package; a program that runs from its sources uses what was built last. */
const FOLDERS = ['../../console-page/', '../../../dist/src/console-page/'];

let read: Assets | undefined;

/**
 * The built page and the files that it loads, read from disk once, at the first request. The names of scripts and styles
 * contain a digest of their contents, so a browser keeps them. Throws when the page was not built.
 */
function consoleAssets(): Assets {
  read ??= readAssets();
  return read;
}

function readAssets(): Assets {
  const folder = FOLDERS.map((each) => new URL(each, import.meta.url)).find((each) =>
    existsSync(new URL('index.html', each)),
  );
  if (!folder) throw new Error('Cannot serve the console: its page was not built (npm run build)');
  const html = readFileSync(new URL('index.html', folder), 'utf8');
  const names = readdirSync(fileURLToPath(new URL('assets/', folder)));
  const files = new Map(names.map((name) => [name, assetOf(new URL(`assets/${name}`, folder))]));
  return {
    page({ basePath, csrf }) {
      const facts = Object.entries({ 'writ-base': basePath, 'writ-csrf': csrf })
        .map(([name, content]) => `<meta name="${name}" content="${escaped(content)}">`)
        .join('');
      // By functions: a "$" in a text that replaces another would have a meaning.
      return html
        .replaceAll('="./', () => `="${escaped(basePath)}/console/`)
        .replace('</head>', () => `${facts}</head>`);
    },
    file: (name) => files.get(name),
    verifier: readFileSync(new URL('verify.html', folder)),
  };
}

function assetOf(url: URL): Asset {
  const type = TYPES[extname(url.pathname)] ?? 'application/octet-stream';
  return { type, body: readFileSync(url) };
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}
