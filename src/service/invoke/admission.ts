/**
 * From the last check to the answer: admission, handler, settlement.
 *
 * The store admits a call completely or not at all, and only then the handler runs. A read that
 * takes nothing from the store is not admitted, but has an entry too.
 *
 * @module
 */

import { mayCall } from '../../domain/catalog/called.ts';
import { failure, refuse } from '../../domain/failure.ts';
import { budgetView } from '../../domain/invocation/budget.ts';
import { amended } from '../../domain/values/amended.ts';
import { utf8 } from '../../domain/wire/hash.ts';
import type { BudgetContext, InvokeAnswer } from '../../protocol/invocation.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { run, type Steps, wait } from '../../steps.ts';
import type {
  Admission,
  Admitted,
  Loaded,
  Overrun,
  Refused,
  Settlement,
} from '../../storage/port/invocation-store.ts';
import type { IntentRecord } from '../../storage/port/records.ts';
import { OutcomeUnknown } from '../../storage/port/store.ts';
import { requestApproval } from '../approval/request.ts';
import { frozenCall } from '../authority/freeze.ts';
import {
  budgetsOf,
  type Call,
  type CheckedCall,
  type Ending,
  endingEntry,
  factsOf,
  invokeAnswer,
} from '../call/call.ts';
import { type Answer, failureOf } from '../operations/operations.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { newOperationId } from '../operations/random.ts';
import { createStream, type Stream } from '../operations/stream.ts';
import { traced } from '../operations/tracing.ts';
import { grantUseOf } from './approve-call.ts';
import type { Work } from './context.ts';
import {
  type Done,
  type InvokeParts,
  type Running,
  runHandler,
  withinDeadline,
} from './handler.ts';
import { rollbackOf } from './inputs.ts';
import { costAndOverrun, lateSettlement, supersededCall } from './late-outcome.ts';
import { signedBody } from './receipt.ts';
import { fingerprintOf } from './replay.ts';
import {
  brokenCall,
  brokenRead,
  isExclusive,
  isStoreFailure,
  leaseUntil,
  renewLeases,
  unrecordedCall,
  unsettledCall,
} from './settle.ts';
import { lostAdmission, refusedAdmission } from './unadmitted.ts';

/** Stored answers are kept at least this long. The specification requires 24 hours. */
const ANSWER_KEPT_MS = 25 * 3_600_000;

export function admitAndRun(parts: InvokeParts, call: CheckedCall): Steps<Answer> {
  refuse(frozenCall(call.caller));
  return needsAdmission(call)
    ? admitted(parts, call)
    : answering(parts, call, (stream) => answerRead(parts, call, stream));
}

function* admitted(parts: InvokeParts, call: CheckedCall): Steps<Answer> {
  const admission = admissionOf(parts, call);
  let result: Admitted | Refused;
  try {
    result = (yield parts.store.admit(admission)) as Admitted | Refused;
  } catch (error) {
    if (error instanceof OutcomeUnknown) return lostAdmission(parts, call, admission);
    throw error;
  }
  if (!result.admitted) return yield* wait(refusedAdmission(parts, call, result));
  const { budgets } = result;
  return yield* answering(parts, call, (stream) =>
    answerAdmitted(parts, call, { admission, budgets }, stream),
  );
}

/** One answer, or a stream that ends with it and runs once the transport takes it. */
function answering(
  parts: InvokeParts,
  call: CheckedCall,
  perform: (stream?: Stream) => Steps<Answer>,
): Steps<Answer> {
  if (!call.request.stream) return parts.work.during(perform());
  const answer: Answer = {
    body: {},
    async stream(sink) {
      const stream = createStream(call.ids, sink, parts.store);
      await stream.started();
      const { body } = await lastAnswer(parts, call, perform(stream));
      const last = await signedBody(parts, call, body as InvokeAnswer);
      await stream.last(last);
      return last;
    },
  };
  return wait(answer);
}

async function lastAnswer(
  parts: InvokeParts,
  call: CheckedCall,
  performing: Steps<Answer>,
): Promise<Answer> {
  try {
    return await run(parts.work.during(performing));
  } catch (error) {
    return unrecordedCall(parts, call, failureOf('invoke', error, parts.log));
  }
}

/** False for a plain read: nothing to reserve, nothing to recover. */
function needsAdmission({ capability, caller, charge, request }: CheckedCall): boolean {
  return (
    capability.side_effect.type !== 'read' ||
    charge !== undefined ||
    request.approval_grant !== undefined ||
    request.idempotency_key !== undefined ||
    isExclusive(caller)
  );
}

