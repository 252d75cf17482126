/**
 * Entitlements: what a bootstrap identity may put into a root token.
 *
 * An identity is entitled to nothing by default, except to name itself as subject.
 *
 * @module
 */

import type { Failure } from '../../protocol/failure.ts';
import { failure } from '../failure.ts';
import { isPrincipal, isPrincipalPattern, matchesPrincipal } from './principal.ts';
import { entitles, isScopePattern } from './scope-pattern.ts';

export interface Entitlement {
  readonly principal: string;
  /** Exact scopes, `prefix.*` or `word:*`. */
  readonly scopes: readonly string[];
  /** Principals, or patterns with one star. */
  readonly subjects: readonly string[];
  /** The class of its root tokens unless the request names another. */
  readonly caller_class: string;
  /** Other classes it may assign. */
  readonly caller_classes: readonly string[];
}

interface Fault {
  readonly field: string;
  readonly fault: string;
}

/** The first part of an entitlement that can never match. */
export function entitlementFault(
  entitlement: Pick<Entitlement, 'principal' | 'scopes' | 'subjects'>,
): Fault | undefined {
  if (isPrincipal(entitlement.principal)) return grantFault(entitlement);
  return { field: 'principal', fault: `"${entitlement.principal}" is not a principal` };
}

/** The same check for a rule, which may apply to many principals and may grant nothing. */
export function entitlementRuleFault(rule: {
  readonly principals: readonly string[];
  readonly scopes?: readonly string[];
  readonly subjects?: readonly string[];
}): Fault | undefined {
  const { principals, scopes = [], subjects = [] } = rule;
  return patternFault('principals', principals) ?? grantFault({ scopes, subjects });
}

/** Finds requested scopes that the identity is not entitled to. */
export function unentitledScope(
  entitlement: Entitlement,
  scopes: readonly string[],
): Failure | undefined {
  const beyond = scopes.filter(
    (scope) => !entitlement.scopes.some((pattern) => entitles(pattern, scope)),
  );
  if (beyond.length === 0) return undefined;
  const detail = `Cannot issue scope "${beyond.join('", "')}": ${entitlement.principal} is not entitled to it`;
  return failure('not_entitled', detail, { requires: beyond });
}

export function unentitledSubject(entitlement: Entitlement, subject: string): Failure | undefined {
  if (subject === entitlement.principal) return undefined;
  if (entitlement.subjects.some((pattern) => matchesPrincipal(pattern, subject))) return undefined;
  const detail = `Cannot issue to "${subject}": ${entitlement.principal} may not name that subject`;
  return failure('not_entitled', detail);
}

export function unentitledClass(
  entitlement: Entitlement,
  callerClass: string | undefined,
): Failure | undefined {
  if (callerClass === undefined || callerClass === entitlement.caller_class) return undefined;
  if (entitlement.caller_classes.includes(callerClass)) return undefined;
  const detail = `Cannot assign caller class "${callerClass}": ${entitlement.principal} may not assign it`;
  return failure('not_entitled', detail);
}

function grantFault({ scopes, subjects }: Pick<Entitlement, 'scopes' | 'subjects'>) {
  const scope = scopes.find((each) => !isScopePattern(each));
  if (scope !== undefined)
    return { field: 'scopes', fault: `"${scope}" is neither a scope nor a pattern` };
  return patternFault('subjects', subjects);
}

function patternFault(field: string, patterns: readonly string[]) {
  const stray = patterns.find((each) => !isPrincipalPattern(each));
  if (stray === undefined) return undefined;
  return { field, fault: `"${stray}" is neither a principal nor a pattern with one "*"` };
}
