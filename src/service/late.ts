/**
 * Late ends: a handler that finishes after its call was closed as unknown, by its deadline or by
 * others that thought its process dead or took its turn.
 *
 * What it did is told in a later entry. Money stays as it was charged, except that a handler which
 * declares that nothing happened gets it given back; one that reports more than was reserved has
 * overrun like any other.
 *
 * @module
 */

import type { Charge } from '../domain/budget.ts';
import { failure } from '../domain/failure.ts';
import type { Settlement } from '../storage/invocation-store.ts';
import {
  answerOf,
  bytesOf,
  type Call,
  type CheckedCall,
  type Ending,
  endingEntry,
  moneyOf,
} from './call.ts';
import type { Done } from './handler.ts';
import type { Answer } from './operations.ts';
import { costAndOverrun } from './overrun.ts';
import type { Parts } from './parts.ts';

/** What a late end needs of its call. */
export type LateCall = Call &
  Pick<CheckedCall, 'caller' | 'capability'> &
  Pick<Partial<CheckedCall>, 'charge'>;

/**
 * Tells, when a handler ends that was still running, what the entry of its call does not say. That
 * entry says what the handler had `reported` until then.
 */
export function lateSettlement(
  parts: Parts,
  call: LateCall,
  { late, reported }: Pick<Done, 'late' | 'reported'>,
): void {
  const recorded = late
    ?.then((done) => record(parts, call, done, reported))
    .catch((error) => parts.log.error({ err: error }, 'a late outcome could not be recorded'));
  if (recorded !== undefined) void parts.work.track(recorded);
}

/**
 * The handler's outcome came too late to be the call's. A call that lost its turn is still open, and
 * nobody else would close it while this process lives; so it is closed as unknown here.
 */
export async function supersededCall(
  parts: Parts,
  call: CheckedCall,
  done: Done,
  settlement: Settlement,
): Promise<Answer> {
  const detail = 'Cannot say what became of the call: it ended after its turn was over';
  const found = failure('outcome_unknown', detail);
  const told = { ...call, budget: 'unsettled' as const };
  const { overrun } = settlement;
  const ending: Ending = {
    state: 'indeterminate',
    failure: found,
    cost: call.charge,
    detail: overrun && done.reported && { cost_reported: moneyOf(done.reported) },
  };
  const entry = endingEntry(parts, told, ending);
  const closing: Settlement = {
    ...settlement,
    outcome: 'indeterminate',
    actual: undefined,
    bindings: [],
    answer: bytesOf(answerOf(parts, told, ending, entry)),
    entry,
  };
  const tell = (closed: 'settled' | 'superseded') =>
    lateSettlement(parts, call, {
      late: done.late ?? Promise.resolve(done),
      reported: closed === 'settled' ? done.reported : undefined,
    });
  const closed = await parts.settler.settle(closing, tell);
  if (closed !== 'unknown') tell(closed);
  const receipt = closed === 'settled' ? entry : undefined;
  return { body: answerOf(parts, told, ending, receipt), failure: found };
}

async function record(
  parts: Parts,
  call: LateCall,
  done: Done,
  told: Charge | undefined,
): Promise<void> {
  // Whoever adopts the call tells how it ended.
  if (done.isAbandoned) return;
  const { capability, charge: checked } = call;
  const { cost, detail, overrun } = costAndOverrun(parts, call, done, {
    capability,
    checked,
    told,
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
  // One that ends unknown after all is still an operator's to reconcile.
  const isKnown = done.outcome !== 'indeterminate';
  // An entry is kept once, so this can be repeated.
  await parts.settler.insist(async () => {
    const reconciled =
      isKnown && (await parts.store.reconcile(invocation_id, refund, () => entry, { overrun }));
    if (!reconciled) await parts.store.append([entry], [], overrun);
  });
}
