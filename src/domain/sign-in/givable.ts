/**
 * Scopes that consent may give: all but the rights over the service itself.
 *
 * Operators stop and inspect the service, and approvers decide about agents. An agent that a person let
 * act by a page gets neither, whatever the person holds and whatever a catalog declares.
 *
 * @module
 */

import { entitles, isScope } from '../authority/scope-pattern.ts';

const NEVER: ReadonlySet<string> = new Set(['operator', 'approver']);

/**
 * Whether consent may give a scope. The word before the colon decides, in any case. A star counts only in
 * the wildcard `word:*`; `*`, `*:*` and `oper*` are refused, because a reader would expect them to cover all.
 */
export function isGivable(scope: string): boolean {
  if (!isScope(scope) || !entitles(scope, scope)) return false;
  const [word = '', ...rest] = scope.split(':');
  return rest.length === 0 || !NEVER.has(word.toLowerCase());
}

/** The scopes that a client asks for and never gets. */
export function neverGiven(asked: readonly string[]): string[] {
  return asked.filter((scope) => !isGivable(scope));
}
