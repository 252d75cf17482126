/**
 * Approval policies as authors write them. `createService()` checks each policy, and a start
 * compares it with the configured identities.
 *
 * @module
 */

import type { Config } from '../../config/config.ts';
import { type ApproverPolicy, isBarredAgent } from '../../domain/authority/approver.ts';
import type { Entitlement } from '../../domain/authority/entitlement.ts';
import { isPrincipalPattern, matchesPrincipal } from '../../domain/authority/principal.ts';
import { entitles } from '../../domain/authority/scope-pattern.ts';
import { type Fault, fault } from '../../domain/catalog/fault.ts';
import { parseDuration } from '../../domain/values/duration.ts';
import type { Capability, Catalog } from '../../protocol/capability.ts';
import type { ApprovalPolicy, DefinedCapability } from './define.ts';

/** How long a request waits for its decision when the policy sets no lifetime. */
const REQUEST_LIFETIME_DEFAULT_MS = 86_400_000;

/** A month. A request that old no longer describes the world it was made in. */
const REQUEST_LIFETIME_MAX_MS = 30 * 86_400_000;

/** A signing key stays published for as long as a token may live by default: 720 hours. */
const GRANT_LIFETIME_SECONDS_MAX = 720 * 3_600;

/** Bounds the votes that one request stores and one grant names. */
const APPROVALS_REQUIRED_MAX = 16;

/** Faults in the private part of a policy. The catalog checks the public part. */
export function approvalFaults({ name, approval, declaration }: DefinedCapability): Fault[] {
  if (!approval) return [];
  const at = (field: string, found: string, write: string) => [
    fault(name, `approval.${field}`, found, write),
  ];
  const { request_lifetime: lifetime, separation, approvals_required = 1 } = approval;
  const lifetimeMs = requestLifetimeOf(approval);
  const stray = (approval.approvers ?? []).filter((pattern) => !isPrincipalPattern(pattern));
  return [
    ...(lifetimeMs > 0 && lifetimeMs <= REQUEST_LIFETIME_MAX_MS
      ? []
      : at(
          'request_lifetime',
          `"${lifetime}" is not a duration of at most 30 days`,
          'a duration such as "PT24H"',
        )),
    ...(separation === undefined || separation === 'root'
      ? []
      : at('separation', `"${separation}" is not "root"`, '"root", or leave it out')),
    ...stray.flatMap((each) =>
      at(
        'approvers',
        `"${each}" is neither a principal nor a pattern with one "*"`,
        'such as "agent:auditor"',
      ),
    ),
    ...(approvals_required > APPROVALS_REQUIRED_MAX
      ? at(
          'approvals_required',
          `at most ${APPROVALS_REQUIRED_MAX} approvers can be asked for`,
          `a number from 1 to ${APPROVALS_REQUIRED_MAX}`,
        )
      : []),
    ...(approval.grant_policy?.expires_in_seconds > GRANT_LIFETIME_SECONDS_MAX
      ? at(
          'grant_policy.expires_in_seconds',
          `a grant lives at most ${GRANT_LIFETIME_SECONDS_MAX} seconds`,
          'a shorter lifetime',
        )
      : []),
    ...(approval.binding_age === undefined || hasAge(declaration)
      ? []
      : at('binding_age', 'no required binding has a max_age', 'a max_age, or leave it out')),
    ...codeFaults(approval).flatMap((field) => at(field, 'expected a function', 'a function')),
    ...strayCardInputs(approval, declaration).flatMap((each) =>
      at('card_inputs', `"${each}" is not an input`, 'names of inputs of the capability'),
    ),
  ];
}

function hasAge(declaration: unknown): boolean {
  const { requires_binding: required } = declaration as { requires_binding?: unknown };
  return Array.isArray(required) && required.some((each) => each?.max_age !== undefined);
}

/** A misspelt name would leave the value out of every notification. */
function strayCardInputs({ card_inputs = [] }: ApprovalPolicy, declaration: unknown): string[] {
  const { inputs } = declaration as { inputs?: unknown };
  const names = Array.isArray(inputs) ? inputs.map((input) => input?.name) : [];
  return [...card_inputs].map(String).filter((name) => !names.includes(name));
}

export function requestLifetimeOf({ request_lifetime: lifetime }: ApprovalPolicy): number {
  return lifetime === undefined ? REQUEST_LIFETIME_DEFAULT_MS : (parseDuration(lifetime) ?? 0);
}

export function approverScope(capability: string): string {
  return `approver:${capability}`;
}

