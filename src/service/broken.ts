/**
 * Calls that ran and could not be finished as they should: a defect here, or a store that was away.
 *
 * What ran is never told as refused, and whatever was taken for it is given back or charged, once. So
 * nothing of the call that may be the reason is written again: neither parameters nor result.
 *
 * @module
 */

import { failure } from '../domain/failure.ts';
import type { Settlement } from '../storage/invocation-store.ts';
import type { IntentRecord } from '../storage/records.ts';
import { answerOf, bytesOf, type CheckedCall, type Ending, endingEntry } from './call.ts';
import { report } from './foreign.ts';
import type { Answer } from './operations.ts';
import type { Parts } from './parts.ts';
import { unrecordedCall } from './refused.ts';
import { isStoreFailure } from './settle.ts';

/** A defect after admission: closed as of unknown outcome, still charged, its key and turn given back. */
export async function brokenCall(
  parts: Parts,
  call: CheckedCall,
  { operation_id }: IntentRecord,
  error: unknown,
): Promise<Answer> {
  const { invocation_id } = call.ids;
  report(parts.log, { err: error, invocation_id }, 'an admitted call could not be finished');
  const detail = 'Cannot say what became of the call: internal error';
  const found = failure('outcome_unknown', detail);
  const ending: Ending = { state: 'indeterminate', failure: found, cost: call.charge };
  const told = { ...call, budget: 'unsettled' as const, parameters: undefined };
  const entry = endingEntry(parts, told, ending);
  const body = answerOf(parts, told, ending, entry);
  const settlement: Settlement = {
    operation_id,
    outcome: 'indeterminate',
    bindings: [],
    answer: bytesOf(body),
    entry,
    now: parts.store.now(),
  };
  const outcome = await parts.settler.settle(settlement);
  return outcome === 'settled' ? { body, failure: found } : unsettledCall(parts, call);
}

/** A defect after a read that took nothing. A store that is away is told as such. */
export async function brokenRead(parts: Parts, call: CheckedCall, error: unknown): Promise<Answer> {
  if (isStoreFailure(error)) throw error;
  const { invocation_id } = call.ids;
  report(parts.log, { err: error, invocation_id }, 'a read could not be finished');
  const found = failure('internal_error', 'Cannot complete the invocation: internal error');
  const ending: Ending = { state: 'failed', failure: found };
  const told = { ...call, parameters: undefined };
  const entry = endingEntry(parts, told, ending);
  await parts.store.append([entry]);
  return { body: answerOf(parts, told, ending, entry), failure: found };
}

/** The handler ended, and the log does not say so yet: the caller must look before it acts again. */
export function unsettledCall(parts: Parts, call: CheckedCall): Answer {
  const detail = 'Cannot say what became of the call: its outcome could not be recorded';
  return unrecordedCall(
    parts,
    { ...call, budget: 'unsettled' as const },
    failure('outcome_unknown', detail),
  );
}
