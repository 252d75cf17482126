/**
 * Late ends: a handler that finishes after its call was closed as unknown, by its deadline or by
 * others that thought its process dead or took its turn.
 *
 * What it did is told in a later entry. Money stays as it was charged, except that a handler which
 * declares that nothing happened gets it given back.
 *
 * @module
 */

import { failure } from '../domain/failure.ts';
import type { Settlement } from '../storage/invocation-store.ts';
import {
  answerOf,
  bytesOf,
  type Call,
  type CheckedCall,
  type Ending,
  endingEntry,
} from './call.ts';
import type { Done } from './handler.ts';
import type { Answer } from './operations.ts';
import type { Parts } from './parts.ts';

/** What a late end needs of its call. */
export type LateCall = Call & Pick<CheckedCall, 'caller'> & Pick<Partial<CheckedCall>, 'charge'>;

/** Tells, when a handler ends that was still running, what the entry of its call does not say. */
export function lateSettlement(
  parts: Parts,
  call: LateCall,
  late: Promise<Done> | undefined,
): void {
  const recorded = late
    ?.then((done) => record(parts, call, done))
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
  const told = { ...call, budget: undefined };
  const ending: Ending = { state: 'indeterminate', failure: found, cost: call.charge };
  const entry = endingEntry(parts, told, ending);
  const closing: Settlement = {
    ...settlement,
    outcome: 'indeterminate',
    actual: undefined,
    bindings: [],
    answer: bytesOf(answerOf(parts, told, ending, entry)),
    entry,
  };
  const tell = () => lateSettlement(parts, call, done.late ?? Promise.resolve(done));
  const closed = await parts.settler.settle(closing, tell);
  if (closed !== 'unknown') tell();
  const receipt = closed === 'settled' ? entry : undefined;
  return { body: answerOf(parts, told, ending, receipt), failure: found };
}

async function record(parts: Parts, call: LateCall, done: Done): Promise<void> {
  // Whoever adopts the call tells how it ended.
  if (done.isAbandoned) return;
  const ending: Ending = {
    entryType: 'settlement',
    state: done.outcome === 'no_effect' ? 'failed' : done.outcome,
    result: done.result,
    failure: done.failure,
    cost: done.outcome === 'no_effect' ? undefined : call.charge,
    detail: done.steps && { steps: done.steps },
  };
  const entry = endingEntry(parts, call, ending);
  const refund = done.outcome === 'no_effect';
  const { invocation_id } = call.ids;
  // One that ends unknown after all is still an operator's to reconcile.
  const isKnown = done.outcome !== 'indeterminate';
  const reconciled = isKnown && (await parts.store.reconcile(invocation_id, refund, () => entry));
  if (!reconciled) await parts.store.append([entry]);
}
