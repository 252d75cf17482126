/**
 * The trail of a composed call: what each step did, kept before the next one begins.
 *
 * A step is claimed in the store before it runs and recorded, with its entry, before anything follows
 * from it. So whoever has to go on after a crash knows what ran, and nothing runs twice. A call that
 * only reads has nothing to go on with: its steps leave their entries and no trail.
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
  KeptWithStep,
  StepRecord,
} from '../../storage/port/composition-store.ts';
import { type CheckedCall, type Ending, endingEntry, moneyOf } from '../core/call.ts';
import type { ServiceParts } from '../core/parts.ts';
import { newInvocationId } from '../core/random.ts';
import type { StepView } from '../invoke/handler.ts';

/** What of a composed call its steps need to know. */
type WholeCall = Pick<
  CheckedCall,
  'ids' | 'caller' | 'capability' | 'parameters' | 'charge' | 'grant'
>;

/** One composed call under way. */
export interface Whole {
  readonly call: WholeCall;
  readonly composition: Composition;
  /** Absent where the call was not admitted, because it only reads. */
  readonly operationId?: string | undefined;
  /** What has begun so far, and how it ended, in that order. */
  readonly trail: StepRecord[];
}

/** Another process has taken the call over: nothing more may be done about it here. */
export class CallLost extends Error {
  override readonly name: string = 'CallLost';
}

/** So has a step that may not begin; or the call was closed meanwhile, at its deadline. */
export class StepRefused extends CallLost {
  override readonly name = 'StepRefused';
}

/** The ids of one more step of the call. */
export function stepIds({ platform }: ServiceParts, { call, composition }: Whole): InvocationIds {
  const { task_id, invocation_id } = call.ids;
  const lineage = composition.audit_policy.parent_task_lineage && task_id !== undefined;
  return {
    invocation_id: newInvocationId(platform),
    parent_invocation_id: invocation_id,
    ...(lineage && { task_id }),
  };
}

/** Must be awaited before the step runs. */
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
  /** What the entry says besides. */
  readonly detail?: JsonObject | undefined;
}

/** Must be awaited before anything follows from what the step did. */
export async function recordStep(
  parts: ServiceParts,
  whole: Whole,
  ending: StepEnding,
  kept: Omit<KeptWithStep, 'entry'>,
): Promise<void> {
  const { step } = ending;
  const place = whole.trail.findIndex(({ invocation_id }) => invocation_id === step.invocation_id);
  if (place >= 0) whole.trail[place] = step;
  else whole.trail.push(step);
  const entry = hasEntry(whole, step, kept) ? stepEntry(parts, whole, ending) : undefined;
  if (whole.operationId === undefined || ending.isRefused) {
    const entries = entry ? [entry] : [];
    const append = () => parts.store.append(entries, kept.bindings, kept.overrun);
    await (whole.operationId === undefined ? append() : parts.settler.insist(append));
    return;
  }
  const end = () => parts.store.endStep(step, parts.instanceId, { ...kept, entry });
  if (await parts.settler.insist(end)) return;
  // Whoever took the call over has told that nobody knows how this step ended. Now somebody does.
  const late = stepEntry(parts, whole, ending, 'settlement');
  await parts.settler.insist(() => parts.store.append([late], [], kept.overrun));
  throw new CallLost(`Cannot record step "${step.step_id}": the call was taken over`);
}

/** Minor units that the steps have taken so far. */
export function drawnBy({ trail }: Whole): bigint {
  return trail.reduce((sum, { drawn }) => sum + (drawn ?? 0n), 0n);
}

/** The trail as an entry tells it. */
export function listed({ trail, call }: Whole): StepView[] {
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

/** A compensation always has an entry of its own, and so has what cost more than was left for it. */
function hasEntry(
  { composition }: Whole,
  { role }: BegunStep,
  { overrun }: Pick<KeptWithStep, 'overrun'>,
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

/** The money is the whole's, and told once, in its entry; here stands what the step took of it. */
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
