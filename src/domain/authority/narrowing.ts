/**
 * Narrowing: what a child token may carry, given its parent and the request.
 *
 * A child inherits every constraint of its parent and may narrow it; omitting a constraint keeps the
 * parent's. A request for more is refused and nothing is issued. The lifetime is the exception: it is
 * shortened to the parent's. The store checks that the parent is alive when it inserts the child.
 *
 * Invariant: in every dimension the result is a subset of the parent, or there is no result.
 * `widenedFields` applies the same order to two stored authorities, so that fsck finds a child that no
 * delegation could have produced. It does not compare caller classes: configuration decides which class
 * discloses more.
 *
 * @module
 */

import type { Failure } from '../../protocol/failure.ts';
import type { Budget, JsonObject } from '../../protocol/primitives.ts';
import {
  type ConcurrentBranches,
  type IssueRequest,
  Purpose,
  TTL_HOURS_DEFAULT,
} from '../../protocol/token.ts';
import type { DisclosureLevel } from '../../protocol/trust.ts';
import { failure } from '../failure.ts';
import { amountFault, toMinor } from '../values/money.ts';
import { canonicalJson } from '../wire/canonical.ts';
import { isPrincipal, parsePrincipal } from './principal.ts';
import { uncovered } from './scope-pattern.ts';
import { isWiderThan, narrowedConditions, type TokenConditions } from './token-conditions.ts';

/** What one token allows. The stored row holds it; the signed text repeats it. */
export interface Authority {
  readonly subject: string;
  readonly root_principal: string;
  readonly scope: readonly string[];
  readonly capability?: string | undefined;
  readonly purpose: JsonObject;
  readonly budget?: Budget | undefined;
  readonly caller_class: string;
  readonly concurrent_branches: ConcurrentBranches;
  readonly depth: number;
  /** The greatest depth a token below this one may have. */
  readonly max_delegation_depth: number;
  readonly session_id?: string | undefined;
  readonly conditions?: TokenConditions | undefined;
  /** Whole seconds, so that the JWT's `exp` is the same instant. */
  readonly expires_at: Date;
}

export interface NarrowingContext {
  readonly now: Date;
  /** The disclosure level of each caller class. An unknown class has the level of `default`. */
  readonly disclosure: (callerClass: string) => DisclosureLevel;
  /** What the request states, read: its own field is not. */
  readonly conditions?: TokenConditions | undefined;
}

export type Narrowed = { authority: Authority } | { failure: Failure };

type Rule = (
  parent: Authority,
  request: IssueRequest,
  context: NarrowingContext,
) => Failure | undefined;

export function narrow(
  parent: Authority,
  request: IssueRequest & { subject: string },
  context: NarrowingContext,
): Narrowed {
  for (const rule of RULES) {
    const found = rule(parent, request, context);
    if (found) return { failure: found };
  }
  const conditions = narrowedConditions(parent.conditions, context.conditions, (detail) =>
    failure('scope_escalation', detail, { grantable_by: parent.root_principal }),
  );
  if ('failure' in conditions) return conditions;
  return {
    authority: {
      subject: request.subject,
      root_principal: parent.root_principal,
      scope: request.scope,
      capability: request.capability ?? parent.capability,
      purpose: { ...parent.purpose, ...request.purpose_parameters },
      budget: request.budget ?? parent.budget,
      caller_class: request.caller_class ?? parent.caller_class,
      concurrent_branches: request.concurrent_branches ?? parent.concurrent_branches,
      depth: parent.depth + 1,
      max_delegation_depth: request.max_delegation_depth ?? parent.max_delegation_depth,
      session_id: parent.session_id,
      ...conditions,
      expires_at: earlier(expiryOf(request.ttl_hours, context.now), parent.expires_at),
    },
  };
}

/** The session that a request names, in its own field or as a purpose. If both are present they must be equal. */
export function requestedSession(request: IssueRequest): { session?: string; failure?: Failure } {
  const purpose = request.purpose_parameters?.session_id as string | undefined;
  if (request.session_id !== undefined && purpose !== undefined && request.session_id !== purpose) {
    const detail = `Cannot issue a token: session_id is "${request.session_id}" and purpose_parameters.session_id is "${purpose}"`;
    return { failure: failure('purpose_mismatch', detail) };
  }
  const session = request.session_id ?? purpose;
  return session === undefined ? {} : { session };
}

