/**
 * Pages of other origins: which may read answers (CORS), and which requests a browser sent for another site.
 *
 * No origin is admitted unless the configuration names it. An admitted page never sends cookies: the answer
 * does not allow credentials. What a caller may do is decided by its token, whatever page it is.
 *
 * @module
 */

import type { AskedHeaders } from './exchange.ts';

/** What an admitted page may read beyond the headers that every page may read. */
const EXPOSED = [
  'allow',
  'etag',
  'mcp-protocol-version',
  'mcp-session-id',
  'retry-after',
  'traceparent',
  'www-authenticate',
  'x-request-id',
  'x-svc-signature',
].join(', ');

/** What an admitted page may send. */
const SENDABLE = [
  'accept',
  'authorization',
  'content-type',
  'idempotency-key',
  'if-none-match',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
  'prefer',
  'traceparent',
].join(', ');

/** In seconds: how long a browser remembers a preflight. */
const PREFLIGHT_AGE_SECONDS = 600;

export interface Cors {
  isAdmitted(origin: string | undefined): boolean;
  /** The headers of every answer, for a page of this origin or for none. */
  headersFor(origin: string | undefined): Readonly<Record<string, string>>;
  /** The headers that answer the preflight of an admitted page; undefined for another request. */
  preflight(headers: AskedHeaders, methods: readonly string[]): Record<string, string> | undefined;
}

/** Undefined without origins: then no answer has a header of CORS. */
export function createCors(origins: readonly string[]): Cors | undefined {
  if (origins.length === 0) return undefined;
  const isAny = origins.includes('*');
  const admitted = new Set(origins);
  const isAdmitted = (origin: string | undefined) =>
    origin !== undefined && (isAny || admitted.has(origin));
  const vary: Readonly<Record<string, string>> = isAny ? {} : { vary: 'Origin' };
  const headersFor = (origin: string | undefined) =>
    isAdmitted(origin)
      ? {
          ...vary,
          'access-control-allow-origin': isAny ? '*' : (origin as string),
          'access-control-expose-headers': EXPOSED,
        }
      : vary;
  return {
    isAdmitted,
    headersFor,
    preflight(headers, methods) {
      if (headers['access-control-request-method'] === undefined) return undefined;
      if (methods.length === 0 || !isAdmitted(originIn(headers))) return undefined;
      return {
        'access-control-allow-methods': methods.join(', '),
        'access-control-allow-headers': SENDABLE,
        'access-control-max-age': String(PREFLIGHT_AGE_SECONDS),
      };
    },
  };
}

export function originIn({ origin }: AskedHeaders): string | undefined {
  return typeof origin === 'string' ? origin : undefined;
}

/**
 * Whether a browser sent the request for a page of another site. The cookies of such a request belong to a
 * person who did not ask for it. A program that is no browser sends neither header.
 */
export function isCrossSite(headers: AskedHeaders, ownOrigin: string): boolean {
  const { origin } = headers;
  return isOfOtherSite(headers) || (origin !== undefined && origin !== ownOrigin);
}

/** Whether the browser itself says that a page of another site sent the request. */
export function isOfOtherSite({ 'sec-fetch-site': site }: AskedHeaders): boolean {
  return site !== undefined && site !== 'same-origin' && site !== 'none';
}
