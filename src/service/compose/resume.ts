/**
 * Finishes composed calls whose process died. The trail shows what ran, and the policy of the call
 * decides what follows.
 *
 * No further step begins. A call whose steps all completed is completed. A call with the policy
 * `compensate` is compensated, each step once. Any other call is closed with an unknown outcome and
 * the list of its steps. An interrupted step or compensation is never run again.
 *
 * @module
 */

import { composedOutput } from '../../domain/composition/composition.ts';
import { failure } from '../../domain/failure.ts';
import { newUuid } from '../../platform.ts';
import type { Capability } from '../../protocol/capability.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { run } from '../../steps.ts';
import type {
  AdoptedComposition,
  EndedStep,
  StepRecord,
} from '../../storage/port/composition-store.ts';
import { HEARTBEAT_MS, type Settlement, SILENT_MS } from '../../storage/port/invocation-store.ts';
import { capabilityOf } from '../author/definition.ts';
import {
  bytesOf,
  type Call,
  type Ending,
  endingEntry,
  invokeAnswer,
  readFacts,
} from '../call/call.ts';
import type { TokenCaller } from '../caller/caller.ts';
import type { Done } from '../invoke/handler.ts';
import { admittedCaller } from '../invoke/indeterminate.ts';
import type { HandlerParts } from '../invoke/inner.ts';
import { rollbackOf } from '../invoke/inputs.ts';
import type { RecoveryOptions } from '../invoke/recovery.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { type Repeated, startRepeating } from '../pace/repeated.ts';
import { composedDone, emptied, type Reached } from './compose.ts';
import { flowOf } from './step.ts';
import { recordStep, stepViews, type Whole } from './trail.ts';

type Timing = Pick<RecoveryOptions, 'intervalMs' | 'silentMs'>;

/**
 * Looks for abandoned calls at the interval of the heartbeat.
 *
 * It takes them under an id with heartbeats of its own. After a pass that failed it takes another id: an adoption
 * without an answer may have taken a call that nothing here resumes, and a silent id gives the call free.
 */
export function startResuming(parts: HandlerParts, timing: Timing = {}): Repeated {
  const { intervalMs = HEARTBEAT_MS, silentMs = SILENT_MS } = timing;
  const { store, platform, log } = parts;
  const underNewId = (): HandlerParts => ({ ...parts, instanceId: newUuid(platform) });
  let resumer = underNewId();
  const beat = () => store.heartbeat(resumer.instanceId, store.now());
  const pass = async () => {
    await beat();
    try {
      await resumeAll(resumer, silentMs);
    } catch (error) {
      resumer = underNewId();
      throw error;
    }
  };
  const onError = (error: unknown) =>
    log.error({ err: error }, 'could not look for abandoned compositions');
  const beats = startRepeating(platform, beat, intervalMs, onError);
  const passes = startRepeating(platform, pass, intervalMs, onError);
  passes.nudge();
  return {
    nudge: passes.nudge,
    async stop() {
      await passes.stop();
      await beats.stop();
    },
  };
}

/**
 * Resumes all abandoned calls. A call that fails does not stop the others. It is given back at the
 * end, so that the next pass, in this or another process, tries it again. Otherwise its money would
 * stay reserved while this process lives.
 */
async function resumeAll(parts: HandlerParts, silentMs: number): Promise<void> {
  const { store, instanceId } = parts;
  const failed: string[] = [];
  for (;;) {
    const silentSince = new Date(store.now().getTime() - silentMs);
    const adopted = await store.adoptComposition(instanceId, silentSince);
    if (!adopted) break;
    const closed = await parts.work.track(resume(parts, adopted));
    if (!closed) failed.push(adopted.intent.operation_id);
  }
  for (const id of failed) {
    await parts.settler.insist(() => store.returnComposition(id, instanceId));
  }
}

/** Resumes one call. False when the call is still open. */
async function resume(parts: HandlerParts, adopted: AdoptedComposition): Promise<boolean> {
  const { intent } = adopted;
  const facts = { invocation_id: intent.invocation_id, capability: intent.capability };
  try {
    const call = await callOf(parts, adopted);
    const done = await goOn(parts, call, adopted);
    await close(parts, call, adopted, done);
    parts.log.warn({ ...facts, outcome: done.outcome }, 'resumed an abandoned composition');
    return true;
  } catch (error) {
    parts.log.error({ ...facts, err: error }, 'could not resume an abandoned composition');
    return false;
  }
}

interface AdoptedCall extends Call {
  readonly caller: TokenCaller;
  readonly capability: Capability | undefined;
  readonly parameters: JsonObject;
}

/** The admitted call, under the declarations of this process. */
async function callOf(
  parts: ServiceParts,
  { intent, parameters }: AdoptedComposition,
): Promise<AdoptedCall> {
  const caller = await admittedCaller(parts, intent);
  if (!caller) throw new Error(`Cannot continue: token "${intent.token_id}" is gone`);
  const { ids, parametersDigest, approvalRequestId, approvalGrantId } = readFacts(intent);
  return {
    ids,
    caller,
    capability: capabilityOf(parts.definition, intent.capability),
    parameters,
    budget: 'unsettled',
    charge: intent.charge,
    parametersDigest,
    approvalRequestId,
    approvalGrantId,
    rates: [],
  };
}

