/**
 * One step of a composed call: prepared like a call of its own, run by its own handler, and
 * recorded.
 *
 * A step has its own inputs, bindings and price. It has no authority of its own: the checks of the
 * whole call covered all steps, and the cost of a step is taken from the amount reserved for the
 * whole.
 *
 * @module
 */

import { capabilityFreezes } from '../../domain/authority/freeze.ts';
import { checkDraw, stepParameters } from '../../domain/composition/composition.ts';
import { failure, Refusal, refuse } from '../../domain/failure.ts';
import { ruleRefusal } from '../../domain/invocation/approval.ts';
import {
  type BindingFacts,
  boundPrice,
  handlesOf,
  isFreshAtRun,
} from '../../domain/invocation/bindings.ts';
import type { Charge } from '../../domain/invocation/budget.ts';
import { costOutside, outsideConditions } from '../../domain/invocation/conditions.ts';
import type { Capability } from '../../protocol/capability.ts';
import type { CompositionStep } from '../../protocol/composition.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { run, type Steps, wait } from '../../steps.ts';
import type { BegunStep, EndedStep } from '../../storage/port/composition-store.ts';
import { capabilityOf } from '../author/definition.ts';
import { frozenFailure } from '../authority/freeze.ts';
import { isApprovalNeeded } from '../invoke/approve-call.ts';
import { quotedPrice } from '../invoke/author-schema.ts';
import type { Work } from '../invoke/context.ts';
import { type Done, runHandler } from '../invoke/handler.ts';
import type { HandlerParts } from '../invoke/inner.ts';
import {
  boundBindings,
  type Inputs,
  isQuoted,
  NOTHING_BOUND,
  refuseClosedRollback,
  resolvedParameters,
  rollbackOf,
} from '../invoke/inputs.ts';
import { costAndOverrun } from '../invoke/late-outcome.ts';
import { failureOf } from '../operations/operations.ts';
import type { ServiceParts } from '../operations/parts.ts';
import type { Deadline } from '../pace/deadline.ts';
import { claimStep, drawnBy, recordStep, stepIds, type Whole } from './trail.ts';

export interface StepDone {
  readonly step: EndedStep;
  readonly failure?: Failure | undefined;
  readonly needsApproval?: boolean | undefined;
}

export async function runStep(
  parts: HandlerParts,
  whole: Whole,
  declared: CompositionStep,
  deadline: Deadline,
): Promise<StepDone> {
  const capability = capabilityOf(parts.definition, declared.capability) as Capability;
  const ids = stepIds(parts, whole);
  const begun: BegunStep = {
    operation_id: whole.operationId ?? '',
    role: 'step',
    step_id: declared.id,
    invocation_id: ids.invocation_id,
    capability: capability.name,
    parameters: stepParameters(whole.composition, declared, flowOf(whole)),
  };
  let ready: Prepared;
  try {
    ready = await run(prepare(parts, whole, capability, begun.parameters));
  } catch (error) {
    const needsApproval = error instanceof ApprovalMissing;
    const found = needsApproval ? approvalMissing(declared) : failureOf('invoke', error, parts.log);
    const step: EndedStep = { ...begun, outcome: 'no_effect', failure_type: found.type };
    const ending = { step, capability, ids, failure: found, isRefused: true };
    await recordStep(parts, whole, ending, { bindings: [] });
    return { step, failure: found, needsApproval };
  }
  const claimed = { ...begun, parameters: ready.parameters };
  await claimStep(parts, whole, claimed);
  const { caller } = whole.call;
  const call = { ids, caller, within: whole.call.within };
  const work = workOf(parts, whole, capability, ready);
  const done = await run(runHandler(parts, call, work, { deadline }));
  // A step that reports more than was left is charged what was left.
  const settled = costAndOverrun(parts, call, done, { capability, checked: ready.charge });
  const step = endedStep(claimed, done, settled.cost);
  const rollback = await run(rollbackOf(parts, caller, capability, step));
  await recordStep(
    parts,
    whole,
    { step, capability, ids, failure: done.failure, detail: settled.detail },
    { bindings: done.bindings, rollback, overrun: settled.overrun },
  );
  return { step, failure: done.failure, needsApproval: done.needsApproval };
}

/** The data that paths of later steps and of the result read. */
export function flowOf({ call, trail }: Whole) {
  const outputs = trail.flatMap(({ role, step_id, output }): [string, JsonObject][] =>
    role === 'step' && output ? [[step_id, output]] : [],
  );
  return { input: call.parameters, outputs: new Map(outputs) };
}

