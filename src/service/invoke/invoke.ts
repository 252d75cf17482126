/**
 * Invocation: the order in which one call is checked, admitted, run and recorded.
 *
 * `check` is the list of the specification, one rule a line. Nothing but a rate limit has an effect before the last
 * rule has passed and the store has admitted the call. Every call of a known caller leaves exactly
 * one entry, and the answer is sent only after that entry is durable.
 *
 * ARCHITECTURE.md lists the files of a call in the order in which they run. `dry-run.ts` answers `test` with the same checks.
 *
 * @module
 */

import { authorityRefusal, controlRefusal } from '../../domain/authority/authorization.ts';
import { capabilityFreezes } from '../../domain/authority/freeze.ts';
import { stepCapabilities } from '../../domain/composition/composition.ts';
import { failure, Refusal, refuse } from '../../domain/failure.ts';
import { ruleRefusal } from '../../domain/invocation/approval.ts';
import { boundPrice, handlesOf } from '../../domain/invocation/bindings.ts';
import { type Charge, checkBudget } from '../../domain/invocation/budget.ts';
import { costOutside, outsideConditions } from '../../domain/invocation/conditions.ts';
import { type RateState, rateHeaders } from '../../domain/invocation/rate.ts';
import { otherResponseMode } from '../../domain/invocation/response-mode.ts';
import { amended } from '../../domain/values/amended.ts';
import { digestOf } from '../../domain/wire/canonical.ts';
import type { Capability } from '../../protocol/capability.ts';
import type { InvokeAnswer, InvokeRequest } from '../../protocol/invocation.ts';
import { type Steps, wait } from '../../steps.ts';
import type { Loaded, LoadRequest } from '../../storage/port/invocation-store.ts';
import type { FreezeRecord } from '../../storage/port/records.ts';
import { OutcomeUnknown } from '../../storage/port/store.ts';
import { requestApproval } from '../approval/request.ts';
import { capabilityOf } from '../author/definition.ts';
import { absenceOf } from '../author/off.ts';
import {
  budgetsOf,
  type Call,
  type CallerCall,
  type CheckedCall,
  type Enclosing,
  echo,
  watchCall,
} from '../call/call.ts';
import { presentedToken, type TokenCaller, tokenCaller } from '../caller/caller.ts';
import { type Answer, type Ask, failureOf, requestOf } from '../operations/operations.ts';
import type { PresentedToken, ServiceParts } from '../operations/parts.ts';
import { traced, withinSpan } from '../operations/tracing.ts';
import { refuseWithheld } from '../operations/withheld.ts';
import { admitAndRun } from './admission.ts';
import {
  type Continuing,
  callApproval,
  continued,
  continues,
  livingGrant,
  pinnedPrice,
} from './approve-call.ts';
import { quotedPrice } from './author-schema.ts';
import type { InvokeParts } from './handler.ts';
import type { InnerRequest } from './inner.ts';
import {
  boundBindings,
  isQuoted,
  NOTHING_BOUND,
  refuseClosedRollback,
  resolvedParameters,
} from './inputs.ts';
import { signedAnswer } from './receipt.ts';
import { findKeyRecord, replayOf } from './replay.ts';
import { refusedCall, unrecordedCall } from './settle.ts';

export function* invoke(parts: InvokeParts, ask: Ask): Steps<Answer> {
  const watch = watchCall(parts, ask);
  const answer = yield* withinSpan(watch.span, answerTo(parts, ask, watch.call));
  const { call } = watch;
  const whole = withRates(answer, call.rates);
  const { stream } = whole;
  if (!stream) {
    watch.end(answer.body as InvokeAnswer);
    return call.wantsSignedReceipt ? yield* wait(signedAnswer(parts, call, whole)) : whole;
  }
  const streamed: Answer['stream'] = async (sink) => {
    const last = await watch.span.within(() => stream(sink));
    watch.end(last);
    return last;
  };
  return { ...whole, stream: streamed };
}

/** A call that a handler makes: every check, under the token of the call whose handler it is. */
export function* invokeWithin(
  parts: InvokeParts,
  request: InnerRequest,
  within: Enclosing,
): Steps<InvokeAnswer> {
  const ask: Ask = { bearer: () => undefined, input: () => request };
  const watch = watchCall(parts, ask, within);
  const answer = yield* withinSpan(watch.span, answerTo(parts, ask, watch.call));
  watch.end(answer.body as InvokeAnswer);
  return answer.body as InvokeAnswer;
}

function withRates(answer: Answer, rates: readonly RateState[]): Answer {
  if (rates.length === 0) return answer;
  return amended(answer, { headers: { ...answer.headers, ...rateHeaders(rates) } });
}

