/**
 * Composed calls in the simulated store: their steps, and which process continues them.
 *
 * @module
 */

import type {
  AdoptedComposition,
  BegunStep,
  CompositionStore,
  EndedStep,
} from '../../../src/storage/port/composition-store.ts';
import type { RollbackKey } from '../../../src/storage/port/records.ts';
import { isSilent } from './calls.ts';
import { copyOf } from './copy.ts';
import type { CallRow, MemoryDatabase, StepRow } from './database.ts';
import { addOverrun, insertBinding, keepWindow, olderFirst } from './settlement.ts';
import { keyText } from './table.ts';

export function beginStep(
  database: MemoryDatabase,
  ...[step, instanceId]: Parameters<CompositionStore['beginStep']>
): boolean {
  const call = ownedCall(database, step.operation_id, instanceId);
  if (!call || (call.closed && step.role === 'step')) return false;
  const held = stepIn(call, step);
  if (held) {
    return held.step.invocation_id === step.invocation_id && held.step.outcome === undefined;
  }
  const begun: StepRow = { step: copyOf(step) };
  database.calls.put(step.operation_id, { ...call, steps: [...call.steps, begun] });
  return true;
}

export function endStep(
  database: MemoryDatabase,
  ...[step, instanceId, kept]: Parameters<CompositionStore['endStep']>
): boolean {
  const { operation_id } = step;
  const entry_id = kept.entry?.entry_id;
  const call = database.calls.get(operation_id);
  const held = call && stepIn(call, step);
  if (!held || held.step.invocation_id !== step.invocation_id) return false;
  // The repetition comes before the question who owns the call: its first attempt was the owner's.
  if (held.step.outcome !== undefined) {
    return held.step.outcome === step.outcome && held.entry_id === entry_id;
  }
  if (call !== ownedCall(database, operation_id, instanceId)) return false;

  const ended: StepRow = { step: copyOf(step), entry_id };
  const steps = call.steps.map((each) => (each === held ? ended : each));
  database.calls.put(operation_id, { ...call, steps });
  for (const binding of kept.bindings) insertBinding(database, binding);
  if (kept.rollback) keepWindow(database, kept.rollback);
  if (kept.entry) database.log.append(kept.entry);
  if (kept.overrun) addOverrun(database, kept.overrun);
  return true;
}

export function adoptComposition(
  database: MemoryDatabase,
  ...[instanceId, silentSince]: Parameters<CompositionStore['adoptComposition']>
): AdoptedComposition | undefined {
  const [call] = Array.from(database.calls.values())
    .filter(({ composed }) => composed !== undefined)
    .filter(({ intent }) => intent.instance_id !== instanceId)
    .filter(({ intent }) => isSilent(database, intent.instance_id, silentSince))
    .sort(olderFirst);
  if (!call?.composed) return undefined;

  const intent = { ...call.intent, instance_id: instanceId };
  database.calls.put(intent.operation_id, { ...call, intent });
  return {
    intent: copyOf(intent),
    isSettled: call.closed !== undefined,
    parameters: copyOf(call.composed),
    steps: call.steps.map(({ step }) => copyOf(step)),
  };
}

/** No process has this name, so every process may adopt the call. */
const NO_INSTANCE = '';

export function returnComposition(
  database: MemoryDatabase,
  ...[operationId, instanceId]: Parameters<CompositionStore['returnComposition']>
): void {
  const call = ownedCall(database, operationId, instanceId);
  if (!call) return;
  const intent = { ...call.intent, instance_id: NO_INSTANCE };
  database.calls.put(operationId, { ...call, intent });
}

export function rollbackUntil({ rollbacks }: MemoryDatabase, key: RollbackKey): Date | undefined {
  return copyOf(rollbacks.get(keyText(key.capability, key.root_principal, key.digest)));
}

/** An unfinished composed call of this process. */
function ownedCall(
  { calls }: MemoryDatabase,
  operationId: string,
  instanceId: string,
): CallRow | undefined {
  const call = calls.get(operationId);
  return call?.composed && call.intent.instance_id === instanceId ? call : undefined;
}

function stepIn({ steps }: CallRow, { role, step_id }: BegunStep | EndedStep): StepRow | undefined {
  return steps.find(({ step }) => step.role === role && step.step_id === step_id);
}
