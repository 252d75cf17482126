/**
 * Late ends: a handler that finishes after its call was answered as unknown.
 *
 * What it did is told in a later entry. Money stays as it was charged, except that a handler which
 * declares that nothing happened gets it given back.
 *
 * @module
 */

import type { Ending } from './call.ts';
import { endingEntry } from './call.ts';
import type { Done } from './handler.ts';
import type { CheckedCall } from './invoke.ts';
import type { Parts } from './parts.ts';

export function lateSettlement(parts: Parts, call: CheckedCall, late: Promise<Done>): void {
  void late
    .then((done) => record(parts, call, done))
    .catch((error) => parts.log.error({ err: error }, 'a late outcome could not be recorded'));
}

async function record(parts: Parts, call: CheckedCall, done: Done): Promise<void> {
  const ending: Ending = {
    entryType: 'settlement',
    state: done.outcome === 'no_effect' ? 'failed' : done.outcome,
    failure: done.failure,
    cost: done.outcome === 'no_effect' ? undefined : call.charge,
  };
  const entry = endingEntry(parts, call, ending);
  const refund = done.outcome === 'no_effect';
  const { invocation_id } = call.ids;
  const reconciled = await parts.store.reconcile(invocation_id, refund, () => entry);
  if (!reconciled) await parts.store.append([entry]);
}
