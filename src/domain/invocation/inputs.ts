/**
 * Inputs: which value each declared input of a call gets, and what happens when it has none.
 *
 * Pure: the findings of resolvers and the actor's policies are arguments. The result is the resolved
 * parameters. Only these are digested, shown to approvers and given to handlers.
 *
 * @module
 */

import type {
  Capability,
  Input,
  ResolutionBehavior,
  ResolutionMode,
} from '../../protocol/capability.ts';
import type { Clarification, Failure } from '../../protocol/failure.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { failure } from '../failure.ts';
import { isDate, isDateTime } from '../values/moment.ts';
import { canonicalJson } from '../wire/canonical.ts';
import { isObject } from '../wire/json.ts';

/** What a resolver found for a value that the caller sent. */
export type Finding =
  | { readonly value: unknown }
  | { readonly candidates: readonly unknown[]; readonly disclosable?: boolean | undefined }
  | { readonly unresolved: true };

/** The actor's policy for one input. */
export interface ActorPolicy {
  /** The value that is derived for the actor. */
  readonly value?: unknown;
  /** Values that the actor may send. Without it, only the derived value. */
  readonly allowed?: readonly unknown[] | undefined;
}

export interface InputFacts {
  /** Findings for the inputs that a resolver was asked about, by name. */
  readonly findings: ReadonlyMap<string, Finding>;
  readonly policies: ReadonlyMap<string, ActorPolicy>;
  /** Whether a schema of the author fills in the defaults afterwards. */
  readonly isFilledLater?: boolean | undefined;
}

/** Bounds how much of a caller's own text a message repeats. */
const NAMES_SHOWN_MAX = 8;
const NAME_SHOWN_MAX = 64;

export type ResolvedInputs = { parameters: JsonObject } | { failure: Failure };