/** The store inserts the bindings with the entry, before the caller gets them. */
function* answerRead(parts: InvokeParts, call: CheckedCall, stream?: Stream): Steps<Answer> {
  try {
    const done = yield* handled(parts, call, stream);
    const { ending, overrun } = endingOf(parts, call, done, stream);
    if (hasInnerCalls(parts, call)) {
      call.budget = yield* budgetAfter(parts, call, { done, ending, budgets: [] });
    }
    const entry = endingEntry(parts, call, ending);
    yield parts.store.append([entry], done.bindings, overrun);
    lateSettlement(parts, call, done);
    return { body: invokeAnswer(parts, call, ending, entry), failure: ending.failure };
  } catch (error) {
    return yield* wait(brokenRead(parts, call, error));
  }
}

interface AdmittedCall {
  readonly admission: Admission;
  readonly budgets: Admitted['budgets'];
}

function* answerAdmitted(
  parts: InvokeParts,
  call: CheckedCall,
  admitted: AdmittedCall,
  stream?: Stream,
): Steps<Answer> {
  try {
    return yield* runAndSettle(parts, call, admitted, stream);
  } catch (error) {
    return yield* wait(brokenCall(parts, call, admitted.admission.intent, error));
  }
}

function* runAndSettle(
  parts: InvokeParts,
  call: CheckedCall,
  { admission, budgets }: AdmittedCall,
  stream?: Stream,
): Steps<Answer> {
  const { operation_id } = admission.intent;
  const leases = renewLeases(parts, call, operation_id);
  const done = yield* handled(parts, call, stream, operation_id);
  // A handler that runs past its deadline keeps its exclusive lease until it ends.
  const letGo = ({ isAbandoned }: Done) => (isAbandoned ? leases.stop() : leases.release());
  if (done.late) {
    void parts.work.track(done.late.then(letGo));
    // It still runs under the leases of the call that made it, so that call goes on too.
    if (isExclusive(call.caller)) call.within?.hold(done.late);
  } else leases.stop();
  if (done.isAbandoned) return unsettledCall(parts, call);
  const { ending, overrun } = endingOf(parts, call, done, stream);
  const found = { done, ending, budgets };
  call.budget = hasInnerCalls(parts, call)
    ? yield* budgetAfter(parts, call, found)
    : settledContext(call, found);
  const entry = endingEntry(parts, call, ending);
  const body = invokeAnswer(parts, call, ending, entry);
  // The text that a replay returns.
  const text = JSON.stringify(body);
  const settlement: Settlement = {
    operation_id,
    outcome: done.outcome,
    // Only a reserved amount can be spent; otherwise the cost is only reported.
    actual: call.charge && ending.cost?.amount,
    stillRuns: done.late !== undefined,
    bindings: done.bindings,
    rollback: yield* rollbackOf(parts, call.caller, call.capability, {
      outcome: done.outcome,
      parameters: call.parameters,
      output: done.result,
    }),
    answer: call.idempotencyKey === undefined ? undefined : utf8(text),
    overrun,
    entry,
    now: parts.store.now(),
  };
  const settling = parts.settler.settle(settlement, (later) => {
    if (later === 'superseded') void supersededCall(parts, call, done, settlement);
    else lateSettlement(parts, call, done);
  });
  const outcome = yield* wait(settling);
  if (outcome === 'superseded') return yield* wait(supersededCall(parts, call, done, settlement));
  if (outcome === 'unknown') return unsettledCall(parts, call);
  lateSettlement(parts, call, done);
  return { body, text, failure: ending.failure };
}

/** Runs the handler or the steps. Stores a request for approval before the call is closed. */
function* handled(
  parts: InvokeParts,
  call: CheckedCall,
  stream?: Stream,
  operationId?: string,
): Steps<Done> {
  const tooLate = lateInnerCall(call);
  if (tooLate) return tooLate;
  const progress = async (event: JsonObject) => stream?.progress(event);
  const perform = call.capability.composition
    ? ({ deadline }: Running) =>
        wait(parts.compose(parts, call, { operationId, deadline, progress }))
    : (running: Running) =>
        runHandler(parts, call, workOf(parts, call, progress, operationId), running);
  const running = withinDeadline(parts.platform, deadlineOf(parts, call), perform);
  const done = yield* traced(parts.tracer, 'handler', running);
  if (done.outcome !== 'no_effect' && call.capability.side_effect.type !== 'read') {
    call.within?.acted();
  }
  if (!done.needsApproval) return done;
  try {
    return { ...done, failure: yield* wait(requestApproval(parts, call)) };
  } catch (error) {
    return { ...done, failure: failureOf('invoke', error, parts.log) };
  }
}

/** A call by a handler that came to its own handler too late: checks, resolvers and the store take time too. */
function lateInnerCall({ capability, within }: CheckedCall): Done | undefined {
  if (!within || within.leftMs() > 0) return undefined;
  const detail = `Cannot run "${capability.name}": the deadline of the call that made it has passed; nothing happened`;
  return { outcome: 'no_effect', failure: failure('service_unavailable', detail), bindings: [] };
}

