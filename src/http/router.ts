/**
 * Routes: which one a method and a path mean. Knows nothing of what a route does.
 *
 * A path is compared letter by letter, after escapes of unreserved characters are decoded. A field fills one
 * whole segment of a path.
 *
 * @module
 */

import { PATH_PARAMETER_LENGTH_MAX } from './bounds/limits.ts';

export interface Match<Route> {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

export interface Router<Route> {
  /** `{field}` in the path stands for one segment. */
  add(method: string, path: string, route: Route): void;
  find(method: string, path: string): Match<Route> | undefined;
  /** The methods that a path takes, HEAD with GET; empty for a path that does not exist. */
  methodsOf(path: string): string[];
  paths(): string[];
}

interface Pattern<Route> {
  readonly before: string;
  readonly after: string;
  readonly field: string;
  readonly route: Route;
}

const NO_PARAMS = {};

/** In the order in which a refusal names them. The core answers HEAD by the route of GET. */
const METHODS = [['GET', 'HEAD'], ['POST']] as const;

export function createRouter<Route>(): Router<Route> {
  const exact = new Map<string, Map<string, Match<Route>>>();
  /** By their method; the longest beginning first, so that the most exact pattern is found. */
  const patterns = new Map<string, Pattern<Route>[]>();

  function find(method: string, path: string): Match<Route> | undefined {
    const known = exact.get(method)?.get(path);
    if (known) return known;
    for (const pattern of patterns.get(method) ?? []) {
      const value = valueIn(pattern, path);
      if (value !== undefined) return matchOf(pattern, value);
    }
    return undefined;
  }

  return {
    add(method, path, route) {
      const [before = '', field, after = ''] = path.split(/\{(\w+)\}/);
      if (field !== undefined) {
        const all = [...(patterns.get(method) ?? []), { before, field, after, route }];
        const longestFirst = all.sort((one, other) => other.before.length - one.before.length);
        patterns.set(method, longestFirst);
        return;
      }
      const paths = exact.get(method) ?? new Map<string, Match<Route>>();
      exact.set(method, paths.set(path, { route, params: NO_PARAMS }));
    },
    find,
    methodsOf: (path) => METHODS.flatMap((those) => (find(those[0], path) ? those : [])),
    paths: () => [
      ...[...exact.values()].flatMap((paths) => [...paths.keys()]),
      ...[...patterns.values()].flatMap((those) => those.map(({ before }) => before)),
    ],
  };
}

function matchOf<Route>({ route, field }: Pattern<Route>, value: string): Match<Route> {
  const params: Record<string, string> = {};
  params[field] = value.includes('%') ? decodeURIComponent(value) : value;
  return { route, params };
}

function valueIn({ before, after }: Pattern<unknown>, path: string): string | undefined {
  if (!path.startsWith(before) || !path.endsWith(after)) return undefined;
  if (path.length < before.length + after.length) return undefined;
  const value = path.slice(before.length, path.length - after.length);
  return value.includes('/') ? undefined : value;
}

/** A value of a path that is longer than any name or id. */
export function hasLongValue({ params }: Match<unknown>): boolean {
  for (const field in params) {
    if ((params[field] as string).length > PATH_PARAMETER_LENGTH_MAX) return true;
  }
  return false;
}

/** The path of a request target as routes compare it. Undefined when an escape is not UTF-8. */
export function routedPath(target: string): string | undefined {
  const path = plainPath(target);
  if (!path.includes('%')) return path;
  try {
    decodeURIComponent(path);
    return path;
  } catch {
    return undefined;
  }
}

/**
 * RFC 9112 lets a client send the whole address, and every character can be escaped. An escape that is not
 * UTF-8 stays.
 */
export function plainPath(target: string): string {
  const sent = upTo('#', upTo('?', target));
  const path = sent.startsWith('/') ? sent : sent.replace(/^https?:\/\/[^/?#]+/i, '') || '/';
  // An escaped "%" stays: what follows it would be decoded a second time with the value of a field.
  return path.includes('%') ? path.replace(/%(?!25)[0-7][0-9a-f]/gi, decodeURI) : path;
}

export function upTo(mark: '?' | '#', address: string): string {
  const end = address.indexOf(mark);
  return end < 0 ? address : address.slice(0, end);
}
