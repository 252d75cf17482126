/**
 * Authorization: the rules that need only a token and the catalog. Each rule finds one defect.
 *
 * Invocation applies them in order and stops at the first failure. Permissions applies the same functions
 * to every capability, so the permissions that an agent reads agree with what invocation decides.
 *
 * @module
 */

import type { Capability, ControlRequirement } from '../../protocol/capability.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { PrincipalClass } from '../../protocol/primitives.ts';
import { failure } from '../failure.ts';
import type { Authority } from './narrowing.ts';
import { parsePrincipal } from './principal.ts';
import { covers, uncovered } from './scope-pattern.ts';

/** A capability, followed by the capabilities of its steps if it is composed. */
export type Whole = readonly [Capability, ...Capability[]];

/** What the rules look at. `lineage` has the tokens from the root to this one, which is last. */
export interface AuthorityQuestion {
  readonly token: Authority;
  readonly whole: Whole;
  readonly lineage: readonly Pick<Authority, 'subject'>[];
  readonly taskId?: string | undefined;
}

/**
 * The checks on a token that uses a capability, in the order in which they refuse. Invocations, dry runs
 * and permissions all use this list. The controls follow after the idempotency key (`controlRefusal`).
 */
const AUTHORITY_RULES: readonly ((question: AuthorityQuestion) => Failure | undefined)[] = [
  ({ token, whole, lineage }) =>
    firstDefect((held, each) => inadmissiblePrincipal(held, each, lineage), token, whole),
  ({ token, whole: [capability] }) => missingScope(token, capability),
  ({ token, whole: [capability] }) => otherBinding(token, capability),
  ({ token, whole: [capability] }) => unlistedCapability(token, capability),
  ({ token, taskId }) => otherTask(token, taskId),
  ({ token, whole }) => firstDefect(excessiveDepth, token, whole),
];

/** The failure of the first rule that refuses. */
export function authorityRefusal(question: AuthorityQuestion): Failure | undefined {
  for (const rule of AUTHORITY_RULES) {
    const found = rule(question);
    if (found) return found;
  }
  return undefined;
}

export function controlRefusal(token: Authority, whole: Whole): Failure | undefined {
  return firstDefect(unmetControl, token, whole);
}

/**
 * Finds a capability that only the root principal may use, or that does not admit this class of principal.
 * `lineage` has the tokens from the root to this one, which is last.
 */
export function inadmissiblePrincipal(
  token: Authority,
  capability: Capability,
  lineage: readonly Pick<Authority, 'subject'>[],
): Failure | undefined {
  return delegatedToken(token, capability) ?? otherClass(token, capability, lineage);
}

function delegatedToken(token: Authority, capability: Capability): Failure | undefined {
  // A token further down may carry the root principal's name while another party holds it.
  const isRoot = token.depth === 0 && token.subject === token.root_principal;
  if (capability.delegable || isRoot) return undefined;
  const detail = `Cannot invoke "${capability.name}" with a delegated token: only the root principal may`;
  return failure('non_delegable_action', detail, { grantable_by: token.root_principal });
}

function otherClass(
  token: Authority,
  { name, principal_classes: classes }: Capability,
  lineage: readonly Pick<Authority, 'subject'>[],
): Failure | undefined {
  const other = classes && unadmittedName(token.subject, classes, lineage);
  if (other === undefined) return undefined;
  const through = other === token.subject ? '' : ` through "${other}"`;
  // The classes come first: a reduced disclosure level cuts the end of a detail.
  const detail = `Cannot invoke "${name}": it admits ${classes?.join(' or ')} principals, and the token is for "${token.subject}"${through}`;
  const canGrant = classes !== undefined && canNameOneOf(token.root_principal, classes);
  const facts = canGrant ? { grantable_by: token.root_principal } : {};
  return failure('principal_class_not_admitted', detail, facts);
}

/** Whether a root principal can issue a token for one of these classes: for itself, or for an agent. */
function canNameOneOf(root: string, admitted: readonly PrincipalClass[]): boolean {
  const held = parsePrincipal(root)?.class;
  return admitted.includes('agent') || (held !== undefined && admitted.includes(held));
}

/**
 * The first name that is not of an admitted class. The holder of a token chooses the subject of its child,
 * so a class other than `agent` counts only when every token above has an admitted class too: then the
 * service itself named the first of them. Any holder may name an agent (decision 07).
 */
