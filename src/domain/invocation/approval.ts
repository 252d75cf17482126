/**
 * Approval: whether a person must approve a call before it runs.
 *
 * Decided from the resolved parameters and the checked amount, never from what the caller claims about
 * them. Only an amount from zero to the threshold passes: one that is unknown, negative or no number needs approval, so
 * that a caller cannot bypass a threshold by hiding the amount or its direction.
 *
 * @module
 */

import type { Capability } from '../../protocol/capability.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { toMinor } from '../values/money.ts';
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
  if ('condition' in when) return facts.condition?.(facts.parameters) ?? true;
  if (when.input !== undefined) {
    const amount = facts.parameters[when.input];
    // Below zero too: a negative amount may move as much the other way.
    return !(typeof amount === 'number' && amount >= 0 && amount <= when.amount_above);
  }
  const { charge } = facts;
  const threshold = charge && toMinor(when.amount_above, charge.currency);
  return threshold === undefined || charge === undefined || charge.amount > threshold;
}
