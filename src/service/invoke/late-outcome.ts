/**
 * Late outcomes and overruns.
 *
 * A late outcome is that of a handler that ends after its call was closed as unknown: at its
 * deadline, by recovery of a process that seemed dead, or because its lease was lost. A later entry
 * records it. The charge stays, except that a handler that declares no effect is refunded. An
 * overrun is a reported cost above the reserved amount; late handlers can overrun too.
 *
 * @module
 */

import { capabilityTarget } from '../../domain/authority/freeze.ts';
import { failure } from '../../domain/failure.ts';
import { type Charge, settledCost } from '../../domain/invocation/budget.ts';
import { formatMinor } from '../../domain/values/money.ts';
import type { Capability } from '../../protocol/capability.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import type { Overrun, Settlement } from '../../storage/port/invocation-store.ts';
import type { FreezeRecord } from '../../storage/port/records.ts';
import {
  bytesOf,
  type Call,
  type CheckedCall,
  type Ending,
  endingEntry,
  type HandledCall,
  invokeAnswer,
  moneyOf,
} from '../call/call.ts';
import { actEntry } from '../caller/entries.ts';
import type { Answer } from '../operations/operations.ts';
import type { ServiceParts } from '../operations/parts.ts';
import type { Done } from './handler.ts';

/** The part of a call that a late outcome needs. */
export type LateCall = Call &
  Pick<CheckedCall, 'caller' | 'capability'> &
  Pick<Partial<CheckedCall>, 'charge'>;

/**
 * Records the outcome of a handler that still runs, once it ends. The entry of the call already
 * contains what the handler had `reported` by then.
 */
export function lateSettlement(
  parts: ServiceParts,
  call: LateCall,
  { late, reported }: Pick<Done, 'late' | 'reported'>,
): void {
  const recorded = late
    ?.then((done) => record(parts, call, done, reported))
    .catch((error) => parts.log.error({ err: error }, 'a late outcome could not be recorded'));
  if (recorded !== undefined) void parts.work.track(recorded);
}

/**
 * The outcome came too late for the call. A call that lost its lease is still open, and no other
 * process closes it while this one lives, so it is closed as unknown here.
 */
export async function supersededCall(
  parts: ServiceParts,
  call: CheckedCall,
  done: Done,
  settlement: Settlement,
): Promise<Answer> {
  const detail = 'Cannot report the outcome of the call: it ended after it was closed';
  const found = failure('outcome_unknown', detail);
  const unsettled = { ...call, budget: 'unsettled' as const };
  const { overrun } = settlement;
  const ending: Ending = {
    state: 'indeterminate',
    failure: found,
    cost: call.charge,
    detail: overrun && done.reported && { cost_reported: moneyOf(done.reported) },
  };
  const entry = endingEntry(parts, unsettled, ending);
  const closing: Settlement = {
    ...settlement,
    outcome: 'indeterminate',
    actual: undefined,
    bindings: [],
    answer: bytesOf(invokeAnswer(parts, unsettled, ending, entry)),
    entry,
  };
  const recordLate = (closed: 'settled' | 'superseded') =>
    lateSettlement(parts, call, {
      late: done.late ?? Promise.resolve(done),
      reported: closed === 'settled' ? done.reported : undefined,
    });
  const closed = await parts.settler.settle(closing, recordLate);
  if (closed !== 'unknown') recordLate(closed);
  const receipt = closed === 'settled' ? entry : undefined;
  return { body: invokeAnswer(parts, unsettled, ending, receipt), failure: found };
}

async function record(
  parts: ServiceParts,
  call: LateCall,
  done: Done,
  recorded: Charge | undefined,
): Promise<void> {
  // The process that adopts the call records its outcome.
  if (done.isAbandoned) return;
  const { capability, charge: checked } = call;
  const { cost, detail, overrun } = costAndOverrun(parts, call, done, {
    capability,
    checked,
    recorded,
  });
  const ending: Ending = {
    entryType: 'settlement',
    state: done.outcome === 'no_effect' ? 'failed' : done.outcome,
    result: done.result,
    failure: done.failure,
    cost: done.outcome === 'no_effect' ? undefined : (checked ?? cost),
    detail:
      done.steps || detail ? { ...(done.steps && { steps: done.steps }), ...detail } : undefined,
  };
  const entry = endingEntry(parts, call, ending);
  const refund = done.outcome === 'no_effect';
  const { invocation_id } = call.ids;
  // An operator reconciles a call whose late outcome is unknown too.
  const isKnown = done.outcome !== 'indeterminate';
  // The store inserts an entry once, so this can be repeated.
  await parts.settler.insist(async (isRepeat) => {
    const reconciled =
      isKnown && (await parts.store.reconcile(invocation_id, refund, () => entry, { overrun }));
    if (!reconciled) await parts.store.append([entry], [], overrun, isRepeat);
  });
}

export interface SettledCost {
  /** The charged amount. */
  readonly cost?: Charge | undefined;
  /** More facts for the entry. */
  readonly detail?: JsonObject | undefined;
  readonly overrun?: Overrun | undefined;
}

export interface Priced {
  readonly capability: Capability;
  /** The reserved amount. */
  readonly checked?: Charge | undefined;
  /** The cost that an earlier entry of the call already reports. Only the excess over it is new. */
  readonly recorded?: Charge | undefined;
}

/**
 * The charge of a call, and the consequences of a reported cost above the reserved amount. Every
 * outcome of a handler passes here, also a late one.
 */
export function costAndOverrun(
  parts: ServiceParts,
  call: HandledCall,
  { outcome, reported }: Pick<Done, 'outcome' | 'reported'>,
  { capability, checked, recorded }: Priced,
): SettledCost {
  if (outcome === 'no_effect') return {};
  const { cost, excess } = settledCost(capability, checked, reported);
  if (!excess || !reported || covers(recorded, reported)) return { cost };
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
      debt: debtOf(checked, reported, recorded),
      freeze: isFreezing ? freezeOf(parts, call, capability, reported) : undefined,
    },
  };
}

/** The debt; none when the currencies differ, because the amounts cannot be compared. */
function debtOf(
  checked: Charge | undefined,
  { currency, amount }: Charge,
  recorded: Charge | undefined,
): Charge | undefined {
  if (checked?.currency !== currency) return undefined;
  const owed =
    recorded?.currency === currency && recorded.amount > checked.amount ? recorded : checked;
  return { currency, amount: amount - owed.amount };
}

function covers(recorded: Charge | undefined, { currency, amount }: Charge): boolean {
  return recorded?.currency === currency && recorded.amount >= amount;
}

function freezeOf(
  parts: ServiceParts,
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
