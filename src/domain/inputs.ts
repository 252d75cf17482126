/**
 * Inputs: which value each declared input of a call gets, and what happens when it gets none.
 *
 * Pure: what resolvers and the actor's policy said is handed in. The result is the resolved
 * parameters, which alone are digested, shown to approvers and given to handlers.
 *
 * @module
 */

import type { Capability, Input, ResolutionBehavior } from '../protocol/capability.ts';
import type { Clarification, Failure } from '../protocol/failure.ts';
import type { JsonObject } from '../protocol/primitives.ts';
import { canonicalJson } from './canonical.ts';
import { failure } from './failure.ts';
import { wrongType } from './input-type.ts';

/** What a resolver made of a caller's word. */
export type Finding =
  | { readonly value: unknown }
  | { readonly candidates: readonly unknown[]; readonly disclosable?: boolean | undefined }
  | { readonly unresolved: true };

/** What the actor's policy says about one input. */
export interface ActorPolicy {
  /** What is derived for the actor. */
  readonly value?: unknown;
  /** What the actor may name itself. Without it, only the derived value. */
  readonly allowed?: readonly unknown[] | undefined;
}

export interface InputFacts {
  /** Findings for the inputs that a resolver was asked about, by name. */
  readonly findings: ReadonlyMap<string, Finding>;
  readonly policies: ReadonlyMap<string, ActorPolicy>;
}

/** A caller's own words come back only as far as they help it to find its mistake. */
const NAMES_SHOWN_MAX = 8;
const NAME_SHOWN_MAX = 64;

export type ResolvedInputs = { parameters: JsonObject } | { failure: Failure };

/** Parameters that the declaration does not have. Checked first: a misspelt one must not be ignored. */
export function unknownParameters(capability: Capability, sent: JsonObject): Failure | undefined {
  const unknown = Object.keys(sent).filter(
    (name) => !capability.inputs.some((input) => input.name === name),
  );
  if (unknown.length === 0) return undefined;
  // A pair that the cut went through would leave half a character, which no strict reader accepts.
  const shown = unknown
    .slice(0, NAMES_SHOWN_MAX)
    .map((name) => name.slice(0, NAME_SHOWN_MAX).replace(/\p{Surrogate}$/u, ''));
  const detail = `Cannot invoke "${capability.name}": it has no input "${shown.join('", "')}"`;
  return failure('invalid_parameters', detail);
}

export function resolveInputs(
  capability: Capability,
  sent: JsonObject,
  facts: InputFacts,
): ResolvedInputs {
  const parameters: JsonObject = {};
  const clarify: Clarification[] = [];
  for (const input of capability.inputs) {
    const outcome = settleInput(input, given(sent, input.name), facts);
    if ('failure' in outcome) return outcome;
    if ('clarify' in outcome) clarify.push(outcome.clarify);
    else if ('value' in outcome) parameters[input.name] = outcome.value;
  }
  if (clarify.length === 0) return { parameters };
  const names = clarify.map(({ input, reason }) => `"${input}" is ${reason}`).join(', ');
  const detail = `Cannot invoke "${capability.name}" yet: ${names}`;
  return { failure: failure('clarification_required', detail, { clarify }) };
}

/** Whether an input that nobody names gets its default: one that must be said is never filled in. */
export function defaultApplies({ default: value, resolution }: Input): boolean {
  if (value === undefined) return false;
  if (resolution?.on_missing) return resolution.on_missing === 'use_default';
  return resolution?.mode !== 'explicit_only' && resolution?.mode !== 'app_selected';
}

/** Whether a resolver has to be asked about this input of a call. */
export function needsResolver(input: Input, sent: JsonObject): boolean {
  const value = given(sent, input.name);
  if (value === undefined || input.resolution?.mode !== 'backend_resolved') return false;
  return wrongType(input.type, value) === undefined;
}

type Outcome =
  | { readonly value: unknown }
  | { readonly omit: true }
  | { readonly clarify: Clarification }
  | { readonly failure: Failure };

type Reason = Clarification['reason'];