function* answerTo(parts: InvokeParts, ask: Ask, call: Call): Steps<Answer> {
  try {
    const reading = readInput('invoke', ask);
    echo(call, reading.input);
    const presented = call.within?.presented ?? presentedToken(parts, ask);
    const checking = check(parts, presented, call, reading);
    const checked = yield* traced(parts.tracer, 'check', checking);
    if ('replay' in checked) return checked.replay;
    if ('asks' in checked) return yield* wait(askApproval(parts, checked.asks));
    return yield* admitAndRun(parts, checked);
  } catch (error) {
    const found = failureOf('invoke', error, parts.log);
    // A refused call has not run, so its entry shows none of its parameters.
    call.parameters = undefined;
    // The entry may already be stored, so a second one is not written.
    if (error instanceof OutcomeUnknown) return unrecordedCall(parts, call, found);
    return yield* wait(refusedCall(parts, call, found));
  }
}

export interface Reading {
  readonly ask: Ask;
  readonly input?: unknown;
  readonly request?: InvokeRequest;
  readonly fault?: Refusal;
}

/**
 * Reads the request before the caller is known, because the answer echoes its ids. Its faults are
 * reported only to a known caller.
 */
export function readInput(name: 'invoke' | 'test', ask: Ask): Reading {
  let input: unknown;
  try {
    input = ask.input();
    const read = requestOf(name, { input: () => input });
    return { ask, input, request: read as InvokeRequest };
  } catch (error) {
    if (error instanceof Refusal) return { ask, input, fault: error };
    throw error;
  }
}

/**
 * Every rule before admission, in the order in which a caller gets their failures. A rate limit takes its permits from the
 * store, also for a call that a later rule refuses; all other rules change nothing there. `frozenCall` follows.
 */
export function* check(
  parts: InvokeParts,
  presented: PresentedToken,
  call: Call,
  { ask, request: sent, fault }: Reading,
): Steps<CheckedCall | { replay: Answer } | { asks: CheckedCall }> {
  refuseWithheld(parts);
  const asked = sent && capabilityOf(parts.definition, sent.capability);
  const found = (yield parts.store.load(neededFor(presented, asked, sent))) as Loaded;
  // A composed call is frozen with any of its steps.
  const frozen = asked?.composition
    ? yield* wait(frozenSteps(parts, asked.composition, found.token?.root_principal))
    : NONE;
  const known = judgedCaller(parts, presented, call, { sent, found, frozen });
  const { token, loaded } = known;
  ask.proved?.();
  refuse(parts.rates.outpaced(token.root_principal));
  const root = { policy: 'principal', name: token.root_principal } as const;
  if (parts.config.rate_limit) yield* wait(parts.rates.take(call, root, parts.config.rate_limit));
  if (fault || !sent) throw fault;
  const capability = knownCapability(parts, call, sent);
  const own = { policy: 'capability', name: capability.name } as const;
  if (capability.rate_limit) yield* wait(parts.rates.take(call, own, capability.rate_limit));
  const steps = stepCapabilities(parts.definition.catalog, capability);
  if (steps.length > 0) yield* takeOfSteps(parts, steps);
  const whole = [capability, ...steps] as const;
  refuse(otherResponseMode(capability, sent));
  const { lineage } = loaded;
  refuse(authorityRefusal({ token, whole, lineage, taskId: sent.task_id }));
  const continuing: Continuing = continues(capability, sent)
    ? yield* continued(parts, known, capability, sent)
    : { caller: known, request: sent };
  const { caller, request } = continuing;
  call.caller = caller;
  if (caller !== known) nameGrant(call, caller);
  const { key, record } =
    request.idempotency_key === undefined ? {} : yield* wait(findKeyRecord(parts, caller, request));
  const replay = record && (yield* wait(replayOf(parts, call as CallerCall, request, record)));
  if (replay) return { replay };
  refuse(controlRefusal(token, whole));
  const prepared = yield* prepareCall(parts, call, known, continuing);
  const passed = { caller, capability, request, idempotencyKey: key };
  const checked: CheckedCall = Object.assign(call, passed, prepared);
  const { needed, grant } = yield* wait(callApproval(parts, checked));
  if (needed && !grant) return { asks: checked };
  call.grant = grant;
  // The approved parameters are the ones that run.
  if (grant) call.parameters = grant.parameters;
  return checked;
}

/**
 * Bindings, price, parameters and the window of a compensation, in the order in which a caller gets their failures. A
 * refusal leaves in the call what its answer and its entry show: the budget and the digest of the parameters.
 */
