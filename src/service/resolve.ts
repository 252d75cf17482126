/**
 * Resolves the inputs of a call: asks the registered resolvers and the actor's policy, then lets the
 * domain decide.
 *
 * Resolvers and the policy are author code. All of them that one call needs are asked at once and have
 * as long as its handler, so a call with many inputs waits no longer than one with a single input.
 *
 * @module
 */

import type { ActorPolicyRule } from '../config-parts.ts';
import { chainNames } from '../domain/chain.ts';
import { failure, Refusal, refuse } from '../domain/failure.ts';
import { readForeignObject } from '../domain/foreign.ts';
import {
  type ActorPolicy,
  type Finding,
  needsPolicy,
  resolveInputs,
  resolverOf,
  unknownParameters,
  valueToResolve,
} from '../domain/inputs.ts';
import { BODY_LIMITS, copyOf } from '../domain/json.ts';
import { matchesPrincipal } from '../domain/principal.ts';
import type { Capability, Input } from '../protocol/capability.ts';
import type { JsonObject } from '../protocol/primitives.ts';
import type { TokenCaller } from './caller.ts';
import { LATE } from './deadline.ts';
import type { AskedInput } from './definition.ts';
import { askWithin, returnedBy } from './foreign.ts';
import type { Parts } from './parts.ts';

/** The resolved parameters, or a refusal. */
export async function resolvedParameters(
  parts: Parts,
  caller: TokenCaller,
  capability: Capability,
  sent: JsonObject,
): Promise<JsonObject> {
  refuse(unknownParameters(capability, sent));
  const configured = policiesFor(parts.config.actor_policies, caller);
  const findings = new Map<string, Finding>();
  const derived = new Map<string, ActorPolicy>();
  const questions: Promise<void>[] = [];
  for (const input of capability.inputs) {
    if (!input.resolution) continue;
    const asking = { parts, caller, capability, input };
    const resolver = resolverFor(asking, sent, findings);
    if (resolver) questions.push(resolver());
    const policy = configured.has(input.name) ? undefined : policyFor(asking, derived);
    if (policy) questions.push(policy());
  }
  if (questions.length > 0) await Promise.all(questions);
  const policies = derived.size > 0 ? new Map([...derived, ...configured]) : configured;
  const resolved = resolveInputs(capability, sent, { findings, policies });
  if ('failure' in resolved) throw new Refusal(resolved.failure);
  return resolved.parameters;
}

interface Asking {
  readonly parts: Parts;
  readonly caller: TokenCaller;
  readonly capability: Capability;
  readonly input: Input;
}

/** Most inputs ask nothing, and then a call waits for nothing. */
type Question = (() => Promise<void>) | undefined;

/** Asks the resolver of an input, where it has one and a value was sent, and keeps what it found. */
function resolverFor(asking: Asking, sent: JsonObject, findings: Map<string, Finding>): Question {
  const { parts, input } = asking;
  const resolver = parts.definition.resolvers.get(resolverOf(input) ?? '');
  const value = resolver && valueToResolve(input, sent);
  if (!resolver || value === undefined) return undefined;
  // A copy: what was sent is what the fingerprint of an idempotency key is made of.
  const code = () => resolver(copyOf(value), askedInput(asking));
  const what = `what the resolver of "${input.name}" returned`;
  return async () => {
    findings.set(input.name, findingOf(await answerOf(asking, what, code), what));
  };
}

/** Asks the author's policy. The operator's configuration comes first, and is not here. */
function policyFor(asking: Asking, derived: Map<string, ActorPolicy>): Question {
  const { parts, input } = asking;
  const { actorPolicy } = parts.definition;
  if (!actorPolicy || !needsPolicy(input)) return undefined;
  const what = `what the actor policy returned for "${input.name}"`;
  return async () => {
    const { value, allowed } = await answerOf(asking, what, () => actorPolicy(askedInput(asking)));
    if (allowed !== undefined && !Array.isArray(allowed)) {
      throw new Error(`Cannot use ${what}: "allowed" is no list`);
    }
    derived.set(input.name, { ...(value !== undefined && { value }), allowed });
  };
}

/** What author code answers, read as an object; an empty one where it answers nothing. */
async function answerOf(
  { parts, capability, input }: Asking,
  what: string,
  code: () => unknown,
): Promise<JsonObject> {
  const deadlineMs = parts.definition.code.get(capability.name)?.deadlineMs as number;
  const heard = await askWithin(deadlineMs, code);
  if (heard === LATE) {
    const detail = `Cannot resolve "${input.name}": no answer within ${deadlineMs} ms; nothing happened`;
    throw new Refusal(failure('service_unavailable', detail));
  }
  const reading = readForeignObject(returnedBy(heard, what) ?? {}, BODY_LIMITS);
  if ('fault' in reading) throw new Error(`Cannot use ${what}: ${reading.fault}`);
  return reading.value;
}

function findingOf({ value, candidates, disclosable }: JsonObject, what: string): Finding {
  if (value !== undefined) return { value };
  if (candidates === undefined) return { unresolved: true };
  if (!Array.isArray(candidates)) throw new Error(`Cannot use ${what}: "candidates" is no list`);
  return { candidates, disclosable: disclosable === true };
}

/** Copies: author code may keep or change what it is given. */
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
 * The first rule that names the agent which the root principal named itself, else the first that names
 * the root principal. Every further name was chosen by the holder of a token, so it selects no rule:
 * an agent that names its child like another one does not get that one's policy.
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
