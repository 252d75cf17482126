/**
 * Serves what a running service says of itself: the API as data, the API as a page, the front page, and what a browser
 * gets instead of a page.
 *
 * Data and page describe exactly the operations that the service offers, from what was made when the package was
 * built. The data is put together as soon as the service listens, so that no caller waits for it. None of them is an operation, so discovery does not list them. Where people cannot
 * sign in, a page says so at the addresses of the pages for people.
 *
 * @module
 */

import { createHash } from 'node:crypto';
import { pathOfBase } from '../address/host.ts';
import { pageHeaders, textHash } from '../openapi/html.ts';
import { openApiDocument } from '../openapi/openapi.ts';
import { type BuiltPage, builtPage, builtSchemas } from '../openapi/page.ts';
import type { Failure } from '../protocol/failure.ts';
import { type OperationName, operations } from '../protocol/operations.ts';
import type { DiscoveryAnswer } from '../protocol/trust.ts';
import { DOCUMENT_MAX_AGE_SECONDS, type Document } from '../service/operations/documents.ts';
import { isDocument, perform } from '../service/operations/operations.ts';
import type { Runtime } from '../service/runtime.ts';
import { prefersHtml } from './accept.ts';
import { httpAnswer, variedByAccept } from './answer.ts';
import type { Visits } from './bounds/strangers.ts';
import {
  type AddedRoute,
  type Exchange,
  type HttpAnswer,
  type HttpAsk,
  headerText,
  type Route,
} from './exchange.ts';
import { errorPage, isForPeople, noSignInPage } from './page/error-page.ts';
import { frontPage, signInAdvice } from './page/front-page.ts';
import { FAVICON } from './page/look.generated.ts';
import { STYLE_HASH } from './page/style.ts';
import { askOf } from './request.ts';
import { plainPath } from './router.ts';

export interface Reference {
  readonly routes: readonly AddedRoute[];
  /** Makes the API as data before a caller waits for it. */
  prepare(): void;
}

interface ReferenceParts {
  readonly visits: Visits | undefined;
  /** Why the service is not ready. */
  unready(): Promise<string[]>;
}

export function createReference(runtime: Runtime, parts: ReferenceParts): Reference {
  const { data, page } = createApi(runtime);
  const drawn = favicon();
  return {
    routes: [
      documentRoute(runtime, '/openapi.json', data),
      documentRoute(runtime, '/docs', page),
      documentRoute(runtime, '/favicon.svg', () => drawn),
      ...frontRoutes(runtime, parts),
    ],
    prepare: () => void data(),
  };
}

function documentRoute(runtime: Runtime, path: `/${string}`, document: () => Document): AddedRoute {
  const name = path.slice(1).replace(/\..*/, '');
  const route: Route = { name, answer: (exchange) => httpAnswer(runtime, exchange, document()) };
  return { method: 'GET', path, route };
}

/** The path `/`: a page for a browser, the discovery document for a program. */
function frontRoutes(runtime: Runtime, { visits, unready }: ReferenceParts): AddedRoute[] {
  const { discovery } = runtime.methods;
  if (!discovery) return [];
  const pageOf = createFrontPage(() => ({
    gated: runtime.gated,
    basePath: runtime.basePath,
    baseUrl: runtime.baseUrl(),
    hasSignIn: runtime.signIn !== undefined,
    hasConsole: runtime.console !== undefined,
    advice: signInAdvice(runtime),
  }));
  const route: Route = {
    name: 'front',
    async answer(exchange) {
      const { ask, headers } = exchange;
      const asking = askOf(operations.discovery, exchange, visits);
      const answer = await perform('discovery', discovery, asking, runtime);
      headers.vary = variedByAccept(headers.vary);
      if (!wantsPage(ask) || !isDocument(answer)) return httpAnswer(runtime, exchange, answer);
      return httpAnswer(runtime, exchange, pageOf(answer, await unready()));
    },
  };
  return [{ method: 'GET', path: '/', route }];
}