/** Ends interrupted steps, then applies the policies. */
async function goOn(
  parts: HandlerParts,
  call: AdoptedCall,
  { intent, steps }: AdoptedComposition,
): Promise<Done> {
  const { capability } = call;
  const composition = capability?.composition;
  // A newer version of the service may lack this composition. Then it is unknown what to undo.
  if (!capability || !composition) return unknownEnd();
  const whole: Whole = {
    call: { ...call, capability, charge: intent.charge },
    composition,
    operationId: intent.operation_id,
    trail: [...steps],
  };
  const interrupted = steps.filter(({ outcome }) => outcome === undefined);
  if (!interrupted.every((step) => capabilityOf(parts.definition, step.capability))) {
    return { ...unknownEnd(), steps: stepViews(whole) };
  }
  for (const step of interrupted) await endInterrupted(parts, whole, step);
  const reached = reachedBy(whole);
  if ('result' in reached || composition.failure_policy === 'compensate') {
    return composedDone(parts, whole, reached);
  }
  return { ...unknownEnd(), steps: stepViews(whole) };
}

function unknownEnd(): Done {
  const detail = 'Cannot report the outcome of the call: the process that ran it ended';
  return { outcome: 'indeterminate', failure: failure('outcome_unknown', detail), bindings: [] };
}

/** Records an interrupted step: no effect for a read, an unknown outcome for anything else. */
async function endInterrupted(parts: ServiceParts, whole: Whole, begun: StepRecord): Promise<void> {
  const capability = capabilityOf(parts.definition, begun.capability);
  if (!capability) throw new Error(`Cannot end "${begun.step_id}": no "${begun.capability}"`);
  const what = begun.role === 'step' ? 'step' : 'the compensation of step';
  const detail = `Cannot report how ${what} "${begun.step_id}" ended: the process that ran it ended`;
  const found = failure('outcome_unknown', detail);
  const readOnly = begun.role === 'step' && capability.side_effect.type === 'read';
  const step: EndedStep = {
    ...begun,
    outcome: readOnly ? 'no_effect' : 'indeterminate',
    failure_type: found.type,
  };
  const { task_id, invocation_id: parent_invocation_id } = whole.call.ids;
  const lineage = whole.composition.audit_policy.parent_task_lineage && task_id !== undefined;
  const { invocation_id } = begun;
  const ids = { invocation_id, parent_invocation_id, ...(lineage && { task_id }) };
  await recordStep(parts, whole, { step, capability, ids, failure: found }, { bindings: [] });
}

/** How far the steps came, by the trail. After a compensation the call cannot complete. */
function reachedBy(whole: Whole): Reached {
  const { trail, composition, call } = whole;
  const stopped = (id: string): Reached => {
    const detail = `Cannot complete "${call.capability.name}": the process that ran it ended before step "${id}" was done`;
    return { failure: failure('composition_child_failed', detail) };
  };
  const undone = trail.find(({ role }) => role === 'compensation');
  if (undone) return stopped(undone.step_id);
  for (const declared of composition.steps) {
    const step = trail.find(({ step_id }) => step_id === declared.id);
    if (step?.outcome !== 'completed') return stopped(declared.id);
    const empty = emptied(whole, declared, step.output ?? {});
    if (empty) return empty;
  }
  return { result: composedOutput(composition, flowOf(whole)) };
}

/** Closes the call. A call that was closed as unknown while it ran gets a later entry. */
async function close(
  parts: ServiceParts,
  call: AdoptedCall,
  adopted: AdoptedComposition,
  done: Done,
): Promise<void> {
  if (!adopted.isSettled) {
    if (await settled(parts, call, adopted, done)) return;
    // The lease was lost to another call, so only an unknown outcome may be recorded; or the call
    // was closed.
    const { steps } = done;
    if (await settled(parts, call, adopted, { ...unknownEnd(), steps })) return;
  }
  const entry = endingEntry(parts, call, { ...endingOf(adopted, done), entryType: 'settlement' });
  await parts.settler.insist(async (isRepeat) => {
    const refund = done.outcome === 'no_effect';
    const { invocation_id } = call.ids;
    const isKnown = done.outcome !== 'indeterminate';
    const reconciled = isKnown && (await parts.store.reconcile(invocation_id, refund, () => entry));
    if (!reconciled) await parts.store.append([entry], [], undefined, isRepeat);
  });
  await parts.settler.insist(() => parts.store.releaseLeases(adopted.intent.operation_id));
}

async function settled(
  parts: ServiceParts,
  call: AdoptedCall,
  adopted: AdoptedComposition,
  done: Done,
): Promise<boolean> {
  const ending = endingOf(adopted, done);
  const entry = endingEntry(parts, call, ending);
  const { parameters, caller, capability } = call;
  const { outcome, result: output } = done;
  const settlement: Settlement = {
    operation_id: adopted.intent.operation_id,
    outcome,
    actual: adopted.intent.charge && ending.cost?.amount,
    bindings: [],
    rollback:
      capability &&
      (await run(rollbackOf(parts, caller, capability, { outcome, parameters, output }))),
    answer: bytesOf(invokeAnswer(parts, call, ending, entry)),
    entry,
    now: parts.store.now(),
  };
  return (await parts.settler.insist(() => parts.store.settle(settlement))) === 'settled';
}

/** The cost of an unknown outcome is unknown, so the full amount stays charged. */
function endingOf({ intent }: AdoptedComposition, done: Done): Ending {
  const { outcome, result, failure: found, reported, steps } = done;
  const { charge } = intent;
  // Steps spent from the reserved amount, even if a newer version prices in another currency.
  const known = charge && { ...charge, amount: reported?.amount ?? charge.amount };
  return {
    state: outcome === 'no_effect' ? 'failed' : outcome,
    result,
    failure: found,
    cost: outcome === 'indeterminate' ? charge : outcome === 'no_effect' ? undefined : known,
    detail: steps && { steps },
  };
}
