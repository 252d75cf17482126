/**
 * Overruns: a handler that reports a higher cost than was reserved for its call.
 *
 * The call is charged what was reserved. The rest is not lost: the entry carries the reported cost, the
 * difference becomes debt on the token and its ancestors, an alarm counts it,
 * and a capability that says so is frozen for that root principal. Decision 0037.
 *
 * @module
 */

import { type Charge, settledCost } from '../domain/budget.ts';
import { capabilityTarget } from '../domain/freeze.ts';
import { formatMinor } from '../domain/money.ts';
import type { Capability } from '../protocol/capability.ts';
import type { JsonObject } from '../protocol/primitives.ts';
import type { Overrun } from '../storage/invocation-store.ts';
import type { FreezeRecord } from '../storage/records.ts';
import { moneyOf } from './call.ts';
import type { HandledCall } from './context.ts';
import { actEntry } from './entries.ts';
import type { Done } from './handler.ts';
import type { Parts } from './parts.ts';

export interface SettledCost {
  /** What is charged. */
  readonly cost?: Charge | undefined;
  /** What an entry says besides. */
  readonly detail?: JsonObject | undefined;
  readonly overrun?: Overrun | undefined;
}

export interface Priced {
  readonly capability: Capability;
  /** What was reserved for the call. */
  readonly checked?: Charge | undefined;
  /** What an entry of the call says already that it reported: only what is more than that is new. */
  readonly told?: Charge | undefined;
}

/**
 * What a call is charged, and what follows when its handler reported more than was checked. Every way in
 * which a handler can end comes through here, also one after its deadline.
 */
export function costAndOverrun(
  parts: Parts,
  call: HandledCall,
  { outcome, reported }: Pick<Done, 'outcome' | 'reported'>,
  { capability, checked, told }: Priced,
): SettledCost {
  if (outcome === 'no_effect') return {};
  const { cost, excess } = settledCost(capability, checked, reported);
  if (!excess || !reported || covers(told, reported)) return { cost };
  const facts = { ...call.ids, capability: capability.name, reported: moneyOf(reported) };
  const charged = cost ? moneyOf(cost) : null;
  parts.log.error(
    { alarm: 'cost_above_reservation', ...facts, charged },
    'a handler reported a cost above what was reserved',
  );
  parts.overran(capability.name);
  const isFreezing = capability.on_overrun === 'freeze';
  return {
    cost,
    detail: { cost_reported: moneyOf(reported) },
    overrun: {
      token_id: call.caller.token.token_id,
      debt: debtOf(checked, reported, told),
      freeze: isFreezing ? freezeOf(parts, call, capability, reported) : undefined,
    },
  };
}

/** Nothing where the currencies differ: such amounts cannot be compared. */
function debtOf(
  checked: Charge | undefined,
  { currency, amount }: Charge,
  told: Charge | undefined,
): Charge | undefined {
  if (checked?.currency !== currency) return undefined;
  const owed = told?.currency === currency && told.amount > checked.amount ? told : checked;
  return { currency, amount: amount - owed.amount };
}

function covers(told: Charge | undefined, { currency, amount }: Charge): boolean {
  return told?.currency === currency && told.amount >= amount;
}

function freezeOf(
  parts: Parts,
  { ids, caller }: HandledCall,
  { name }: Capability,
  { currency, amount }: Charge,
): NonNullable<Overrun['freeze']> {
  const { root_principal, token } = caller;
  const frozen_by = `service:${parts.definition.id}`;
  const reason = `invocation ${ids.invocation_id} reported ${formatMinor(amount, currency)} ${currency}, more than was reserved`;
  const record: FreezeRecord = {
    what: 'capability',
    target: capabilityTarget(name, root_principal),
    reason,
    frozen_by,
    frozen_at: parts.store.now(),
  };
  const actor = { principal: frozen_by, root_principal };
  const { invocation_id } = ids;
  const detail = {
    verb: 'freeze',
    what: 'capability',
    target: name,
    root_principal,
    reason,
    invocation_id,
  };
  const { token_id } = token;
  return {
    record,
    entry: actEntry(parts, actor, { entry_type: 'operator', capability: name, token_id, detail }),
  };
}
