/**
 * Conditions on a call: whether what runs is within those of the token.
 *
 * The resolved parameters are judged, because they are what is digested, shown and run. An input that the conditions do
 * not know, or that had another type when they were written, refuses only a call that uses it.
 *
 * @module
 */

import type { Capability, Input } from '../../protocol/capability.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { changedInputs } from '../authority/input-types.ts';
import {
  type HeldConditions,
  heldOn,
  type TokenConditions,
  wordsAt,
} from '../authority/token-conditions.ts';
import { admitsAbsence, COST_PATH } from '../conditions/condition.ts';
import { judge, type Unmet } from '../conditions/judge.ts';
import { failure } from '../failure.ts';
import { fromMinor } from '../values/money.ts';
import { canonicalJson } from '../wire/canonical.ts';
import type { Charge } from './budget.ts';
import { needsPolicy } from './inputs.ts';

/** Conditions that did not hold, in one failure. */
const UNMET_SHOWN_MAX = 8;

interface Holder {
  readonly root_principal: string;
  readonly conditions?: TokenConditions | undefined;
}

/** A call that the conditions of the token do not allow. `costOutside` judges what it costs. */
export function outsideConditions(
  token: Holder,
  capability: Capability,
  sent: JsonObject,
  resolved: JsonObject,
): Failure | undefined {
  const held = heldOn(token.conditions, capability.name);
  if (!held) return undefined;
  const changed = changedInputs(held.inputs, capability);
  const used = capability.inputs.find(
    (input) => changed.has(input.name) && isUsed(input, sent, resolved),
  );
  if (used) return changedInput(token, capability, used.name);
  const { unmet } = judge(held.where, { parameters: resolved }, 'allows');
  return unmetFailure(
    token,
    capability,
    held,
    unmet.filter(({ at }) => at !== COST_PATH),
  );
}

/** A charge that the conditions of the token do not allow, or that is not known. */
export function costOutside(
  token: Holder,
  capability: Capability,
  charge: Charge | undefined,
): Failure | undefined {
  const held = heldOn(token.conditions, capability.name);
  const limit = held?.where[COST_PATH];
  if (!held || !limit) return undefined;
  const isKnown = charge && charge.currency === capability.cost?.financial?.currency;
  const cost = isKnown ? fromMinor(charge.amount, charge.currency) : undefined;
  const { unmet } = judge({ [COST_PATH]: limit }, { parameters: {}, cost }, 'allows');
  return unmetFailure(token, capability, held, unmet);
}

/** Why no call can be within the conditions any more: the inputs of the capability changed. */
export function unusableConditions(token: Holder, capability: Capability): Failure | undefined {
  const held = heldOn(token.conditions, capability.name);
  if (!held) return undefined;
  const changed = changedInputs(held.inputs, capability);
  const needed = capability.inputs.find(
    (input) =>
      changed.has(input.name) && input.required && !input.resolution && input.default === undefined,
  );
  const gone = Object.entries(held.where).find(
    ([path, condition]) => !admitsAbsence(condition) && !isDeclared(capability, path),
  );
  const name = needed?.name ?? gone?.[0];
  return name === undefined ? undefined : changedInput(token, capability, name);
}

function isDeclared({ inputs, cost }: Capability, path: string): boolean {
  if (path === COST_PATH) return cost?.financial !== undefined;
  return inputs.some(({ name }) => name === path.split('.')[0]);
}

/** Whether the caller sent the input, or a policy of the actor may have filled it. A default is none of the two. */
function isUsed(input: Input, sent: JsonObject, resolved: JsonObject): boolean {
  const { name } = input;
  if (Object.hasOwn(sent, name) && sent[name] != null) return true;
  if (!needsPolicy(input) || !Object.hasOwn(resolved, name)) return false;
  return canonicalJson(resolved[name]) !== canonicalJson(input.default ?? null);
}

function changedInput(token: Holder, { name }: Capability, input: string): Failure {
  const detail = `Cannot invoke "${name}" with "${input}": the inputs changed since the token was issued, and its conditions do not know this one`;
  return failure('scope_insufficient', detail, { grantable_by: token.root_principal });
}

const HINTS: Readonly<Record<Unmet['found'], string>> = {
  outside: '',
  missing: ' (without a value)',
  unreadable: ' (in a form that cannot be judged)',
};

function unmetFailure(
  token: Holder,
  { name }: Capability,
  { where }: HeldConditions,
  unmet: readonly Unmet[],
): Failure | undefined {
  if (unmet.length === 0) return undefined;
  const shown = [...unmet]
    .sort((one, other) => (one.at < other.at ? -1 : 1))
    .slice(0, UNMET_SHOWN_MAX);
  const allowed = shown
    .map(({ at, found }) => `${wordsAt(where, [at])}${HINTS[found]}`)
    .join(' and ');
  const detail = `Cannot invoke "${name}" so: the token allows it only where ${allowed}`;
  return failure('scope_insufficient', detail, {
    grantable_by: token.root_principal,
    conditions: shown.map(({ at, found }) => ({ at, where: { ...where[at] }, found })),
  });
}
