/**
 * Entitlements: what a bootstrap identity may put into a root token.
 *
 * An identity is entitled to nothing by default, except to name itself as subject. An identity that makes another one
 * gives it no more than it has (decision 08).
 *
 * @module
 */

import type { Failure } from '../../protocol/failure.ts';
import { failure } from '../failure.ts';
import { isPrincipal, isPrincipalPattern, matchesPattern, matchesPrincipal } from './principal.ts';
import { entitles, entitlesPattern, isScopePattern } from './scope-pattern.ts';
import type { ConditionsOf } from './token-conditions.ts';

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
  /** Of every root token, in canonical form. */
  readonly conditions?: ConditionsOf | undefined;
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
  const why = beyond.every((scope) => !entitles(scope, scope))
    ? 'a token names each scope by itself, without "*"'
    : `${entitlement.principal} is not entitled to it`;
  const detail = `Cannot issue scope "${beyond.join('", "')}": ${why}`;
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

/**
 * The first part of a new identity that its maker may not give: a name it may not use as a subject, a scope, a subject
 * or a class beyond its own, or the right to approve.
 *
 * The right to approve is never given here, also by a maker that has it: the maker could approve a second time under
 * the other name, and a quorum of two would be one person.
 */
export function widerIdentity(maker: Entitlement, made: Entitlement): Failure | undefined {
  const cannot = (what: string, why: string, requires?: readonly string[]) =>
    failure('not_entitled', `Cannot add the identity: ${what} ${why}`, {
      ...(requires && { requires: [...requires] }),
    });
  const lacking = `is more than ${maker.principal} is entitled to`;

  if (maker.conditions) {
    return cannot('it', `would have no conditions, and ${maker.principal} has some`);
  }
  if (unentitledSubject(maker, made.principal)) {
    return cannot(`principal "${made.principal}"`, `is none that ${maker.principal} may name`);
  }
  const approving = made.scopes.find(isApproving);
  if (approving !== undefined) {
    const how = 'is given by the configuration or by the command at the store only';
    return cannot(`scope "${approving}"`, how);
  }
  const scopes = made.scopes.filter(
    (scope) => !maker.scopes.some((held) => entitlesPattern(held, scope)),
  );
  if (scopes.length > 0) return cannot(`scope "${scopes.join('", "')}"`, lacking, scopes);

  const own = [maker.principal, ...maker.subjects];
  const subject = made.subjects.find((each) => !own.some((held) => matchesPattern(held, each)));
  if (subject !== undefined) return cannot(`subject "${subject}"`, lacking);

  const classes = [maker.caller_class, ...maker.caller_classes];
  const stray = [made.caller_class, ...made.caller_classes].find((each) => !classes.includes(each));
  return stray === undefined ? undefined : cannot(`caller class "${stray}"`, lacking);
}

/**
 * Why a maker may not give this name, also with no more than it has. Separation and quorum count names: a maker that
 * approves would decide on what it requests under the other name, and the name of an approver has the passkeys of a
 * person.
 */
export function secondName(
  maker: string,
  made: string,
  approves: Readonly<Record<'maker' | 'made', boolean>>,
): Failure | undefined {
  if (made === maker || !(approves.maker || approves.made)) return undefined;
  const why = approves.made
    ? `${made} may approve`
    : `${maker} may approve, and could approve what it requests as ${made}`;
  const how = 'only the configuration or the command at the store adds it';
  return failure('not_entitled', `Cannot add the identity: ${why}; ${how}`);
}

/** Whether a scope or a pattern allows to approve anything. */
export function isApproving(scope: string): boolean {
  return scope.startsWith(APPROVING);
}

/** The entitlement without the right to approve, and without that to operate, which could end the others who object. */
export function withoutDeciding(entitlement: Entitlement): Entitlement {
  const isLeft = (scope: string) => !isApproving(scope) && !scope.startsWith(OPERATING);
  return { ...entitlement, scopes: entitlement.scopes.filter(isLeft) };
}

/** Begins the scope of the approvers of a capability, and every pattern that allows one. */
const APPROVING = 'approver:';

/** The same of operators. */
const OPERATING = 'operator:';

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