function unadmittedName(
  subject: string,
  admitted: readonly PrincipalClass[],
  lineage: readonly Pick<Authority, 'subject'>[],
): string | undefined {
  const isAdmitted = (name: string) => {
    const held = parsePrincipal(name)?.class;
    return held !== undefined && admitted.includes(held);
  };
  if (!isAdmitted(subject)) return subject;
  if (parsePrincipal(subject)?.class === 'agent') return undefined;
  return lineage.find((link) => !isAdmitted(link.subject))?.subject;
}

export function missingScope(token: Authority, capability: Capability): Failure | undefined {
  const missing = uncovered(token.scope, capability.minimum_scope);
  if (missing.length === 0) return undefined;
  const detail = `Cannot invoke "${capability.name}": the token lacks scope "${missing.join('", "')}"`;
  return failure('scope_insufficient', detail, {
    requires: missing,
    grantable_by: token.root_principal,
  });
}

export function otherBinding(token: Authority, capability: Capability): Failure | undefined {
  if (token.capability === undefined || token.capability === capability.name) return undefined;
  const detail = `Cannot invoke "${capability.name}": the token is bound to "${token.capability}"`;
  return failure('purpose_mismatch', detail, { grantable_by: token.root_principal });
}

/**
 * Finds a capability that is not in the list `only_capabilities` of the token's purpose. A composed
 * capability in the list runs its steps. A child cannot change a key of its parent's purpose, so the list
 * holds for every token below. A value that is not a list of texts admits nothing.
 */
export function unlistedCapability(token: Authority, capability: Capability): Failure | undefined {
  const listed = token.purpose.only_capabilities;
  if (listed === undefined || isListed(listed, capability.name)) return undefined;
  const detail = `Cannot invoke "${capability.name}": the purpose of the token (only_capabilities) does not name it`;
  return failure('purpose_mismatch', detail, { grantable_by: token.root_principal });
}

function isListed(listed: unknown, name: string): boolean {
  if (!Array.isArray(listed) || !listed.includes(name)) return false;
  return listed.every((each) => typeof each === 'string');
}

/** Spec, Tokens rule 6: an invocation may omit task_id but not contradict it. */
export function otherTask(token: Authority, taskId: string | undefined): Failure | undefined {
  const held = token.purpose.task_id;
  if (held === undefined || taskId === undefined || taskId === held) return undefined;
  const detail = `Cannot work on task "${taskId}": the token is for task "${held}"`;
  return failure('purpose_mismatch', detail, { grantable_by: token.root_principal });
}

export function excessiveDepth(token: Authority, capability: Capability): Failure | undefined {
  const most = capability.max_delegation_depth;
  if (most === undefined || token.depth <= most) return undefined;
  const detail = `Cannot invoke "${capability.name}" at delegation depth ${token.depth}: it admits ${most}`;
  return failure('delegation_depth_exceeded', detail, { grantable_by: token.root_principal });
}

/** The control requirements that the token does not meet. */
export function unmetControls(token: Authority, capability: Capability): ControlRequirement[] {
  return (capability.control_requirements ?? []).filter(({ type }) => {
    if (type === 'cost_ceiling') return token.budget === undefined;
    return token.capability !== capability.name;
  });
}

export function unmetControl(token: Authority, capability: Capability): Failure | undefined {
  const [unmet] = unmetControls(token, capability);
  if (!unmet) return undefined;
  const needs = unmet.type === 'cost_ceiling' ? 'a budget' : 'a binding to this capability';
  const detail = `Cannot invoke "${capability.name}": control "${unmet.type}" needs a token with ${needs}`;
  return failure('control_requirement_unsatisfied', detail, {
    control: unmet.type,
    requires: [unmet.type],
    grantable_by: token.root_principal,
  });
}

/**
 * The first failure that a rule finds in a capability or in one of its steps. A token that is bound to a
 * composed capability counts as bound to each of its steps.
 */
function firstDefect(
  rule: (token: Authority, capability: Capability) => Failure | undefined,
  token: Authority,
  [whole, ...steps]: Whole,
): Failure | undefined {
  const found = rule(token, whole);
  if (found) return found;
  const isBound = token.capability === whole.name;
  for (const step of steps) {
    const defect = rule(isBound ? { ...token, capability: step.name } : token, step);
    if (defect) return defect;
  }
  return undefined;
}

/** The scopes of a token that cover a scope the capability needs. */
export function matchingScopes(token: Authority, capability: Capability): string[] {
  return token.scope.filter((held) => capability.minimum_scope.some((each) => covers(held, each)));
}
