/**
 * The inputs of a call: its bindings, its resolved parameters, and the window of a compensation.
 *
 * Asks the registered resolvers, the policy of the actor and the binding lookup of the author; the
 * domain then decides. All of these are author code. The resolvers and policies of one call run at
 * the same time, with the deadline of the handler, so a call with many inputs waits no longer than
 * one with a single input.
 *
 * `prepareCall` in `invoke.ts` asks in the order in which a caller gets the failures; so does a step of a composed call
 * (`compose/step.ts`).
 *
 * @module
 */

import type { ActorPolicyRule } from '../../config/parts.ts';
import { chainNames } from '../../domain/authority/chain.ts';
import { matchesPrincipal } from '../../domain/authority/principal.ts';
import {
  closedWindow,
  compensationParameters,
  rollbackDigest,
  rollbackNames,
  windowEnd,
} from '../../domain/composition/compensation.ts';
import { Refusal, refuse } from '../../domain/failure.ts';
import { type BindingFacts, checkBindings } from '../../domain/invocation/bindings.ts';
import {
  type ActorPolicy,
  type Finding,
  needsPolicy,
  resolveInputs,
  resolverOf,
  unknownParameters,
  valueToResolve,
} from '../../domain/invocation/inputs.ts';
import { foreignMember, foreignTime, readForeignObject } from '../../domain/wire/foreign.ts';
import { BODY_LIMITS, copyOf } from '../../domain/wire/json.ts';
import type { Capability, Input } from '../../protocol/capability.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { all, type Steps, wait } from '../../steps.ts';
import type { GrantRecord, RollbackRecord } from '../../storage/port/records.ts';
import { type AskedInput, capabilityOf } from '../author/definition.ts';
import type { TokenCaller } from '../caller/caller.ts';
import { askWithin, type Heard, noAnswer, returnedBy } from '../foreign/foreign.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { LATE } from '../pace/deadline.ts';
import { validatedParameters } from './author-schema.ts';
import { bindingData, foreignCharge } from './context.ts';

/** A call whose inputs are read, or a step of a composed call with the caller of the whole. */
export interface Inputs {
  readonly caller: TokenCaller;
  readonly capability: Capability;
  readonly sent: JsonObject;
}

/** Whether the author makes the price from the parameters, which are resolved first then. */
export function isQuoted({ definition }: ServiceParts, { name }: Capability): boolean {
  return definition.code.get(name)?.price !== undefined;
}

/** The resolved parameters, or a refusal. */
export function* resolvedParameters(
  parts: ServiceParts,
  { caller, capability, sent }: Inputs,
): Steps<JsonObject> {
  refuse(unknownParameters(capability, sent));
  const configured = policiesFor(parts.config.actor_policies, caller);
  const findings = new Map<string, Finding>();
  const derived = new Map<string, ActorPolicy>();
  const questions: Steps<void>[] = [];
  for (const input of capability.inputs) {
    if (!input.resolution) continue;
    const asking = { parts, caller, capability, input };
    const resolver = resolverFor(asking, sent, findings);
    if (resolver) questions.push(resolver);
    const policy = configured.has(input.name) ? undefined : policyFor(asking, derived);
    if (policy) questions.push(policy);
  }
  if (questions.length > 0) yield* wait(all(questions));
  const isFilledLater = capability.input_schema !== undefined;
  const policies = derived.size > 0 ? new Map([...derived, ...configured]) : configured;
  const resolved = resolveInputs(capability, sent, { findings, policies, isFilledLater });
  if ('failure' in resolved) throw new Refusal(resolved.failure);
  return yield* wait(validatedParameters(parts, capability, resolved.parameters));
}

interface Asking {
  readonly parts: ServiceParts;
  readonly caller: TokenCaller;
  readonly capability: Capability;
  readonly input: Input;
}

/** Asks the resolver of an input, if it has one and a value was sent, and stores its finding. */
function resolverFor(
  asking: Asking,
  sent: JsonObject,
  findings: Map<string, Finding>,
): Steps<void> | undefined {
  const { parts, input } = asking;
  const resolver = parts.definition.resolvers.get(resolverOf(input) ?? '');
  const value = resolver && valueToResolve(input, sent);
  if (!resolver || value === undefined) return undefined;
  // A copy, because the fingerprint of an idempotency key is made from what was sent.
  const code = () => resolver(copyOf(value), askedInput(asking));
  const what = `what the resolver of "${input.name}" returned`;
  return storedFinding(asking, what, code, findings);
}

function* storedFinding(
  asking: Asking,
  what: string,
  code: () => unknown,
  findings: Map<string, Finding>,
): Steps<void> {
  const answer = authorAnswer(asking, what, yield* askAuthor(asking, code));
  findings.set(asking.input.name, findingOf(answer, what));
}

