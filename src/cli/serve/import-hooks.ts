/**
 * Hooks of Node's module loader, for imports that are repeated: a file that is imported by a path gets the number
 * of the import that began it, so that Node loads it again. Runs in the thread of the loader.
 *
 * @module
 */

import type { ResolveHook } from 'node:module';
import type { MessagePort } from 'node:worker_threads';

/** The member of the query that has the number. */
export const FRESH = 'writ-import';

let port: MessagePort | undefined;

export function initialize(given: { readonly port: MessagePort }): void {
  port = given.port;
}

export const resolve: ResolveHook = async (specifier, context, next) => {
  const found = await next(specifier, context);
  const number = numberOf(context.parentURL) ?? numberOf(specifier);
  // A package is imported by its name. It stays as it is, with all that it imports.
  const isOwn = /^(?:\.|\/|#|file:)/.test(specifier) && found.url.startsWith('file:');
  if (number === undefined || !isOwn) return found;
  const url = new URL(found.url);
  if (url.pathname.includes('/node_modules/')) return found;
  url.search = '';
  port?.postMessage(url.href);
  url.search = `?${FRESH}=${number}`;
  return { ...found, url: url.href };
};

function numberOf(url: string | undefined): string | undefined {
  if (url === undefined || !URL.canParse(url)) return undefined;
  return new URL(url).searchParams.get(FRESH) ?? undefined;
}