/** A step needs an approval that the whole call does not have. */
class ApprovalMissing extends Error {
  override readonly name = 'ApprovalMissing';
}

function approvalMissing({ id }: CompositionStep): Failure {
  return failure('approval_required', `Cannot run step "${id}": a person must approve it first`);
}

interface Prepared {
  readonly parameters: JsonObject;
  readonly bound: ReadonlyMap<string, BindingFacts>;
  readonly charge?: Charge | undefined;
}

/** The rules of a call, except those that the whole call has passed: see `prepareCall` in `invoke/invoke.ts`. */
function* prepare(
  parts: ServiceParts,
  whole: Whole,
  capability: Capability,
  sent: JsonObject,
): Steps<Prepared> {
  const { caller, grant, capability: composed } = whole.call;
  const freezes = capabilityFreezes([capability.name], caller.root_principal);
  const [frozen] = yield* wait(parts.store.freezesUnder(freezes));
  if (frozen) throw new Refusal(frozenFailure(frozen));
  const inputs = yield* withBindings(parts, { caller, capability, sent });
  const bound = capability.requires_binding?.length
    ? yield* boundBindings(parts, inputs, isFreshAtRun(composed, capability) ? undefined : grant)
    : NOTHING_BOUND;
  const isLater = isQuoted(parts, capability);
  let charge = isLater ? undefined : drawable(whole, capability, boundPrice(bound));
  const parameters = yield* resolvedParameters(parts, inputs);
  refuse(ruleRefusal(capability, parameters, undefined));
  const isCaller = composed.composition?.step_authority === 'caller';
  if (isCaller) refuse(outsideConditions(caller.token, capability, sent, parameters));
  if (isLater) {
    const price = yield* quotedPrice(parts, caller, capability, { parameters, bound });
    charge = drawable(whole, capability, price);
  }
  refuse(ruleRefusal(capability, parameters, charge ?? null));
  if (isCaller) refuse(costOutside(caller.token, capability, charge));
  const ties = parts.definition.rollbacks.get(capability.name);
  if (ties) yield* refuseClosedRollback(parts, inputs, parameters, ties);
  const needed = isApprovalNeeded(parts, { capability, parameters, charge });
  if (needed && !grant) throw new ApprovalMissing();
  return { parameters, bound, charge };
}

/** The amount that the step takes from what was reserved for the whole, or a refusal. */
function drawable(
  whole: Whole,
  capability: Capability,
  price: Charge | undefined,
): Charge | undefined {
  const { caller, charge: reserved } = whole.call;
  const isBudgeted = caller.token.budget !== undefined;
  const draw = checkDraw(capability, { reserved, drawn: drawnBy(whole), isBudgeted }, price);
  refuse(draw.failure);
  return draw.price;
}

/** Loads bindings now, because an earlier step may have issued them. */
function* withBindings({ store }: ServiceParts, inputs: Inputs): Steps<Inputs> {
  const { caller, capability, sent } = inputs;
  if (!capability.requires_binding?.length) return inputs;
  const { token_id: tokenId } = caller.token;
  const bindingIds = handlesOf(capability, sent);
  const { bindings } = yield* wait(store.load({ tokenId, bindingIds }));
  return { ...inputs, caller: { ...caller, loaded: { ...caller.loaded, bindings } } };
}

function workOf(
  parts: ServiceParts,
  { call, operationId }: Whole,
  capability: Capability,
  { parameters, bound }: Prepared,
): Work {
  const handler = parts.definition.code.get(capability.name)?.handler;
  if (!handler) throw new Error(`Cannot run "${capability.name}": it has no handler`);
  const unapproved = capability.approval ? 'open' : 'undeclared';
  return {
    handler,
    capability: capability.name,
    operationId,
    parameters,
    bound,
    approval: call.grant ? 'granted' : unapproved,
    failureTypes: capability.failure_types,
    // Progress events of a step are not sent to the caller of the whole.
    progress: async () => undefined,
  };
}

function endedStep(begun: BegunStep, done: Done, cost: Charge | undefined): EndedStep {
  return {
    ...begun,
    outcome: done.outcome,
    output: done.result,
    failure_type: done.failure?.type,
    ...(cost && { drawn: cost.amount }),
  };
}