/** Asks the policy of the author. The configuration of the operator has precedence over it. */
function policyFor(asking: Asking, derived: Map<string, ActorPolicy>): Steps<void> | undefined {
  const { actorPolicy } = asking.parts.definition;
  return actorPolicy && needsPolicy(asking.input)
    ? derivedPolicy(asking, () => actorPolicy(askedInput(asking)), derived)
    : undefined;
}

function* derivedPolicy(
  asking: Asking,
  code: () => unknown,
  derived: Map<string, ActorPolicy>,
): Steps<void> {
  const { name } = asking.input;
  const what = `what the actor policy returned for "${name}"`;
  const { value, allowed } = authorAnswer(asking, what, yield* askAuthor(asking, code));
  if (allowed !== undefined && !Array.isArray(allowed)) {
    throw new Error(`Cannot use ${what}: "allowed" is not a list`);
  }
  derived.set(name, { ...(value !== undefined && { value }), allowed });
}

/** Asks author code, within the deadline of the capability. */
function askAuthor(asking: Asking, code: () => unknown): Steps<Heard | typeof LATE> {
  return wait(askWithin(asking.parts.platform, deadlineOf(asking), code));
}

function deadlineOf({ parts, capability }: Asking): number {
  return parts.definition.code.get(capability.name)?.deadlineMs as number;
}

/** The answer of author code, read as an object; empty if it answers nothing. */
function authorAnswer(asking: Asking, what: string, heard: Heard | typeof LATE): JsonObject {
  if (heard === LATE) {
    throw noAnswer(`Cannot resolve "${asking.input.name}"`, deadlineOf(asking));
  }
  const reading = readForeignObject(returnedBy(heard, what) ?? {}, BODY_LIMITS);
  if ('fault' in reading) throw new Error(`Cannot use ${what}: ${reading.fault}`);
  return reading.value;
}

function findingOf({ value, candidates, disclosable }: JsonObject, what: string): Finding {
  if (value !== undefined) return { value };
  if (candidates === undefined) return { unresolved: true };
  if (!Array.isArray(candidates)) throw new Error(`Cannot use ${what}: "candidates" is not a list`);
  return { candidates, disclosable: disclosable === true };
}

/** Passes copies, because author code may keep or change them. */
function askedInput({ caller, capability, input }: Asking): AskedInput {
  const { root_principal, token } = caller;
  return Object.freeze({
    capability: capability.name,
    input: input.name,
    principal: caller.principal,
    root_principal,
    principals: Object.freeze(chainNames(root_principal, subjectsOf(caller))),
    caller_class: caller.caller_class,
    session_id: token.session_id,
    purpose: copyOf(token.purpose),
  });
}

function subjectsOf({ loaded }: TokenCaller): string[] {
  return loaded.lineage.map(({ subject }) => subject);
}

const NO_POLICIES: ReadonlyMap<string, ActorPolicy> = new Map();

/**
 * The first rule that matches the agent named by the root principal, else the first that matches
 * the root principal. Later names are chosen by token holders, so they select no rule: an agent
 * cannot get the policy of another one by naming its child like it.
 */
function policiesFor(
  rules: readonly ActorPolicyRule[],
  caller: TokenCaller,
): ReadonlyMap<string, ActorPolicy> {
  if (rules.length === 0) return NO_POLICIES;
  const { root_principal } = caller;
  const ruleFor = (who: string) =>
    rules.find(({ principals }) => principals.some((pattern) => matchesPrincipal(pattern, who)));
  const [, named = root_principal] = chainNames(root_principal, subjectsOf(caller));
  const rule = ruleFor(named) ?? ruleFor(root_principal);
  return rule ? new Map(Object.entries(rule.inputs)) : NO_POLICIES;
}

type Lookup = (handle: string) => BindingFacts | undefined;

/** Of a capability that requires no binding. */
export const NOTHING_BOUND: ReadonlyMap<string, BindingFacts> = new Map();

/**
 * The bindings that the parameters carry, or a refusal. Bindings that were fresh when the approval of the `grant` was
 * requested stay valid for the approved call.
 */
export function* boundBindings(
  parts: ServiceParts,
  inputs: Inputs,
  grant: GrantRecord | undefined,
): Steps<ReadonlyMap<string, BindingFacts>> {
  const { caller, capability, sent } = inputs;
  const now = parts.store.now();
  const request = grant && (yield* wait(parts.store.loadApproval(grant.approval_request_id)));
  const { failure: unbound, bound } = checkBindings(capability, sent, {
    root_principal: caller.root_principal,
    at: request?.created_at ?? now,
    find: yield* lookupOver(parts, inputs),
  });
  refuse(unbound);
  return bound;
}