function admissionOf(parts: InvokeParts, call: CheckedCall): Admission {
  const { caller, capability, request, charge, ids, idempotencyKey } = call;
  const now = parts.store.now();
  const { subject, root_principal, chain } = caller.token;
  const intent: IntentRecord = {
    operation_id: newOperationId(parts.platform, now),
    invocation_id: ids.invocation_id,
    token_id: caller.token.token_id,
    subject,
    root_principal,
    capability: capability.name,
    charge,
    facts: factsOf(call),
    instance_id: parts.instanceId,
    admitted_at: now,
  };
  return {
    intent,
    now,
    judged: caller.loaded.lineage,
    charge,
    composed: capability.composition && call.parameters,
    grant: call.grant && grantUseOf(call.grant, call),
    leaseUntil: leaseUntil(parts),
    leasedBy: call.within?.leasedBy,
    idempotency:
      idempotencyKey === undefined
        ? undefined
        : {
            chain,
            capability: capability.name,
            key: idempotencyKey,
            fingerprint: fingerprintOf(request),
            keepUntil: new Date(now.getTime() + ANSWER_KEPT_MS),
          },
  };
}

function workOf(
  parts: InvokeParts,
  call: CheckedCall,
  progress: Work['progress'],
  operationId: string | undefined,
): Work {
  const { name } = call.capability;
  const { handler, approval } = parts.definition.code.get(name) ?? {};
  if (!handler) throw new Error(`Cannot run "${name}": it has no handler`);
  return {
    handler,
    capability: name,
    operationId,
    parameters: call.parameters,
    bound: call.bound,
    approval: call.grant ? 'granted' : approval ? 'open' : 'undeclared',
    failureTypes: call.capability.failure_types,
    progress,
  };
}

/** An inner call ends with the call that made it, at the latest. */
function deadlineOf({ definition }: ServiceParts, { capability, within }: CheckedCall): number {
  const own = definition.code.get(capability.name)?.deadlineMs as number;
  return within ? Math.min(own, Math.ceil(within.leftMs())) : own;
}

/** How a call ended, and what it cost. */
function endingOf(
  parts: InvokeParts,
  call: CheckedCall,
  done: Done,
  stream?: Stream,
): { readonly ending: Ending; readonly overrun?: Overrun | undefined } {
  const state = done.outcome === 'no_effect' ? 'failed' : done.outcome;
  const streamed = stream?.summary();
  const steps = done.steps && { steps: done.steps };
  const { result, failure } = done;
  if (done.outcome === 'no_effect') {
    // The continuation uses this key (decision 10), so the key stays in use.
    const effect = done.needsApproval ? undefined : 'none';
    return { ending: { state, result, failure, streamed, detail: steps, effect } };
  }
  const { capability, charge: checked } = call;
  const { cost, detail, overrun } = costAndOverrun(parts, call, done, { capability, checked });
  // The cost of an unknown outcome is unknown, so the full amount stays charged.
  const isUnknown = done.outcome === 'indeterminate' && checked !== undefined;
  const ending: Ending = {
    state,
    result,
    failure,
    streamed,
    detail: detail ? { ...steps, ...detail } : steps,
    cost: isUnknown ? checked : cost,
  };
  return { ending, overrun };
}

interface Settling {
  readonly done: Done;
  readonly ending: Ending;
  /** As admission found them. */
  readonly budgets: Admitted['budgets'];
}

/** Whether handlers that ran for this call may have spent of its budgets by calls of their own. */
function hasInnerCalls({ definition }: InvokeParts, { capability, caller }: CheckedCall): boolean {
  return mayCall(capability, definition.catalog) && budgetsOf(caller.loaded).length > 0;
}

/** The budget after the call. It is read again where handlers may have called others, which spend too. */
function* budgetAfter(
  { store }: InvokeParts,
  call: CheckedCall,
  settling: Settling,
): Steps<Call['budget']> {
  try {
    const loaded = (yield store.load({ tokenId: call.caller.token.token_id })) as Loaded;
    const budgets = budgetsOf(loaded);
    const after = call.charge
      ? settledContext(call, { ...settling, budgets })
      : budgetView(call.capability.cost, undefined, budgets);
    // A row that was edited meanwhile is not read.
    return after ?? 'unsettled';
  } catch (error) {
    if (!isStoreFailure(error)) throw error;
    return 'unsettled';
  }
}

/** The reserved amount is replaced by the cost. */
function settledContext(
  { capability: { cost }, charge }: CheckedCall,
  { done, ending, budgets }: Settling,
): BudgetContext | undefined {
  if (!charge || !cost || budgets.length === 0) return undefined;
  const spent = done.outcome === 'no_effect' ? 0n : (ending.cost?.amount ?? 0n);
  const after = budgets.map((state) => {
    // Nothing is reserved any more for a call that was closed while it ran. Its answer shows no balance.
    const others = state.reserved - charge.amount;
    return amended(state, {
      reserved: others > 0n ? others : 0n,
      consumed: state.consumed + spent,
    });
  });
  return budgetView(cost, charge, after);
}
