/**
 * Composition: runs the steps of a composed call in place of a handler.
 *
 * The call is checked, admitted and charged as one before this file runs. Here the steps run in
 * order (`step.ts`) until one does not complete or finds nothing. The declared policies then decide
 * how the call ends; `compensate.ts` undoes completed steps where the policy requires it.
 * `trail.ts` records each step in the store. When the process dies, `resume.ts` finishes the call
 * from that record. A call whose outcome is known costs what its steps cost.
 *
 * @module
 */

import {
  composedOutput,
  emptyEnding,
  isEmptyResult,
} from '../../domain/composition/composition.ts';
import { composedFailure } from '../../domain/composition/composition-failure.ts';
import { failure } from '../../domain/failure.ts';
import type { Charge } from '../../domain/invocation/budget.ts';
import type { CompositionStep } from '../../protocol/composition.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { run } from '../../steps.ts';
import type { CheckedCall } from '../call/call.ts';
import { type ComposedWork, completed, type Done } from '../invoke/handler.ts';
import type { HandlerParts } from '../invoke/inner.ts';
import { isStoreFailure } from '../invoke/settle.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { compensate } from './compensate.ts';
import { flowOf, runStep } from './step.ts';
import { CallLost, drawnBy, StepRefused, stepViews, type Whole } from './trail.ts';

export async function runComposition(
  parts: HandlerParts,
  call: CheckedCall,
  work: ComposedWork,
): Promise<Done> {
  const { composition } = call.capability;
  if (!composition) throw new Error(`Cannot compose "${call.capability.name}": it is atomic`);
  const whole: Whole = { call, composition, operationId: work.operationId, trail: [] };
  try {
    return await composedDone(parts, whole, await runSteps(parts, whole, work));
  } catch (error) {
    // A call that was not admitted had no effect, so a store failure is reported as for any other
    // call.
    if (whole.operationId === undefined && isStoreFailure(error)) throw error;
    return brokenOff(parts, whole, error);
  }
}

/** How far a composed call came: its result, or the failure that stopped it. */
export type Reached =
  | { readonly result: JsonObject }
  | {
      readonly failure: Failure;
      /** The step that did not complete. */
      readonly step?: string | undefined;
      readonly needsApproval?: boolean | undefined;
    };

/** Applies the policies and makes the outcome of the call. */
export async function composedDone(
  parts: HandlerParts,
  whole: Whole,
  reached: Reached,
): Promise<Done> {
  const { composition, call } = whole;
  const steps = composition.audit_policy.record_child_invocations ? undefined : stepViews(whole);
  if ('result' in reached) {
    const notes = { reported: reportedBy(whole), bindings: [] };
    const done = await run(completed(parts, call.capability.name, reached.result, notes));
    return { ...done, steps };
  }
  if (composition.failure_policy === 'compensate') await compensate(parts, whole);
  const { failure: found, outcome } = composedFailure(call.capability, whole.trail, {
    ...reached,
    effects: (name) => parts.definition.catalog.capabilities.get(name)?.side_effect.type,
  });
  return {
    // A call that stops for approval is not charged: its reads run again with the grant.
    outcome: reached.needsApproval ? 'no_effect' : outcome,
    failure: found,
    reported: reportedBy(whole),
    bindings: [],
    needsApproval: reached.needsApproval,
    steps: stepViews(whole),
  };
}

async function runSteps(
  parts: HandlerParts,
  whole: Whole,
  { deadline, progress }: ComposedWork,
): Promise<Reached> {
  const { steps } = whole.composition;
  for (const [index, declared] of steps.entries()) {
    if (deadline.hasPassed) return outOfTime(whole, declared);
    const ran = await runStep(parts, whole, declared, deadline).catch((error) => {
      // No step begins after the deadline: the call may be closed in the store by then.
      if (error instanceof StepRefused && deadline.hasPassed) return undefined;
      throw error;
    });
    if (!ran) return outOfTime(whole, declared);
    const { step, failure: found, needsApproval } = ran;
    const { capability, outcome } = step;
    await progress({
      step: declared.id,
      capability,
      outcome,
      index: index + 1,
      of: steps.length,
    }).catch(() => undefined);
    if (found) return { failure: found, step: declared.id, needsApproval };
    const empty = emptied(whole, declared, step.output ?? {});
    if (empty) return empty;
  }
  return { result: composedOutput(whole.composition, flowOf(whole)) };
}

/** The early end of a call in which a step found nothing. */
export function emptied(
  { call }: Whole,
  declared: CompositionStep,
  output: JsonObject,
): Reached | undefined {
  return isEmptyResult(declared, output) ? emptyEnding(call.capability, declared) : undefined;
}

function outOfTime({ call }: Whole, { id }: CompositionStep): Reached {
  const detail = `Cannot complete "${call.capability.name}": its deadline passed before step "${id}"`;
  return { failure: failure('composition_child_failed', detail) };
}

function reportedBy(whole: Whole): Charge | undefined {
  const currency = whole.call.capability.cost?.financial?.currency;
  return currency === undefined ? undefined : { currency, amount: drawnBy(whole) };
}

/**
 * The store is unavailable and the service stops, or another process took the call over, or this is
 * a defect.
 */
function brokenOff({ log }: ServiceParts, whole: Whole, error: unknown): Done {
  const isAbandoned = error instanceof CallLost || isStoreFailure(error);
  const { invocation_id } = whole.call.ids;
  const left = 'left a composed call for another process to adopt';
  log.error(
    { err: error, invocation_id },
    isAbandoned ? left : 'a composed call failed unexpectedly',
  );
  const detail = 'Cannot report the outcome of the call: its steps could not be finished';
  return {
    outcome: 'indeterminate',
    failure: failure('outcome_unknown', detail),
    bindings: [],
    steps: stepViews(whole),
    isAbandoned,
  };
}
