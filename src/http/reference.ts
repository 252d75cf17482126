/**
 * Serves what a running service says of itself: the API as data, the API as a page, and the front page.
 *
 * Data and page describe exactly the operations that the service offers, from what was made when the package was
 * built. The data is put together as soon as the service listens, so that no caller waits for it. None of the three is an operation, so discovery does not list them. Where people cannot
 * sign in, a page says so at the addresses of the pages for people.
 *
 * @module
 */

import { createHash } from 'node:crypto';
import { pageHeaders, textHash } from '../openapi/html.ts';
import { openApiDocument } from '../openapi/openapi.ts';
import { type BuiltPage, builtPage, builtSchemas } from '../openapi/page.ts';
import type { OperationName } from '../protocol/operations.ts';
import type { DiscoveryAnswer } from '../protocol/trust.ts';
import { DOCUMENT_MAX_AGE_SECONDS, type Document } from '../service/operations/documents.ts';
import type { Runtime } from '../service/runtime.ts';
import { prefersHtml } from './accept.ts';
import { type Exchange, type HttpAnswer, headerText } from './exchange.ts';
import { FRONT_STYLE, frontPage, noSignInPage, SIGN_IN_ADVICE } from './front-page.ts';

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

/** The addresses of pages for people begin so. */
const PAGES_FOR_PEOPLE = /^\/(?:console|sign-in|authorize|agents|accounts)(?:\/|$)/;

/**
 * Answers a browser that opens a page for people at a service without sign-in, and logs at the start that there is none.
 * Programs get a failure as everywhere.
 */
export function createMissingPage({
  id,
  signIn,
  log,
}: Pick<Runtime, 'id' | 'signIn' | 'log'>): (
  exchange: Exchange,
  path: string,
) => HttpAnswer | undefined {
  if (signIn) return () => undefined;
  log.info({}, `people cannot sign in, so there is no console. ${SIGN_IN_ADVICE}`);
  const body = noSignInPage(id);
  const fixed = { ...pageHeaders(textHash(FRONT_STYLE)), 'cache-control': 'no-store' };
  return ({ ask, headers }, path) => {
    const isOpened = ask.method === 'GET' || ask.method === 'HEAD';
    if (!isOpened || !PAGES_FOR_PEOPLE.test(path)) return undefined;
    if (!prefersHtml(headerText(ask, 'accept'))) return undefined;
    return { status: 404, headers: Object.assign(headers, fixed, { vary: 'Accept' }), body };
  };
}

function documentOf(content: string, headers: Record<string, string>): Document {
  return {
    text: content,
    etag: `"sha256-${createHash('sha256').update(content).digest('hex')}"`,
    headers: { 'cache-control': `public, max-age=${DOCUMENT_MAX_AGE_SECONDS}`, ...headers },
  };
}