/** A lookup for every handle that the parameters carry for a required binding. */
function* lookupOver(
  parts: ServiceParts,
  { caller: { loaded, root_principal }, capability, sent }: Inputs,
): Steps<Lookup> {
  const known = new Map<string, BindingFacts>(
    loaded.bindings.map((binding) => [binding.binding_id, binding]),
  );
  const { resolveBinding: resolve, deadlineMs = 0 } =
    parts.definition.code.get(capability.name) ?? {};
  for (const requirement of resolve ? (capability.requires_binding ?? []) : []) {
    const handle = Object.hasOwn(sent, requirement.field) ? sent[requirement.field] : undefined;
    if (typeof handle !== 'string' || known.has(handle)) continue;
    const code = () => resolve?.(handle, copyOf(requirement));
    const pinned = yield* pinnedBy(parts, code, deadlineMs);
    if (!pinned) continue;
    const { type } = requirement;
    known.set(handle, { type, capability: capability.name, root_principal, ...pinned });
  }
  return (handle) => known.get(handle);
}

type Pinned = Pick<BindingFacts, 'issued_at' | 'price' | 'data'>;

/** Asks the binding lookup of the author about a handle, with the deadline of the handler. */
function* pinnedBy(
  { platform }: ServiceParts,
  resolve: () => unknown,
  deadlineMs: number,
): Steps<Pinned | undefined> {
  const heard = yield* wait(askWithin(platform, deadlineMs, resolve));
  if (heard === LATE) throw noAnswer('Cannot look up a binding', deadlineMs);
  const pinned = returnedBy(heard, WHAT) ?? undefined;
  if (pinned === undefined) return undefined;
  const issuedAt = foreignTime(foreignMember(pinned, 'issued_at'));
  // Without a valid time a binding would never expire.
  if (issuedAt === undefined) throw new Error(`Cannot use ${WHAT}: "issued_at" is not a Date`);
  const price = foreignMember(pinned, 'price') ?? undefined;
  return {
    issued_at: new Date(issuedAt),
    price: price === undefined ? undefined : foreignCharge(price),
    data: bindingData(foreignMember(pinned, 'data')),
  };
}

const WHAT = 'what resolveBinding() returned';

/** The part of an ended call that its compensation needs. */
export interface UndoableCall {
  readonly outcome: string;
  readonly parameters: JsonObject;
  readonly output?: JsonObject | undefined;
}

/** The record of a completed call that can be undone for a while. */
export function* rollbackOf(
  parts: ServiceParts,
  { root_principal }: TokenCaller,
  capability: Capability,
  { outcome, parameters, output }: UndoableCall,
): Steps<RollbackRecord | undefined> {
  const { definition, store } = parts;
  const until = windowEnd(capability, store.now());
  const compensation = capabilityOf(definition, capability.side_effect.compensation ?? '');
  if (outcome !== 'completed' || !output || !until || !compensation) return undefined;
  const sent = compensationParameters(compensation, { parameters, output });
  const names = rollbackNames(capability, compensation);
  const digest = rollbackDigest(names, yield* formOf(parts, compensation, sent, names));
  return { capability: compensation.name, root_principal, digest, until };
}

/**
 * How long a finished call waits for the schema of its compensation, each of the two times that it may ask. The
 * call is not recorded before, and a process that dies meanwhile leaves its outcome unknown.
 */
const FORM_WAIT_MS = 1000;

/**
 * The parameters in the form in which the compensation will be called, or its window would not be found.
 * Asks the schema without the other optional inputs first: one of them may not match, and none of them
 * identifies the call.
 */
function* formOf(
  parts: ServiceParts,
  compensation: Capability,
  sent: JsonObject,
  names: readonly string[],
): Steps<JsonObject> {
  const { name, inputs } = compensation;
  const fewest: JsonObject = {};
  for (const input of inputs) {
    const isNeeded = input.required || names.includes(input.name);
    if (isNeeded && Object.hasOwn(sent, input.name)) fewest[input.name] = sent[input.name];
  }
  const isWhole = Object.keys(fewest).length === Object.keys(sent).length;
  const validated = (some: JsonObject) =>
    wait(validatedParameters(parts, compensation, some, FORM_WAIT_MS));
  try {
    if (!isWhole) return yield* validated(fewest);
  } catch {
    // The schema may ask for one of the others.
  }
  try {
    return yield* validated(sent);
  } catch (error) {
    const what = 'the rollback window holds only for parameters exactly as the call left them';
    parts.log.warn({ err: error, compensation: name }, what);
    return sent;
  }
}

/**
 * Refuses a compensation that is too late for every call it could undo. `ties` are the inputs that name such a call,
 * one list for each capability that the compensation undoes.
 */
export function* refuseClosedRollback(
  { store }: ServiceParts,
  { caller: { root_principal }, capability }: Inputs,
  parameters: JsonObject,
  ties: readonly (readonly string[])[],
): Steps<void> {
  const digests = new Set(ties.map((names) => rollbackDigest(names, parameters)));
  let latest: Date | undefined;
  for (const digest of digests) {
    const key = { capability: capability.name, root_principal, digest };
    const until = yield* wait(store.rollbackUntil(key));
    if (until && (!latest || until > latest)) latest = until;
  }
  refuse(closedWindow(capability, latest, store.now()));
}
