/**
 * The rules of a capability: whether a call is refused, and whether a person must approve it before it runs.
 *
 * Decided from the resolved parameters and the checked amount, never from what the caller claims about them. A call
 * passes only where it is certain that it needs no approval: a value that is unknown, mistyped or oddly written does
 * not help a caller.
 *
 * @module
 */

import type { Capability } from '../../protocol/capability.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { looksAtCost, meetingWords, meets } from '../conditions/rules.ts';
import { approvalRule, ruleWords } from '../conditions/words.ts';
import { failure } from '../failure.ts';
import { fromMinor } from '../values/money.ts';
import type { Charge } from './budget.ts';

/** The facts that decide. `condition` is the author's predicate, where the policy has one. */
export interface ApprovalFacts {
  readonly parameters: JsonObject;
  readonly charge?: Charge | undefined;
  readonly condition?: ((parameters: JsonObject) => boolean) | undefined;
}

export function needsApproval({ approval }: Capability, facts: ApprovalFacts): boolean {
  const when = approval?.when;
  if (when === undefined) return false;
  if (when === 'always') return true;
  const rule = approvalRule(when);
  if (!rule) return facts.condition?.(facts.parameters) ?? true;
  const { parameters, charge } = facts;
  return meets(rule, { parameters, cost: costOf(charge) });
}

/**
 * What the rule of the capability refuses. A rule that looks at the cost is asked when the cost is known: `charge` is
 * `undefined` before that, and null where the call has none.
 */
export function ruleRefusal(
  { name, refuse: rule }: Capability,
  parameters: JsonObject,
  charge: Charge | null | undefined,
): Failure | undefined {
  if (!rule || looksAtCost(rule) !== (charge !== undefined)) return undefined;
  const args = { parameters, cost: costOf(charge ?? undefined) };
  if (!meets(rule, args)) return undefined;
  const why = meetingWords(rule, args);
  const words = [`it is refused ${ruleWords(rule)}`, ...(why === '' ? [] : [why])].join('; ');
  return failure('input_denied', `Cannot invoke "${name}": ${words}`);
}

function costOf(charge: Charge | undefined): number | undefined {
  return charge && fromMinor(charge.amount, charge.currency);
}