function settleInput(input: Input, sent: unknown, facts: InputFacts): Outcome {
  const outcome = sent === undefined ? settleMissing(input, facts) : settleSent(input, sent, facts);
  if (!('value' in outcome)) return outcome;
  const wrong = wrongType(input.type, outcome.value);
  if (wrong)
    return { failure: failure('invalid_parameters', `Cannot use "${input.name}": ${wrong}`) };
  if (isAllowed(input, outcome.value)) return outcome;
  const instead = behave(input, 'unresolved', input.allowed_values, facts);
  // The closed set binds whoever names the value, the actor's policy too.
  const outside = 'value' in instead && !isAllowed(input, instead.value);
  return outside ? denied(input, 'it is not among the allowed values') : instead;
}

function isAllowed({ allowed_values: allowed }: Input, value: unknown): boolean {
  return !allowed || includes(allowed, value);
}

function settleSent(input: Input, sent: unknown, facts: InputFacts): Outcome {
  const wrong = wrongType(input.type, sent);
  if (wrong)
    return { failure: failure('invalid_parameters', `Cannot use "${input.name}": ${wrong}`) };
  switch (input.resolution?.mode) {
    case 'actor_policy':
      return denied(input, 'it is derived from the actor and takes no explicit value');
    case 'actor_policy_or_explicit': {
      const policy = facts.policies.get(input.name);
      const allowed = policy?.allowed ?? (policy && 'value' in policy ? [policy.value] : []);
      return includes(allowed, sent)
        ? { value: sent }
        : denied(input, 'it is outside of the actor policy');
    }
    case 'backend_resolved': {
      const finding = facts.findings.get(input.name) ?? { unresolved: true };
      if ('value' in finding) return { value: finding.value };
      if (!('candidates' in finding)) return behave(input, 'unresolved', undefined, facts);
      const shown = finding.disclosable ? finding.candidates : undefined;
      return behave(input, 'ambiguous', shown, facts);
    }
    default:
      return { value: sent };
  }
}

function settleMissing(input: Input, facts: InputFacts): Outcome {
  const { resolution } = input;
  if (resolution?.mode === 'actor_policy' || resolution?.mode === 'actor_policy_or_explicit') {
    const policy = facts.policies.get(input.name);
    if (policy && 'value' in policy) return { value: policy.value };
  }
  if (resolution?.on_missing) return behave(input, 'missing', input.allowed_values, facts);
  if (defaultApplies(input)) return { value: input.default };
  if (!input.required) return { omit: true };
  return behave(input, 'missing', input.allowed_values, facts);
}

/** Does what the input's policy says for this reason, or what is said where it is silent. */
function behave(
  input: Input,
  reason: Reason,
  candidates: readonly unknown[] | undefined,
  facts: InputFacts,
): Outcome {
  const behavior = input.resolution?.[`on_${reason}`] ?? silent(input, reason);
  switch (behavior) {
    case 'invalid':
      return { failure: failure('invalid_parameters', `Cannot invoke without "${input.name}"`) };
    case 'clarify':
      return clarifying(input, reason, candidates);
    case 'app_select_or_clarify':
      return clarifying(input, reason, input.allowed_values ?? candidates);
    case 'deny_or_clarify':
      return candidates ? clarifying(input, reason, candidates) : denied(input, `it is ${reason}`);
    case 'deny':
      return denied(input, `it is ${reason}`);
    case 'use_default':
      return { value: input.default };
    case 'use_actor_scope': {
      const policy = facts.policies.get(input.name);
      return policy && 'value' in policy
        ? { value: policy.value }
        : denied(input, `it is ${reason}`);
    }
    case 'omit':
      return { omit: true };
  }
}

function silent(input: Input, reason: Reason): ResolutionBehavior | 'invalid' {
  if (reason === 'ambiguous') return 'clarify';
  if (reason === 'unresolved') return 'deny';
  return input.resolution?.mode === 'clarify' ? 'clarify' : 'invalid';
}

function clarifying(
  { name }: Input,
  reason: Reason,
  candidates: readonly unknown[] | undefined,
): Outcome {
  return { clarify: { input: name, reason, ...(candidates && { candidates: [...candidates] }) } };
}

function denied({ name }: Input, why: string): Outcome {
  return { failure: failure('input_denied', `Cannot use "${name}": ${why}`) };
}

/** Null says nothing, as in every request. */
function given(sent: JsonObject, name: string): unknown {
  return Object.hasOwn(sent, name) ? (sent[name] ?? undefined) : undefined;
}

function includes(values: readonly unknown[], value: unknown): boolean {
  const text = canonicalJson(value);
  return values.some((each) => canonicalJson(each) === text);
}