/** The API as data and as a page, each made at the first call. */
function createApi({
  methods,
  gated,
  config,
  basePath,
  capabilities,
}: Pick<Runtime, 'methods' | 'gated' | 'config' | 'basePath' | 'capabilities'>) {
  const offered = Object.keys(methods) as OperationName[];
  const isPublic = !gated.includes('manifest');
  const facts = {
    gated,
    basePath,
    ttlHoursMax: config.max_ttl_hours,
    ...(isPublic && { capabilities }),
  };
  let data: Document | undefined;
  let page: Document | undefined;
  return {
    data() {
      data ??= documentOf(JSON.stringify(openApiDocument(offered, builtSchemas(), facts)), {});
      return data;
    },
    page() {
      if (!page) {
        const built = builtPage();
        page = documentOf(apiPage(built, offered, gated), pageHeaders(built.styleHash));
      }
      return page;
    },
  };
}

/** The API page of a service that offers these operations, `gated` ones behind a credential. */
export function apiPage(
  { parts }: BuiltPage,
  offered: readonly OperationName[],
  gated: readonly OperationName[],
): string {
  const shown = parts.filter(({ of, gated: behind }) => {
    const named = of === undefined ? offered : of.filter((name) => offered.includes(name));
    return named.some((name) => behind === undefined || gated.includes(name) === behind);
  });
  return shown.map(({ html }) => html).join('');
}

/** The front page of a service, made once for each version of its discovery document and each state of readiness. */
function createFrontPage(
  facts: () => Parameters<typeof frontPage>[1],
): (discovery: Document, unready: readonly string[]) => Document {
  let made: { from: Document; reasons: string; page: Document } | undefined;
  return (from, unready) => {
    const reasons = unready.join('\n');
    if (made?.from !== from || made.reasons !== reasons) {
      const { svc_discovery } = JSON.parse(from.text) as DiscoveryAnswer;
      const page = frontPage(svc_discovery, { ...facts(), unready });
      // A page that was kept would say that the service is ready when it is not.
      const headers = { ...pageHeaders(STYLE_HASH), 'cache-control': 'no-cache' };
      made = { from, reasons, page: documentOf(page, headers) };
    }
    return made.page;
  };
}

/** The icon of all pages. */
function favicon(): Document {
  const [, style = ''] = /<style>(.*?)<\/style>/.exec(FAVICON) ?? [];
  const headers = { ...pageHeaders(textHash(style)), 'content-type': 'image/svg+xml' };
  return documentOf(FAVICON, headers);
}

/** A form that a page sends. Other requests with a body come from programs, whatever they accept. */
const FORM = /^application\/x-www-form-urlencoded\b/i;

/** Whether a browser asks for a page: it opens an address or sends a form. */
export function wantsPage(ask: Pick<HttpAsk, 'method' | 'headers'>): boolean {
  const isOpened = ask.method === 'GET' || FORM.test(headerText(ask, 'content-type') ?? '');
  return isOpened && prefersHtml(headerText(ask, 'accept'));
}

/**
 * Answers a browser that gets no page: with the words of the failure, or with what an operator can do where people cannot
 * sign in, which is also logged at the start. Programs get a failure as everywhere.
 */
export function createRefusalPage(
  runtime: Pick<Runtime, 'id' | 'console' | 'log' | 'config' | 'basePath' | 'baseUrl' | 'platform'>,
): (
  exchange: Pick<Exchange, 'ask' | 'headers'>,
  found: Failure,
  status: number,
) => Pick<HttpAnswer, 'headers' | 'body'> {
  const { id, log, baseUrl, platform } = runtime;
  const hasConsole = runtime.console !== undefined;
  const advice = signInAdvice(runtime);
  if (!hasConsole) log.info({}, `people cannot sign in, so there is no console. ${advice}`);
  const headers = pageHeaders(STYLE_HASH);
  return ({ ask, headers: { 'x-request-id': reference } }, failure, status) => {
    const site = { service: id, basePath: pathOfBase(baseUrl()), hasConsole };
    const path = plainPath(ask.target);
    const isMissing = !hasConsole && failure.type === 'not_found' && isForPeople(path);
    const missed = { failure, status, path, reference, at: new Date(platform.now()) };
    return { headers, body: isMissing ? noSignInPage(site, advice) : errorPage(site, missed) };
  };
}

function documentOf(content: string, headers: Record<string, string>): Document {
  return {
    text: content,
    etag: `"sha256-${createHash('sha256').update(content).digest('hex')}"`,
    headers: { 'cache-control': `public, max-age=${DOCUMENT_MAX_AGE_SECONDS}`, ...headers },
  };
}
