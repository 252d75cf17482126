/**
 * Permissions: what a token may do, what prevents the rest, and what would lift that.
 *
 * Applies the rules of invocation to every capability. So both agree on everything that needs only
 * the token, its budgets and the catalog.
 *
 * @module
 */

import {
  authorityRefusal,
  controlRefusal,
  matchingScopes,
  unmetControls,
  type Whole,
} from '../../domain/authority/authorization.ts';
import { heldOn } from '../../domain/authority/token-conditions.ts';
import { stepCapabilities } from '../../domain/composition/composition.ts';
import { conditionWords } from '../../domain/conditions/words.ts';
import { isOfProtocol } from '../../domain/failure.ts';
import { type BudgetState, checkBudget, leastRemaining } from '../../domain/invocation/budget.ts';
import { unusableConditions } from '../../domain/invocation/conditions.ts';
import { fromMinor } from '../../domain/values/money.ts';
import { createRecent } from '../../domain/values/recent.ts';
import type { Capability } from '../../protocol/capability.ts';
import type { Failure, FailureType } from '../../protocol/failure.ts';
import type {
  AvailableCapability,
  PermissionsAnswer,
  ReasonType,
  RestrictedCapability,
} from '../../protocol/permissions.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import type { TokenRecord } from '../../storage/port/records.ts';
import { budgetsOf } from '../call/call.ts';
import { answered, disclosedTo, inLane } from '../caller/audited.ts';
import { type TokenCaller, tokenCallerOf } from '../caller/caller.ts';
import { type Answer, type Ask, type Method, requestOf } from '../operations/operations.ts';
import type { ServiceParts } from '../operations/parts.ts';

/** Cached answers: a busy agent asks again and again. */
const ANSWERS_MAX = 500;

/** Characters of a cached answer. Most catalogs need ten thousand. */
const ANSWER_LENGTH_MAX = 50_000;

/**
 * Capabilities that are judged in one turn, in a few milliseconds. A longer catalog is judged in
 * slices.
 */
const AT_ONCE_MAX = 100;

/** An answer, and the state of the budgets it was made from. */
interface CachedAnswer {
  readonly state: string;
  readonly answer: Answer;
}

/**
 * An answer depends on the catalog, the row of the token and its budgets. It is cached until one
 * changes.
 */
export function createPermissions(parts: ServiceParts): Method {
  const answers = createRecent<TokenRecord, CachedAnswer>(ANSWERS_MAX);

  function answerFor(caller: TokenCaller): Answer {
    const state = budgetsOf(caller.loaded).map(stateOf).join();
    const before = answers.get(caller.token);
    if (before?.state === state) return before.answer;
    const answer = permissionsAnswer(permissionsOf(parts, caller));
    if ((answer.text?.length ?? 0) > ANSWER_LENGTH_MAX) return answer;
    answers.set(caller.token, { state, answer });
    return answer;
  }

  const isLong = parts.definition.catalog.capabilities.size > AT_ONCE_MAX;
  return async (ask) =>
    answered(parts, await tokenCallerOf(parts, ask), (caller) => {
      requestOf('permissions', ask);
      return isLong ? tellInSlices(parts, caller, ask) : answerFor(caller);
    });
}

function permissionsAnswer(body: PermissionsAnswer): Answer {
  return { body, text: JSON.stringify(body) };
}

function tellInSlices(parts: ServiceParts, caller: TokenCaller, ask: Ask): Promise<Answer> {
  return inLane(parts, caller, ask, async (slices) => {
    const answer: PermissionsAnswer = { available: [], restricted: [], denied: [] };
    await slices.each(parts.definition.catalog.capabilities.values(), (capability) => {
      addTo(answer, parts, caller, capability);
      return true;
    });
    return permissionsAnswer(answer);
  });
}

function stateOf({ max, reserved, consumed }: BudgetState): string {
  return `${max} ${reserved} ${consumed}`;
}

function permissionsOf(parts: ServiceParts, caller: TokenCaller): PermissionsAnswer {
  const answer: PermissionsAnswer = { available: [], restricted: [], denied: [] };
  for (const capability of parts.definition.catalog.capabilities.values()) {
    addTo(answer, parts, caller, capability);
  }
  return answer;
}

