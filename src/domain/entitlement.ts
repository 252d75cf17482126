/**
 * Entitlements: what a bootstrap identity may put into a root token.
 *
 * Nothing is entitled by default, except that every identity may name itself as subject.
 *
 * @module
 */

import type { Failure } from '../protocol/failure.ts';
import { failure } from './failure.ts';
import { isPrincipal, matchesPrincipal } from './principal.ts';
import { entitles, isScope } from './scope-pattern.ts';

export interface Entitlement {
  readonly principal: string;
  /** Exact scopes, `prefix.*` or `word:*`. */
  readonly scopes: readonly string[];
  /** Principals, or patterns with one star. */
  readonly subjects: readonly string[];
  /** What its root tokens carry unless another class is asked for. */
  readonly caller_class: string;
  /** Other classes it may assign. */
  readonly caller_classes: readonly string[];
}

/** The first thing in an entitlement that could never entitle to anything. */
export function entitlementFault(
  entitlement: Pick<Entitlement, 'principal' | 'scopes' | 'subjects'>,
): { field: string; fault: string } | undefined {
  if (!isPrincipal(entitlement.principal)) {
    return { field: 'principal', fault: `"${entitlement.principal}" is no principal` };
  }
  const scope = entitlement.scopes.find((each) => !isScope(each));
  if (scope !== undefined) return { field: 'scopes', fault: `"${scope}" is no scope or pattern` };
  const subject = entitlement.subjects.find(
    (each) => !/^(?:human|agent|service|oidc):[^*]*\*?[^*]*$/.test(each),
  );
  if (subject === undefined) return undefined;
  return { field: 'subjects', fault: `"${subject}" is no principal or pattern with one "*"` };
}

/** Scopes that nobody granted the identity. */
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
