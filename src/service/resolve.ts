/**
 * Resolves the inputs of a call: asks the registered resolvers and the actor's policy, then lets the
 * domain decide.
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
  needsResolver,
  resolveInputs,
  unknownParameters,
} from '../domain/inputs.ts';
import { BODY_LIMITS, copyOf } from '../domain/json.ts';
import { matchesPrincipal } from '../domain/principal.ts';
import type { Capability } from '../protocol/capability.ts';
import type { JsonObject } from '../protocol/primitives.ts';
import type { TokenCaller } from './caller.ts';
import { LATE } from './deadline.ts';
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
  const findings = new Map<string, Finding>();
  for (const input of capability.inputs) {
    if (!needsResolver(input, sent)) continue;
    const reference = input.resolution?.resolver_ref ?? input.catalog_ref ?? '';
    const resolver = parts.definition.resolvers.get(reference);
    if (!resolver) throw new Error(`Cannot resolve "${input.name}": no resolver "${reference}"`);
    // A copy: what was sent is what the fingerprint of an idempotency key is made of.
    const value = copyOf(sent[input.name]);
    const deadlineMs = parts.definition.code.get(capability.name)?.deadlineMs as number;
    findings.set(input.name, await findingOf(() => resolver(value), input.name, deadlineMs));
  }
  const policies = policiesFor(parts.config.actor_policies, caller);
  const resolved = resolveInputs(capability, sent, { findings, policies });
  if ('failure' in resolved) throw new Refusal(resolved.failure);
  return resolved.parameters;
}

/** A resolver has as long as the handler; one that is stuck must not keep its caller for ever. */
async function findingOf(
  resolver: () => unknown,
  name: string,
  deadlineMs: number,
): Promise<Finding> {
  const heard = await askWithin(deadlineMs, resolver);
  if (heard === LATE) {
    const detail = `Cannot resolve "${name}": no answer within ${deadlineMs} ms; nothing happened`;
    throw new Refusal(failure('service_unavailable', detail));
  }
  const what = `what the resolver of "${name}" returned`;
  const reading = readForeignObject(returnedBy(heard, what) ?? {}, BODY_LIMITS);
  if ('fault' in reading) throw new Error(`Cannot use ${what}: ${reading.fault}`);
  const { value, candidates, disclosable } = reading.value;
  if (value !== undefined) return { value };
  if (candidates === undefined) return { unresolved: true };
  if (!Array.isArray(candidates)) throw new Error(`Cannot use ${what}: "candidates" is no list`);
  return { candidates, disclosable: disclosable === true };
}

const NO_POLICIES: ReadonlyMap<string, ActorPolicy> = new Map();

/**
 * The first rule that names the agent which the root principal named itself, else the first that names
 * the root principal. Every further name was chosen by the holder of a token, so it selects no rule:
 * an agent that names its child like another one does not get that one's policy.
 */
function policiesFor(
  rules: readonly ActorPolicyRule[],
  { root_principal, loaded }: TokenCaller,
): ReadonlyMap<string, ActorPolicy> {
  if (rules.length === 0) return NO_POLICIES;
  const ruleFor = (who: string) =>
    rules.find(({ principals }) => principals.some((pattern) => matchesPrincipal(pattern, who)));
  const subjects = loaded.lineage.map(({ subject }) => subject);
  const [, named = root_principal] = chainNames(root_principal, subjects);
  const rule = ruleFor(named) ?? ruleFor(root_principal);
  return rule ? new Map(Object.entries(rule.inputs)) : NO_POLICIES;
}