/** Judges one capability and adds it to the matching list. */
function addTo(
  answer: PermissionsAnswer,
  parts: ServiceParts,
  caller: TokenCaller,
  capability: Capability,
): void {
  const whole = [capability, ...stepCapabilities(parts.definition.catalog, capability)] as const;
  const isQuoted = parts.definition.code.get(capability.name)?.price !== undefined;
  const found = refusalOf(caller, whole, isQuoted);
  if (!found) {
    answer.available.push(available(caller, capability));
    return;
  }
  const disclosed = restricted(caller, whole, disclosedTo(parts, caller, found));
  if (disclosed.reason_type !== 'non_delegable') answer.restricted.push(disclosed);
  else answer.denied.push({ ...denied(disclosed) });
}

/** The first rule that an invocation would fail, in its order. */
function refusalOf(
  { token, loaded }: TokenCaller,
  whole: Whole,
  isQuoted: boolean,
): Failure | undefined {
  const [capability] = whole;
  const price = isQuoted ? 'pending' : pendingPrice(capability);
  return (
    authorityRefusal({ token, whole, lineage: loaded.lineage }) ??
    controlRefusal(token, whole) ??
    checkBudget(token, capability, budgetsOf(loaded), price).failure ??
    unusableConditions(token, capability)
  );
}

/** A price that a required binding will pin is still unknown, and does not restrict. */
function pendingPrice({ cost, requires_binding }: Capability) {
  return cost?.certainty === 'estimated' && requires_binding?.length ? 'pending' : undefined;
}

const REASON_TYPE: Partial<Record<FailureType, ReasonType>> = {
  non_delegable_action: 'non_delegable',
  principal_class_not_admitted: 'non_delegable',
  scope_insufficient: 'insufficient_scope',
  purpose_mismatch: 'stronger_delegation_required',
  delegation_depth_exceeded: 'insufficient_delegation_depth',
};

function reasonType(found: Failure): ReasonType {
  const known = isOfProtocol(found.type) ? REASON_TYPE[found.type] : undefined;
  if (known) return known;
  const binding = found.resolution.action === 'request_capability_binding';
  return binding ? 'stronger_delegation_required' : 'unmet_control_requirement';
}

function restricted(
  { token }: TokenCaller,
  [capability, ...steps]: Whole,
  found: Failure,
): RestrictedCapability {
  const held = token.capability === capability.name;
  const controls = [
    ...unmetControls(token, capability),
    ...steps.flatMap((step) =>
      unmetControls(held ? { ...token, capability: step.name } : token, step),
    ),
  ];
  const unmet = [...new Set(controls.map(({ type }) => type))];
  const { grantable_by, action } = found.resolution;
  return {
    capability: capability.name,
    reason: found.detail,
    reason_type: reasonType(found),
    ...(grantable_by && { grantable_by }),
    ...(unmet.length > 0 && { unmet_token_requirements: unmet }),
    resolution_hint: action,
  };
}

function denied({ capability, reason, reason_type }: RestrictedCapability) {
  return { capability, reason, reason_type };
}

function available(caller: TokenCaller, capability: Capability): AvailableCapability {
  return {
    capability: capability.name,
    scope_match: matchingScopes(caller.token, capability).join(', '),
    constraints: constraintsOf(caller, capability),
  };
}

/** Everything that bounds a call, so that an agent can plan. */
function constraintsOf({ token, loaded }: TokenCaller, capability: Capability): JsonObject {
  const budgets = budgetsOf(loaded);
  const { budget } = token;
  const held = heldOn(token.conditions, capability.name);
  return {
    expires_at: token.expires_at.toISOString(),
    ...(budget && {
      budget: {
        ...budget,
        remaining: fromMinor(leastRemaining(budgets), budget.currency),
      },
    }),
    ...(capability.cost && { cost: capability.cost }),
    ...(token.capability !== undefined && { capability: token.capability }),
    ...(held && { conditions: { where: held.where, words: conditionWords(held.where) } }),
    ...(token.purpose.task_id !== undefined && { task_id: token.purpose.task_id }),
    ...(token.concurrent_branches === 'exclusive' && { concurrent_branches: 'exclusive' }),
    ...(capability.requires_binding && { requires_binding: capability.requires_binding }),
    ...(capability.approval && { approval: capability.approval }),
  };
}