/** At least one whole second, counted from the start of the current one, so that no token is issued expired. */
export function expiryOf(ttlHours: number | undefined, now: Date): Date {
  // Adds a microsecond to correct the rounding of doubles: 49 / 3600 * 3600 is a little less than 49.
  const requested = Math.floor((ttlHours ?? TTL_HOURS_DEFAULT) * 3_600 + 1e-6);
  const seconds = Math.max(1, requested);
  return new Date((Math.floor(now.getTime() / 1_000) + seconds) * 1_000);
}

/** Refuses a budget whose currency or precision cannot be read. */
export function unreadableBudget(request: IssueRequest): Failure | undefined {
  const { budget } = request;
  const fault = budget && amountFault(budget.max_amount, budget.currency);
  return fault ? failure('invalid_parameters', `${fault} (field "budget")`) : undefined;
}

export function malformedSubject(subject: string | undefined): Failure | undefined {
  if (isPrincipal(subject)) return undefined;
  const detail = `Cannot issue to "${subject}": expected a principal (field "subject")`;
  return failure('invalid_parameters', detail);
}

function widenedScope(parent: Authority, { scope }: IssueRequest): Failure | undefined {
  const missing = uncovered(parent.scope, scope);
  if (missing.length === 0) return undefined;
  const detail = `Cannot delegate scope "${missing.join('", "')}": the parent token lacks it`;
  return failure('scope_escalation', detail, {
    requires: missing,
    grantable_by: parent.root_principal,
  });
}

function otherCapability(parent: Authority, { capability }: IssueRequest): Failure | undefined {
  if (!capability || !parent.capability || capability === parent.capability) return undefined;
  const detail = `Cannot bind a token to "${capability}": its parent is bound to "${parent.capability}"`;
  return failure('purpose_mismatch', detail, { grantable_by: parent.root_principal });
}

function otherPurpose(parent: Authority, request: IssueRequest): Failure | undefined {
  const requested = request.purpose_parameters ?? {};
  const changed = Object.keys(requested).filter(
    (key) =>
      Object.hasOwn(parent.purpose, key) &&
      canonicalJson(requested[key]) !== canonicalJson(parent.purpose[key]),
  );
  if (changed.length === 0) return undefined;
  const detail = `Cannot change purpose "${changed.join('", "')}": the parent token fixes it`;
  return failure('purpose_mismatch', detail, { grantable_by: parent.root_principal });
}

/** Every level may add keys; the merged purpose must fit into the token. */
function oversizedPurpose(parent: Authority, request: IssueRequest): Failure | undefined {
  if (!request.purpose_parameters) return undefined;
  const merged = Purpose.safeParse({ ...parent.purpose, ...request.purpose_parameters });
  if (merged.success) return undefined;
  const detail = `Cannot add to the purpose of the parent token: ${merged.error.issues[0]?.message}`;
  return failure('invalid_parameters', detail);
}

/** A session begins with the root token. A session that began further down could claim the grants of another. */
function otherSession(parent: Authority, request: IssueRequest): Failure | undefined {
  const { session, failure: found } = requestedSession(request);
  if (found) return found;
  if (session === undefined || session === parent.session_id) return undefined;
  const held = parent.session_id === undefined ? 'none' : `"${parent.session_id}"`;
  return failure(
    'purpose_mismatch',
    `Cannot set session "${session}": the parent token has ${held}`,
    { grantable_by: parent.root_principal },
  );
}

function widenedBudget(parent: Authority, { budget }: IssueRequest): Failure | undefined {
  if (!budget || !parent.budget) return undefined;
  if (budget.currency !== parent.budget.currency) {
    const detail = `Cannot delegate a budget in ${budget.currency}: the parent's is in ${parent.budget.currency}`;
    return failure('budget_currency_mismatch', detail, { grantable_by: parent.root_principal });
  }
  const requested = toMinor(budget.max_amount, budget.currency) as bigint;
  const held = toMinor(parent.budget.max_amount, budget.currency);
  if (held !== undefined && requested <= held) return undefined;
  const detail = `Cannot delegate a budget of ${budget.max_amount} ${budget.currency}: the parent's is ${parent.budget.max_amount}`;
  return failure('budget_exceeded', detail, { grantable_by: parent.root_principal });
}

