/**
 * Scopes: which scope covers which, and which scopes an entitlement allows.
 *
 * Scopes are exact strings with one wildcard: `word:*` covers `word:anything`. A prefix alone never covers
 * a longer scope. Entitlement patterns, which only identities and rules have, also allow `prefix.*`. Knows
 * nothing about tokens or capabilities.
 *
 * Invariant: covering is transitive, so a scope set derived from another never covers more.
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

/** The needed scopes that no held scope covers, in the given order. */
export function uncovered(held: readonly string[], needed: readonly string[]): string[] {
  return needed.filter((scope) => !held.some((candidate) => covers(candidate, scope)));
}

/**
 * Whether a configured pattern allows a token to carry this scope: an exact scope, `prefix.*` or `word:*`.
 *
 * A scope with a star that is not the wildcard `word:*` is never allowed, not even by an identical pattern.
 * As a scope, `travel.*` is a literal that covers only itself, and its holder would expect more of it.
 */
export function entitles(pattern: string, scope: string): boolean {
  if (!isScope(scope) || (scope.includes('*') && !WILDCARD.test(scope))) return false;
  if (pattern === scope || wildcardCovers(pattern, scope)) return true;
  return PREFIX_PATTERN.test(pattern) && isLonger(scope, pattern.slice(0, -1));
}

/** Whether one pattern allows every scope that another allows. */
export function entitlesPattern(pattern: string, given: string): boolean {
  if (!isScopePattern(given)) return false;
  if (!PREFIX_PATTERN.test(given)) return entitles(pattern, given);
  const isOpen = WILDCARD.test(pattern) || PREFIX_PATTERN.test(pattern);
  return isOpen && given.slice(0, -1).startsWith(pattern.slice(0, -1));
}

/** Whether a configured pattern can allow any scope. `travel*` and `a:b:*` never can. */
export function isScopePattern(pattern: string): boolean {
  if (!isScope(pattern)) return false;
  return !pattern.includes('*') || WILDCARD.test(pattern) || PREFIX_PATTERN.test(pattern);
}

const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/;

/** The word has no colon and no star, so `a:b:*` and `*:*` are not wildcards. */
const WILDCARD = /^[^:*]+:\*$/;

const PREFIX_PATTERN = /^[^*]+\.\*$/;

function wildcardCovers(held: string, needed: string): boolean {
  return WILDCARD.test(held) && isLonger(needed, held.slice(0, -1));
}

function isLonger(text: string, prefix: string): boolean {
  return text.length > prefix.length && text.startsWith(prefix);
}
