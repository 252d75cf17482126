/**
 * Serves what a running service says of itself: the API as data, the API as a page, and the front page.
 *
 * Data and page describe exactly the operations that the service offers, from what was made when the package was
 * built. The data is put together as soon as the service listens, so that no caller waits for it. None of the three is an operation, so discovery does not list them. Where people cannot
 * sign in, a page says so at the addresses of the pages for people; where a page cannot be shown, it says why.
 *
 * @module
 */

import { createHash } from 'node:crypto';
import { pathOfBase } from '../address/host.ts';
import { pageHeaders, textHash } from '../openapi/html.ts';
import { openApiDocument } from '../openapi/openapi.ts';
import { type BuiltPage, builtPage, builtSchemas } from '../openapi/page.ts';
import type { Failure } from '../protocol/failure.ts';
import type { OperationName } from '../protocol/operations.ts';
import type { DiscoveryAnswer } from '../protocol/trust.ts';
import { DOCUMENT_MAX_AGE_SECONDS, type Document } from '../service/operations/documents.ts';
import type { Runtime } from '../service/runtime.ts';
import { prefersHtml } from './accept.ts';
import { type HttpAnswer, type HttpAsk, headerText } from './exchange.ts';
import { FRONT_STYLE, frontPage, noSignInPage, refusalPage, signInAdvice } from './front-page.ts';
import { plainPath } from './router.ts';

export interface Reference {
  /** The API as OpenAPI, made at the first call. */
  data(): Document;
  /** The API as a page, made at the first call. */
  page(): Document;
}

export function createReference({
  methods,
  gated,
  config,
  basePath,
  capabilities,
}: Pick<Runtime, 'methods' | 'gated' | 'config' | 'basePath' | 'capabilities'>): Reference {
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

/** The front page of a service, made once for each version of its discovery document. */
export function createFrontPage(
  facts: Parameters<typeof frontPage>[1] = {},
): (discovery: Document) => Document {
  let made: { from: Document; page: Document } | undefined;
  return (from) => {
    if (made?.from !== from) {
      const { svc_discovery } = JSON.parse(from.text) as DiscoveryAnswer;
      const page = frontPage(svc_discovery, facts);
      made = { from, page: documentOf(page, pageHeaders(textHash(FRONT_STYLE))) };
    }
    return made.page;
  };
}

/** The addresses of pages for people begin so; the front page is one. */
const PAGES_FOR_PEOPLE = /^\/(?:(?:console|sign-in|enrol|authorize|agents|accounts)(?:\/|$)|$)/;

/**
 * Answers a browser that opens a page for people which cannot be shown: with the words of the failure, or with what an
 * operator can do where people cannot sign in, which is also logged at the start. Programs get a failure as everywhere.
 */
export function createRefusalPage(
  runtime: Pick<Runtime, 'id' | 'console' | 'log' | 'config' | 'basePath' | 'baseUrl'>,
): (ask: HttpAsk, found: Failure) => Pick<HttpAnswer, 'headers' | 'body'> | undefined {
  const { id, log, baseUrl } = runtime;
  const hasConsole = runtime.console !== undefined;
  const advice = signInAdvice(runtime);
  if (!hasConsole) log.info({}, `people cannot sign in, so there is no console. ${advice}`);
  const headers = { ...pageHeaders(textHash(FRONT_STYLE)), vary: 'Accept' };
  return (ask, found) => {
    if (ask.method !== 'GET' || !PAGES_FOR_PEOPLE.test(plainPath(ask.target))) return undefined;
    if (!prefersHtml(headerText(ask, 'accept'))) return undefined;
    const isMissing = !hasConsole && found.type === 'not_found';
    const start = `${pathOfBase(baseUrl())}/`;
    const body = isMissing ? noSignInPage(id, advice) : refusalPage(id, found.detail, start);
    return { headers, body };
  };
}

function documentOf(content: string, headers: Record<string, string>): Document {
  return {
    text: content,
    etag: `"sha256-${createHash('sha256').update(content).digest('hex')}"`,
    headers: { 'cache-control': `public, max-age=${DOCUMENT_MAX_AGE_SECONDS}`, ...headers },
  };
}