function* prepareCall(
  parts: InvokeParts,
  call: Call,
  known: TokenCaller,
  { caller, request, resolved }: Continuing,
): Steps<Pick<CheckedCall, 'parameters' | 'parametersDigest' | 'bound' | 'charge'>> {
  const capability = call.capability as Capability;
  const inputs = { caller, capability, sent: request.parameters };
  const bound = capability.requires_binding?.length
    ? yield* boundBindings(parts, inputs, livingGrant(parts, caller, capability))
    : NOTHING_BOUND;
  // A price from the parameters needs them first; every other price is checked before them.
  const isLater = isQuoted(parts, capability);
  let charge = isLater ? undefined : affordable(call, known, boundPrice(bound));
  if (resolved && 'thrown' in resolved) throw resolved.thrown;
  const parameters = resolved?.parameters ?? (yield* resolvedParameters(parts, inputs));
  const parametersDigest = digestOf(parameters);
  call.parametersDigest = parametersDigest;
  refuse(ruleRefusal(capability, parameters, undefined));
  refuse(outsideConditions(known.token, capability, request.parameters, parameters));
  if (isLater) {
    const price =
      (yield* pinnedPrice(parts, caller, capability)) ??
      (yield* quotedPrice(parts, caller, capability, { parameters, bound }));
    charge = affordable(call, known, price);
  }
  refuse(ruleRefusal(capability, parameters, charge ?? null));
  refuse(costOutside(known.token, capability, charge));
  const ties = parts.definition.rollbacks.get(capability.name);
  if (ties) yield* refuseClosedRollback(parts, inputs, parameters, ties);
  return { parameters, parametersDigest, bound, charge };
}

/** The amount to reserve, or a refusal. The answer shows the budget in either case. */
function affordable(
  call: Call,
  { token, loaded }: TokenCaller,
  price: Charge | undefined,
): Charge | undefined {
  const budget = checkBudget(token, call.capability as Capability, budgetsOf(loaded), price);
  call.budget = budget.context;
  refuse(budget.failure);
  return budget.charge;
}

/** The rest of the limit of a step is not reported: a caller follows the limits of the whole. */
function* takeOfSteps({ rates }: InvokeParts, steps: readonly Capability[]): Steps<void> {
  for (const { name, rate_limit } of steps) {
    yield* wait(rates.take({ rates: [] }, { policy: 'capability', name }, rate_limit));
  }
}

/** The token and everything that the checks need: one trip to the store. */
function neededFor(
  { tokenId }: PresentedToken,
  capability: Capability | undefined,
  request: InvokeRequest | undefined,
): LoadRequest {
  return {
    tokenId,
    capability: capability?.name,
    grantId: request?.approval_grant,
    bindingIds: capability && request ? handlesOf(capability, request.parameters) : [],
    idempotency:
      capability && request?.idempotency_key !== undefined
        ? { capability: capability.name, key: request.idempotency_key }
        : undefined,
  };
}

interface Found {
  readonly sent: InvokeRequest | undefined;
  readonly found: Loaded;
  readonly frozen: readonly FreezeRecord[];
}

/** The caller by what was loaded. Its call names it, even if it is refused. */
function judgedCaller(
  parts: InvokeParts,
  presented: PresentedToken,
  call: Call,
  { sent: request, found, frozen }: Found,
): TokenCaller {
  const loaded =
    frozen.length > 0 ? amended(found, { freezes: [...found.freezes, ...frozen] }) : found;
  const judged = tokenCaller(parts, presented, loaded);
  // An expired or revoked token still has an owner, so its refusal has an entry too.
  call.caller = 'caller' in judged ? judged.caller : judged.known;
  call.request = request;
  const taskId = call.caller?.token.purpose.task_id;
  if (typeof taskId === 'string') call.ids.task_id ??= taskId;
  if (call.caller) nameGrant(call, call.caller);
  if ('failure' in judged) throw new Refusal(judged.failure);
  return judged.caller;
}

const NONE: readonly FreezeRecord[] = [];

function frozenSteps(
  { store }: ServiceParts,
  { steps }: NonNullable<Capability['composition']>,
  rootPrincipal: string | undefined,
): Promise<readonly FreezeRecord[]> {
  const names = steps.map(({ capability }) => capability);
  return store.freezesUnder(capabilityFreezes(names, rootPrincipal));
}

/**
 * The entry of a call names its grant, but only if the grant belongs to the chain of the caller.
 */
function nameGrant(call: Call, { token, loaded: { grant } }: TokenCaller): void {
  if (grant?.chain !== token.chain) return;
  call.approvalGrantId = grant.grant_id;
  call.approvalRequestId = grant.approval_request_id;
}

function knownCapability(parts: InvokeParts, call: Call, request: InvokeRequest): Capability {
  const capability = capabilityOf(parts.definition, request.capability);
  call.capability = capability;
  if (capability) return capability;
  const why = absenceOf(parts.definition, request.capability);
  const detail = `Cannot invoke "${request.capability}": ${why}`;
  throw new Refusal(failure('unknown_capability', detail));
}

/**
 * Stores the approval request. If that fails, the call is refused with that failure and still has
 * an entry.
 */
async function askApproval(parts: InvokeParts, call: CheckedCall): Promise<Answer> {
  const found = await requestApproval(parts, call).catch((error) =>
    failureOf('invoke', error, parts.log),
  );
  return refusedCall(parts, call, found);
}
