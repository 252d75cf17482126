/**
 * Approval: whether a person has to agree before a call may run.
 *
 * Judged on the resolved parameters and on the amount that was checked, never on what a caller says
 * about either. An amount that cannot be told needs approval: a threshold is no way around it.
 *
 * @module
 */

import type { Capability } from '../../protocol/capability.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { toMinor } from '../values/money.ts';
import type { Charge } from './budget.ts';

/** What a call is judged on. `condition` is the author's predicate, where the policy is one. */
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
    return !(typeof amount === 'number' && amount <= when.amount_above);
  }
  const { charge } = facts;
  const threshold = charge && toMinor(when.amount_above, charge.currency);
  return threshold === undefined || charge === undefined || charge.amount > threshold;
}
