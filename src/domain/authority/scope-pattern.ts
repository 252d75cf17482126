/**
 * Scopes: which one covers which, and which an entitlement allows to ask for.
 *
 * Scopes are exact strings with one wildcard: `word:*` covers `word:anything`. A prefix never covers
 * a longer scope. Entitlements, which only configuration holds, also know `prefix.*`. Knows nothing
 * about tokens or capabilities.
 *
 * Invariant: covering is transitive, so what is derived from a scope set never reaches further.
 *
 * @module
 */

/** Characters of one scope: the longest capability name fits behind a word. */
export const SCOPE_LENGTH_MAX = 128;

/** RFC 6749 section 3.3, scope-token: printable ASCII without space, quote and backslash. */
export function isScope(text: unknown): text is string {
  return typeof text === 'string' && SCOPE.test(text);
}

/** Whether holding one scope is enough where another is needed. */
export function covers(held: string, needed: string): boolean {
  if (!isScope(needed)) return false;
  return held === needed || wildcardCovers(held, needed);
}

export function coversAll(held: readonly string[], needed: readonly string[]): boolean {
  return uncovered(held, needed).length === 0;
}

/** The needed scopes that nothing held covers, in the order they were asked for. */
export function uncovered(held: readonly string[], needed: readonly string[]): string[] {
  return needed.filter((scope) => !held.some((candidate) => covers(candidate, scope)));
}

/**
 * Whether a configured pattern allows a token to carry this scope. Patterns are an exact scope,
 * `prefix.*` or `word:*`.
 *
 * A scope with a star that is not the wildcard `word:*` is allowed by nothing, not even by the same
 * text: as a scope `travel.*` would be a literal that covers only itself, and whoever held it would
 * believe to hold more.
 */
export function entitles(pattern: string, scope: string): boolean {
  if (!isScope(scope) || (scope.includes('*') && !WILDCARD.test(scope))) return false;
  if (pattern === scope || wildcardCovers(pattern, scope)) return true;
  return PREFIX_PATTERN.test(pattern) && isLonger(scope, pattern.slice(0, -1));
}

/** Whether a configured pattern could allow anything: `travel*` or `a:b:*` would be dead letters. */
export function isScopePattern(pattern: string): boolean {
  if (!isScope(pattern)) return false;
  return !pattern.includes('*') || WILDCARD.test(pattern) || PREFIX_PATTERN.test(pattern);
}

const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/;

/** The word itself has no colon and no star: `a:b:*` and `*:*` are ordinary scopes. */
const WILDCARD = /^[^:*]+:\*$/;

const PREFIX_PATTERN = /^[^*]+\.\*$/;

function wildcardCovers(held: string, needed: string): boolean {
  return WILDCARD.test(held) && isLonger(needed, held.slice(0, -1));
}

function isLonger(text: string, prefix: string): boolean {
  return text.length > prefix.length && text.startsWith(prefix);
}
