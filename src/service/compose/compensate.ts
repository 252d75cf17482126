/**
 * Compensation: undoes the completed transactional steps of a composed call, the last one first.
 *
 * A compensation uses the authority of the original admission, even after a revocation. It is
 * claimed before it runs, so each runs once. A failed compensation does not stop the others. An
 * interrupted one is not run again, because its effect is unknown. Entries record both.
 *
 * @module
 */

import { compensationParameters, dueCompensations } from '../../domain/composition/compensation.ts';
import type { Capability } from '../../protocol/capability.ts';
import { run } from '../../steps.ts';
import type { BegunStep, EndedStep, StepRecord } from '../../storage/port/composition-store.ts';
import { capabilityOf } from '../author/definition.ts';
import type { Work } from '../invoke/context.ts';
import { type Done, runHandler, withinDeadline } from '../invoke/handler.ts';
import type { HandlerParts } from '../invoke/inner.ts';
import { resolvedParameters } from '../invoke/inputs.ts';
import { costAndOverrun, lateSettlement } from '../invoke/late-outcome.ts';
import { failureOf } from '../operations/operations.ts';
import { claimStep, recordStep, stepIds, type Whole } from './trail.ts';

/** Runs every compensation that is due and not yet claimed. */
export async function compensate(parts: HandlerParts, whole: Whole): Promise<void> {
  const { capabilities } = parts.definition.catalog;
  const due = dueCompensations(
    whole.trail,
    (name) => capabilities.get(name)?.side_effect.compensation,
  );
  for (const { undone, compensation } of due)
    await compensateStep(parts, whole, undone, compensation);
}

async function compensateStep(
  parts: HandlerParts,
  whole: Whole,
  undone: StepRecord,
  name: string,
): Promise<void> {
  const capability = capabilityOf(parts.definition, name);
  if (!capability) throw new Error(`Cannot compensate "${undone.step_id}": there is no "${name}"`);
  const ids = stepIds(parts, whole);
  const { parameters, output = {} } = undone;
  const begun: BegunStep = {
    operation_id: undone.operation_id,
    role: 'compensation',
    step_id: undone.step_id,
    invocation_id: ids.invocation_id,
    capability: name,
    parameters: compensationParameters(capability, { parameters, output }),
  };
  await claimStep(parts, whole, begun);
  const { caller } = whole.call;
  const done = await performed(parts, whole, capability, { ...begun, ids });
  const step: EndedStep = {
    ...begun,
    outcome: done.outcome,
    output: done.result,
    failure_type: done.failure?.type,
  };
  const { failure, bindings } = done;
  // Nothing is reserved for a compensation, so any cost it reports is an overrun.
  const { detail, overrun } = costAndOverrun(parts, { ids, caller }, done, { capability });
  const ending = { step, capability, ids, failure, detail };
  await recordStep(parts, whole, ending, { bindings, overrun });
  lateSettlement(parts, { ids, caller, capability, rates: [] }, done);
}

/** Runs the handler. An error before it becomes the outcome. */
async function performed(
  parts: HandlerParts,
  { call: { caller, within }, operationId }: Whole,
  capability: Capability,
  { ids, parameters: sent }: Pick<BegunStep, 'parameters'> & { ids: ReturnType<typeof stepIds> },
): Promise<Done> {
  const { handler, deadlineMs } = parts.definition.code.get(capability.name) ?? {};
  if (!handler || !deadlineMs) throw new Error(`Cannot run "${capability.name}": no handler`);
  try {
    const parameters = await run(resolvedParameters(parts, { caller, capability, sent }));
    const work: Work = {
      handler,
      capability: capability.name,
      operationId,
      parameters,
      bound: new Map(),
      approval: 'undeclared',
      failureTypes: capability.failure_types,
      progress: async () => undefined,
    };
    const running = withinDeadline(parts.platform, deadlineMs, (each) =>
      runHandler(parts, { ids, caller, within }, work, each),
    );
    return await run(running);
  } catch (error) {
    const failure = failureOf('invoke', error, parts.log);
    return { outcome: 'no_effect', failure, bindings: [] };
  }
}