function widenedDepth(parent: Authority, request: IssueRequest): Failure | undefined {
  const facts = { grantable_by: parent.root_principal };
  if (parent.depth + 1 > parent.max_delegation_depth) {
    const detail = `Cannot delegate to depth ${parent.depth + 1}: the lineage ends at depth ${parent.max_delegation_depth}`;
    return failure('delegation_depth_exceeded', detail, facts);
  }
  const requested = request.max_delegation_depth ?? 0;
  if (requested <= parent.max_delegation_depth) return undefined;
  const detail = `Cannot set max_delegation_depth ${requested}: the parent's is ${parent.max_delegation_depth}`;
  return failure('delegation_depth_exceeded', detail, facts);
}

/** Decision 06: more branches than the parent's are refused like any other wider use. */
function widenedBranches(parent: Authority, request: IssueRequest): Failure | undefined {
  if (parent.concurrent_branches !== 'exclusive') return undefined;
  if (request.concurrent_branches !== 'allowed') return undefined;
  const detail = 'Cannot allow concurrent branches: the parent token is exclusive';
  return failure('purpose_mismatch', detail, { grantable_by: parent.root_principal });
}

const RANK: Record<DisclosureLevel, number> = { redacted: 0, reduced: 1, full: 2 };

function widenedClass(
  parent: Authority,
  request: IssueRequest,
  { disclosure }: NarrowingContext,
): Failure | undefined {
  const requested = request.caller_class;
  if (requested === undefined || requested === parent.caller_class) return undefined;
  if (RANK[disclosure(requested)] <= RANK[disclosure(parent.caller_class)]) return undefined;
  const detail = `Cannot assign caller class "${requested}": it discloses more than "${parent.caller_class}"`;
  return failure('not_entitled', detail);
}

/** An agent may act for a person but never issue a token whose subject is a person. */
function impersonatedHuman(parent: Authority, { subject }: IssueRequest): Failure | undefined {
  const malformed = malformedSubject(subject);
  if (malformed) return malformed;
  if (parsePrincipal(subject)?.class !== 'human') return undefined;
  if (parsePrincipal(parent.subject)?.class === 'human') return undefined;
  const detail = `Cannot issue to "${subject}": only a human principal delegates to a human`;
  return failure('not_entitled', detail);
}

function earlier(one: Date, other: Date): Date {
  return one <= other ? one : other;
}

const RULES: readonly Rule[] = [
  impersonatedHuman,
  (_parent, request) => unreadableBudget(request),
  widenedScope,
  otherCapability,
  otherPurpose,
  oversizedPurpose,
  otherSession,
  widenedBudget,
  widenedDepth,
  widenedBranches,
  widenedClass,
];

/** Names of the fields in which the child exceeds its parent. */
export function widenedFields(parent: Authority, child: Authority): string[] {
  return Object.entries(WIDER)
    .filter(([, isWider]) => isWider(parent, child))
    .map(([field]) => field);
}

type Compare = (parent: Authority, child: Authority) => boolean;

const WIDER: Partial<Record<keyof Authority, Compare>> = {
  root_principal: (parent, child) => child.root_principal !== parent.root_principal,
  scope: (parent, child) => uncovered(parent.scope, child.scope).length > 0,
  capability: ({ capability }, child) =>
    capability !== undefined && child.capability !== capability,
  purpose: (parent, child) =>
    Object.entries(parent.purpose).some(
      ([key, value]) =>
        !Object.hasOwn(child.purpose, key) ||
        canonicalJson(child.purpose[key]) !== canonicalJson(value),
    ),
  budget: (parent, child) => parent.budget !== undefined && !isWithin(parent.budget, child.budget),
  concurrent_branches: (parent, child) =>
    parent.concurrent_branches === 'exclusive' && child.concurrent_branches !== 'exclusive',
  depth: (parent, child) =>
    child.depth !== parent.depth + 1 || child.depth > parent.max_delegation_depth,
  max_delegation_depth: (parent, child) => child.max_delegation_depth > parent.max_delegation_depth,
  session_id: (parent, child) => child.session_id !== parent.session_id,
  conditions: (parent, child) => isWiderThan(parent.conditions, child.conditions),
  expires_at: (parent, child) => child.expires_at > parent.expires_at,
};

function isWithin(held: NonNullable<Authority['budget']>, requested: Authority['budget']): boolean {
  if (requested?.currency !== held.currency) return false;
  const most = toMinor(held.max_amount, held.currency);
  const amount = toMinor(requested.max_amount, requested.currency);
  return most !== undefined && amount !== undefined && amount <= most;
}
