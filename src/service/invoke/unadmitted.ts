/**
 * A call that the store did not admit: what the caller is answered, and what is given back.
 *
 * @module
 */

import { failure, Refusal } from '../../domain/failure.ts';
import {
  type BudgetState,
  budgetView,
  type Charge,
  exceeded,
} from '../../domain/invocation/budget.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { BudgetContext } from '../../protocol/invocation.ts';
import type { Admission, Refused, Settlement } from '../../storage/port/invocation-store.ts';
import { frozenFailure } from '../authority/freeze.ts';
import {
  budgetsOf,
  bytesOf,
  type CheckedCall,
  type Ending,
  endingEntry,
  invokeAnswer,
} from '../call/call.ts';
import type { Answer } from '../operations/operations.ts';
import { lostGrant } from './approve-call.ts';
import type { Done, InvokeParts } from './handler.ts';
import { supersededCall } from './late-outcome.ts';
import { replayOf } from './replay.ts';
import { refusedCall } from './settle.ts';

/** The store may have admitted the call. It does not run, and what it took is given back later. */
export function lostAdmission(
  parts: InvokeParts,
  call: CheckedCall,
  { intent }: Admission,
): Answer {
  const detail =
    'Cannot report whether the call was admitted: the store did not answer; the handler did not run';
  const found = failure('outcome_unknown', detail);
  const ending: Ending = { state: 'failed', failure: found };
  const unsettled = { ...call, budget: 'unsettled' as const };
  const entry = endingEntry(parts, unsettled, ending);
  const done: Done = { outcome: 'no_effect', failure: found, bindings: [] };
  const settlement: Settlement = {
    operation_id: intent.operation_id,
    outcome: done.outcome,
    bindings: done.bindings,
    answer: bytesOf(invokeAnswer(parts, unsettled, ending, entry)),
    entry,
    now: parts.store.now(),
  };
  parts.settler.release(settlement, () => void supersededCall(parts, call, done, settlement));
  return { body: invokeAnswer(parts, unsettled, ending), failure: found };
}

/** The store refused: another call was faster, or the state changed after the checks. */
export async function refusedAdmission(
  parts: InvokeParts,
  call: CheckedCall,
  refused: Refused,
): Promise<Answer> {
  if (refused.reason === 'key') {
    const replay = await replayOf(parts, call, call.request, refused.record);
    if (replay) return replay;
  }
  const found = await admissionFailure(parts, call, refused);
  if (refused.reason !== 'budget') throw new Refusal(found);
  return refusedCall(parts, { ...call, budget: tightContext(call, refused.budget) }, found);
}

/** The budget as the store found it at admission. It may differ from the checked one. */
function tightContext(
  { caller, capability, charge }: CheckedCall,
  tight: BudgetState,
): BudgetContext | undefined {
  if (!capability.cost || !charge) return undefined;
  const budgets = budgetsOf(caller.loaded).map((state) =>
    state.token_id === tight.token_id ? tight : state,
  );
  return budgetView(capability.cost, charge, budgets);
}

function admissionFailure(
  parts: InvokeParts,
  call: CheckedCall,
  refused: Refused,
): Failure | Promise<Failure> {
  const { caller, charge } = call;
  switch (refused.reason) {
    case 'unknown_token':
    case 'altered':
    case 'revoked':
      return failure('invalid_token', 'Cannot use the token: it was revoked');
    case 'expired':
      return failure('token_expired', 'Cannot use the token: it has expired');
    case 'frozen':
      return frozenFailure(refused.freeze);
    case 'budget':
      return exceeded(charge as Charge, refused.budget, caller.token);
    case 'currency':
      return failure(
        'budget_currency_mismatch',
        `Cannot reserve ${charge?.currency}: a budget above the token is in ${refused.budget.currency}`,
        { grantable_by: caller.root_principal },
      );
    case 'grant':
      return lostGrant(parts, call, refused.grant);
    case 'busy':
      return busyFailure(refused.until);
    case 'key':
      return failure('idempotency_in_progress', 'Cannot answer yet: the first call is running');
  }
}

export function busyFailure(until: Date): Failure {
  const detail = 'Cannot run now: another invocation runs under this exclusive token';
  return failure('concurrent_branch_busy', detail, {
    estimated_availability: until.toISOString(),
  });
}
