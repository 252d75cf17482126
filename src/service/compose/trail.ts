/**
 * The trail of a composed call: the store has what each step did before the next one begins.
 *
 * A step is claimed in the store before it runs. It is recorded, with its entry, before anything
 * follows from it. So after a crash another process knows what ran, and no step runs twice. A call
 * that only reads needs no recovery: its steps leave entries and no trail.
 *
 * @module
 */

import type { EntryRecord } from '../../domain/log/entry.ts';
import { digestOf } from '../../domain/wire/canonical.ts';
import type { EntryType } from '../../protocol/audit.ts';
import type { Capability } from '../../protocol/capability.ts';
import type { Composition } from '../../protocol/composition.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { InvocationIds } from '../../protocol/invocation.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import type {
  BegunStep,
  EndedStep,
  StepEffects,
  StepRecord,
} from '../../storage/port/composition-store.ts';
import { type CheckedCall, type Ending, endingEntry, moneyOf } from '../call/call.ts';
import type { StepView } from '../invoke/handler.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { newInvocationId } from '../operations/random.ts';

/** The part of a composed call that its steps use. */
type WholeCall = Pick<
  CheckedCall,
  'ids' | 'caller' | 'capability' | 'parameters' | 'charge' | 'grant' | 'within'
>;

/** A composed call in progress. */
export interface Whole {
  readonly call: WholeCall;
  readonly composition: Composition;
  /** Absent when the call was not admitted, because it only reads. */
  readonly operationId?: string | undefined;
  /** The steps so far, in order, with their outcomes. */
  readonly trail: StepRecord[];
}

/** Another process took the call over, so this process must stop working on it. */
export class CallLost extends Error {
  override readonly name: string = 'CallLost';
}

/** The store refused to begin a step: the call was taken over, or closed at its deadline. */
export class StepRefused extends CallLost {
  override readonly name = 'StepRefused';
}

/** The ids of a new step. */
export function stepIds({ platform }: ServiceParts, { call, composition }: Whole): InvocationIds {
  const { task_id, invocation_id } = call.ids;
  const lineage = composition.audit_policy.parent_task_lineage && task_id !== undefined;
  return {
    invocation_id: newInvocationId(platform),
    parent_invocation_id: invocation_id,
    ...(lineage && { task_id }),
  };
}

/** Claims a step. Must be awaited before the step runs. */
export async function claimStep(parts: ServiceParts, whole: Whole, step: BegunStep): Promise<void> {
  if (whole.operationId !== undefined) {
    const claimed = await parts.settler.insist(() => parts.store.beginStep(step, parts.instanceId));
    if (!claimed) throw new StepRefused(`Cannot begin step "${step.step_id}": the call is closed`);
  }
  whole.trail.push(step);
}

export interface StepEnding {
  readonly step: EndedStep;
  readonly capability: Capability;
  readonly ids: InvocationIds;
  readonly failure?: Failure | undefined;
  readonly isRefused?: boolean | undefined;
  /** More facts for the entry. */
  readonly detail?: JsonObject | undefined;
}

/** Records the end of a step. Must be awaited before anything follows from it. */
export async function recordStep(
  parts: ServiceParts,
  whole: Whole,
  ending: StepEnding,
  results: Omit<StepEffects, 'entry'>,
): Promise<void> {
  const { step } = ending;
  const index = whole.trail.findIndex(({ invocation_id }) => invocation_id === step.invocation_id);
  if (index >= 0) whole.trail[index] = step;
  else whole.trail.push(step);
  const entry = hasEntry(whole, step, results) ? stepEntry(parts, whole, ending) : undefined;
  if (whole.operationId === undefined || ending.isRefused) {
    const entries = entry ? [entry] : [];
    const append = (isRepeat = false) =>
      parts.store.append(entries, results.bindings, results.overrun, isRepeat);
    await (whole.operationId === undefined ? append() : parts.settler.insist(append));
    return;
  }
  const end = () => parts.store.endStep(step, parts.instanceId, { ...results, entry });
  if (await parts.settler.insist(end)) return;
  // The process that took the call over recorded an unknown outcome. This entry adds the real one.
  const late = stepEntry(parts, whole, ending, 'settlement');
  await parts.settler.insist((isRepeat) =>
    parts.store.append([late], [], results.overrun, isRepeat),
  );
  throw new CallLost(`Cannot record step "${step.step_id}": the call was taken over`);
}

/** The amount that the steps have cost so far, in minor units. */
export function drawnBy({ trail }: Whole): bigint {
  return trail.reduce((sum, { drawn }) => sum + (drawn ?? 0n), 0n);
}

/** The trail as an entry shows it. */
export function stepViews({ trail, call }: Whole): StepView[] {
  const currency = call.capability.cost?.financial?.currency;
  return trail.map(({ drawn, ...step }) => ({
    step: step.step_id,
    ...(step.role === 'compensation' && { role: step.role }),
    capability: step.capability,
    invocation_id: step.invocation_id,
    outcome: step.outcome ?? 'indeterminate',
    ...(step.failure_type && { failure_type: step.failure_type }),
    ...(drawn && currency && { drawn: moneyOf({ currency, amount: drawn }) }),
  }));
}

/** A compensation and an overrun always have their own entry. */
function hasEntry(
  { composition }: Whole,
  { role }: BegunStep,
  { overrun }: Pick<StepEffects, 'overrun'>,
): boolean {
  const isRecorded = composition.audit_policy.record_child_invocations;
  return isRecorded || role === 'compensation' || overrun !== undefined;
}

function stepEntry(
  parts: ServiceParts,
  whole: Whole,
  { step, capability, ids, failure, isRefused, detail }: StepEnding,
  entryType?: EntryType,
): EntryRecord {
  const ran = step.outcome === 'no_effect' ? 'failed' : step.outcome;
  const state = isRefused ? 'refused' : ran;
  const kind = step.role === 'compensation' ? 'compensation' : 'invocation';
  const ending: Ending = {
    entryType: entryType ?? kind,
    state,
    result: step.output,
    failure,
    detail: { ...stepDetail(whole, step), ...detail },
  };
  const { parameters } = step;
  const { caller } = whole.call;
  const parametersDigest = digestOf(parameters);
  const call = { ids, caller, capability, parameters, parametersDigest, rates: [] };
  return endingEntry(parts, call, ending);
}

/** The entry of the whole call has the cost. Here is the share of the step. */
function stepDetail({ call, trail }: Whole, step: EndedStep): JsonObject {
  const currency = call.capability.cost?.financial?.currency;
  const undone = trail.find(({ role, step_id }) => role === 'step' && step_id === step.step_id);
  return {
    step: step.step_id,
    ...(step.role === 'compensation' && undone && { compensates: undone.invocation_id }),
    ...(step.drawn !== undefined &&
      currency && { drawn: moneyOf({ currency, amount: step.drawn }) }),
  };
}