/** Finds parameters that the declaration does not have. Checked first, so that a misspelt name is not ignored. */
export function unknownParameters(capability: Capability, sent: JsonObject): Failure | undefined {
  const unknown = Object.keys(sent).filter(
    (name) => !capability.inputs.some((input) => input.name === name),
  );
  if (unknown.length === 0) return undefined;
  // Drops the half of a surrogate pair that the cut left: strict readers refuse it.
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

/** Whether an omitted input gets its default. One that the caller must send gets it only by `on_missing`. */
export function defaultApplies({ default: value, resolution }: Input): boolean {
  if (value === undefined) return false;
  if (resolution?.on_missing) return resolution.on_missing === 'use_default';
  return resolution?.mode !== 'explicit_only' && resolution?.mode !== 'app_selected';
}

/**
 * Modes in which a resolver interprets the caller's value. In mode `closed_values` the value is compared as
 * sent, and in mode `actor_policy` the value does not come from the caller.
 */
const RESOLVED_MODES: ReadonlySet<ResolutionMode> = new Set([
  'backend_resolved',
  'actor_policy_or_explicit',
  'app_selected',
  'explicit_only',
  'clarify',
]);

/** The name of the resolver that the input refers to. It is asked only if it is registered. */
export function resolverOf({ resolution, catalog_ref }: Input): string | undefined {
  if (!resolution || !RESOLVED_MODES.has(resolution.mode)) return undefined;
  return resolution.resolver_ref ?? catalog_ref;
}

/** The sent value that a resolver must be asked about. */
export function valueToResolve(input: Input, sent: JsonObject): unknown {
  const value = given(sent, input.name);
  return value === undefined || wrongType(input.type, value) ? undefined : value;
}

/** Whether the value of this input can depend on the actor's policy. */
export function needsPolicy({ resolution }: Input): boolean {
  if (!resolution) return false;
  const { mode, on_missing, on_ambiguous, on_unresolved } = resolution;
  return (
    mode === 'actor_policy' ||
    mode === 'actor_policy_or_explicit' ||
    [on_missing, on_ambiguous, on_unresolved].includes('use_actor_scope')
  );
}

type Outcome =
  | { readonly value: unknown }
  | { readonly omit: true }
  | { readonly clarify: Clarification }
  | { readonly failure: Failure };

/** Why an input has no value yet, and the candidates that the caller may see. */
interface Trouble {
  readonly reason: Clarification['reason'];
  /** Ends "Cannot use x: it is …". */
  readonly why: string;
  readonly candidates?: readonly unknown[] | undefined;
}

function settleInput(input: Input, sent: unknown, facts: InputFacts): Outcome {
  const outcome = sent === undefined ? settleMissing(input, facts) : settleSent(input, sent, facts);
  if (!('value' in outcome)) return outcome;
  const wrong = wrongType(input.type, outcome.value);
  if (wrong) return unreadable(input, wrong);
  if (isAllowed(input, outcome.value)) return outcome;
  const trouble = { ...OUTSIDE, candidates: choicesOf(input) };
  const instead = behave(input, trouble, facts);
  // The closed set binds the actor's policy too.
  const isOutside = 'value' in instead && !isAllowed(input, instead.value);
  return isOutside ? denied(input, OUTSIDE.why) : instead;
}

const OUTSIDE = { reason: 'unresolved', why: 'not among the allowed values' } as const;
const UNRESOLVED = { reason: 'unresolved', why: 'unresolved' } as const;
const FORBIDDEN = { reason: 'unresolved', why: 'outside of the actor policy' } as const;

function isAllowed({ allowed_values: allowed }: Input, value: unknown): boolean {
  return !allowed || includes(allowed, value);
}

function settleSent(input: Input, sent: unknown, facts: InputFacts): Outcome {
  const wrong = wrongType(input.type, sent);
  if (wrong) return unreadable(input, wrong);
  const mode = input.resolution?.mode;
  if (mode === 'actor_policy') {
    return denied(input, 'derived from the actor and takes no explicit value');
  }
  const finding = facts.findings.get(input.name);
  if (!finding && mode === 'backend_resolved') return behave(input, UNRESOLVED, facts);
  if (finding && 'unresolved' in finding) return behave(input, UNRESOLVED, facts);
  if (finding && 'candidates' in finding) {
    const candidates = finding.disclosable ? finding.candidates : undefined;
    return behave(input, { reason: 'ambiguous', why: 'ambiguous', candidates }, facts);
  }
  const value = finding ? finding.value : sent;
  const isForbidden = mode === 'actor_policy_or_explicit' && !permits(input, value, facts);
  return isForbidden ? behave(input, FORBIDDEN, facts) : { value };
}

/** Whether the actor may send this value. Without a policy it may send none. */
function permits({ name }: Input, value: unknown, { policies }: InputFacts): boolean {
  const policy = policies.get(name);
  const derived = policy && 'value' in policy ? [policy.value] : [];
  return includes(policy?.allowed ?? derived, value);
}

function settleMissing(input: Input, facts: InputFacts): Outcome {
  const { resolution } = input;
  if (resolution?.mode === 'actor_policy' || resolution?.mode === 'actor_policy_or_explicit') {
    const policy = facts.policies.get(input.name);
    if (policy && 'value' in policy) return { value: policy.value };
  }
  const trouble: Trouble = { reason: 'missing', why: 'missing', candidates: choicesOf(input) };
  if (resolution?.on_missing) return behave(input, trouble, facts);
  if (defaultApplies(input)) return facts.isFilledLater ? { omit: true } : { value: input.default };
  return input.required ? behave(input, trouble, facts) : { omit: true };
}

/** The values a caller may choose from. A mode that takes no value from the caller offers none. */
function choicesOf({ allowed_values, resolution }: Input): readonly unknown[] | undefined {
  return resolution?.mode === 'actor_policy' ? undefined : allowed_values;
}

/** Applies the behaviour that the input's policy declares for this reason, or the default behaviour. */
function behave(input: Input, trouble: Trouble, facts: InputFacts): Outcome {
  const { reason, why, candidates } = trouble;
  switch (input.resolution?.[`on_${reason}`] ?? defaultBehavior(input, reason)) {
    case 'invalid':
      return { failure: failure('invalid_parameters', `Cannot invoke without "${input.name}"`) };
    case 'clarify':
      return clarifying(input, trouble);
    case 'app_select_or_clarify':
      return clarifying(input, { ...trouble, candidates: choicesOf(input) ?? candidates });
    case 'deny_or_clarify':
      return candidates ? clarifying(input, trouble) : denied(input, why);
    case 'deny':
      return denied(input, why);
    case 'use_default':
      return { value: input.default };
    case 'use_actor_scope': {
      const policy = facts.policies.get(input.name);
      return policy && 'value' in policy ? { value: policy.value } : denied(input, why);
    }
    case 'omit':
      return { omit: true };
  }
}

function defaultBehavior(input: Input, reason: Trouble['reason']): ResolutionBehavior | 'invalid' {
  if (reason === 'ambiguous') return 'clarify';
  if (reason === 'unresolved') return 'deny';
  return input.resolution?.mode === 'clarify' ? 'clarify' : 'invalid';
}

function clarifying({ name }: Input, { reason, candidates }: Trouble): Outcome {
  return { clarify: { input: name, reason, ...(candidates && { candidates: [...candidates] }) } };
}

function unreadable({ name }: Input, wrong: string): Outcome {
  return { failure: failure('invalid_parameters', `Cannot use "${name}": ${wrong}`) };
}

function denied({ name }: Input, why: string): Outcome {
  return { failure: failure('input_denied', `Cannot use "${name}": it is ${why}`) };
}

/** Null counts as absent, as in every request. */
function given(sent: JsonObject, name: string): unknown {
  return Object.hasOwn(sent, name) ? (sent[name] ?? undefined) : undefined;
}

function includes(values: readonly unknown[], value: unknown): boolean {
  const text = canonicalJson(value);
  return values.some((each) => canonicalJson(each) === text);
}

type TypeCheck = (value: unknown) => boolean;

const TYPES = new Map<string, TypeCheck>([
  ['string', (value) => typeof value === 'string'],
  ['integer', (value) => Number.isSafeInteger(value)],
  ['number', (value) => typeof value === 'number' && Number.isFinite(value)],
  ['boolean', (value) => typeof value === 'boolean'],
  ['date', (value) => typeof value === 'string' && isDate(value)],
  ['datetime', (value) => typeof value === 'string' && isDateTime(value)],
  ['array', (value) => Array.isArray(value)],
  ['object', isObject],
]);

/** Why the value is not of the type, or `undefined`. */
export function wrongType(type: string, value: unknown): string | undefined {
  const admits = TYPES.get(type);
  if (!admits || admits(value)) return undefined;
  return `${excerpt(value)} is not of type "${type}"`;
}

/** Enough of a value to recognise it in a message. */
const EXCERPT_LENGTH_MAX = 60;

function excerpt(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  if (text.length <= EXCERPT_LENGTH_MAX) return text;
  // Drops the half of a surrogate pair that the cut left: strict readers refuse it.
  return `${text.slice(0, EXCERPT_LENGTH_MAX).replace(/\p{Surrogate}$/u, '')}…`;
}