/** The part of a service definition that approvals depend on. */
interface ApprovedService {
  readonly catalog: Catalog;
  readonly code: ReadonlyMap<string, { readonly approval?: ApprovalPolicy | undefined }>;
}

type People = Pick<Config, 'entitlements'> & {
  readonly identities: readonly Pick<Entitlement, 'principal' | 'scopes'>[];
};

/** One sentence for each capability that too few configured identities can approve. */
export function missingApprovers({ catalog, code }: ApprovedService, people: People): string[] {
  return [...catalog.capabilities.values()].flatMap((capability) => {
    if (!capability.approval) return [];
    const policy: ApproverPolicy = code.get(capability.name)?.approval ?? {};
    const scope = approverScope(capability.name);
    // A rule can match any number of people, so nothing is certain.
    const isOpen = people.entitlements.some(
      ({ scopes, principals }) =>
        allows(scopes, scope) && principals.some((pattern) => mayMatchApprover(pattern, policy)),
    );
    if (isOpen) return [];
    const holders = people.identities.filter(({ scopes }) => allows(scopes, scope));
    const names = new Set(holders.map(({ principal }) => principal));
    const approvers = [...names].filter((principal) => !isBarredAgent(principal, policy));
    return [
      ...tooFew(capability, approvers),
      ...(policy.separation === 'root' ? ownRequests(capability, approvers, people) : []),
      ...strayPatterns(capability, policy.approvers ?? [], [...names]),
    ];
  });
}

/** Whether some principal that matches the pattern of a rule may approve. */
function mayMatchApprover(pattern: string, policy: ApproverPolicy): boolean {
  if (!isBarredAgent(pattern.replace('*', 'x'), policy)) return true;
  return (policy.approvers ?? []).some((named) => overlaps(named, pattern));
}

/** Whether one principal can match both patterns. Each has at most one star. */
function overlaps(one: string, other: string): boolean {
  if (!one.includes('*')) return matchesPrincipal(other, one);
  if (!other.includes('*')) return matchesPrincipal(one, other);
  const [[start = '', end = ''], [begin = '', finish = '']] = [one.split('*'), other.split('*')];
  const isCommonStart = start.startsWith(begin) || begin.startsWith(start);
  return isCommonStart && (end.endsWith(finish) || finish.endsWith(end));
}

function tooFew({ name, approval }: Capability, approvers: readonly string[]): string[] {
  const needed = approval?.approvals_required ?? 1;
  if (approvers.length === 0) return [`No approver is configured for "${name}"`];
  if (approvers.length >= needed) return [];
  const configured = `${approvers.length} ${approvers.length === 1 ? 'is' : 'are'} configured`;
  return [`"${name}" needs ${needed} approvers: ${configured}`];
}

/** Where the root principal of a requester may not approve, each requester needs enough others. */
function ownRequests(
  { name, approval, minimum_scope }: Capability,
  approvers: readonly string[],
  { identities }: People,
): string[] {
  const needed = approval?.approvals_required ?? 1;
  // Without the separation it would be too few as well, which is another sentence.
  if (approvers.length !== needed) return [];
  const asking = identities.find(
    ({ principal, scopes }) =>
      approvers.includes(principal) && minimum_scope.every((scope) => allows(scopes, scope)),
  );
  if (!asking) return [];
  return [
    `"${name}" cannot be approved when ${asking.principal} asks: separation is "root", and ${needed - 1} of ${needed} other approvers are configured`,
  ];
}

/** A pattern of agents that no holder of the approver scope matches lets none of them approve. */
function strayPatterns(
  { name }: Capability,
  patterns: readonly string[],
  holders: readonly string[],
): string[] {
  return patterns
    .filter((pattern) => !holders.some((principal) => matchesPrincipal(pattern, principal)))
    .map(
      (pattern) =>
        `approval.approvers of "${name}" names "${pattern}", which no configured holder of scope "${approverScope(name)}" matches`,
    );
}

function allows(scopes: readonly string[], scope: string): boolean {
  return scopes.some((pattern) => entitles(pattern, scope));
}

/** JavaScript authors may omit the predicate, or pass a text instead of a function. */
function codeFaults({ when, preview }: ApprovalPolicy): string[] {
  const isCondition = typeof when === 'object' && when !== null && 'condition' in when;
  return [
    ...(isCondition && typeof when.needed !== 'function' ? ['when.needed'] : []),
    ...(preview !== undefined && typeof preview !== 'function' ? ['preview'] : []),
  ];
}
