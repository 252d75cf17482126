/**
 * Consent options: what a person may give to an agent, one option for each capability.
 *
 * The options come from the catalog's declarations and from what the person is entitled to. The rules of
 * authorization judge a token as the consent would make it, so that an option which is not blocked can
 * be invoked. Rights over the service itself (`operator:`, `approver:`) are never given by consent.
 *
 * @module
 */

import type { Capability, Catalog } from '../../protocol/capability.ts';
import type { FailureType } from '../../protocol/failure.ts';
import { SCOPES_PER_TOKEN_MAX } from '../../protocol/primitives.ts';
import { authorityRefusal, type Whole } from '../authority/authorization.ts';
import { type Entitlement, unentitledScope } from '../authority/entitlement.ts';
import type { Authority } from '../authority/narrowing.ts';
import { coversAll } from '../authority/scope-pattern.ts';
import { stepCapabilities } from '../composition/composition.ts';
import { approvalWords, costWords, effectOf, FREE, titleOf } from './consent-words.ts';
import { isGivable } from './givable.ts';

export interface ConsentOption {
  /** Of the capability. */
  readonly name: string;
  /** "Search flights" from search_flights. */
  readonly title: string;
  readonly description: string;
  readonly scope: readonly string[];
  readonly effect: {
    readonly kind: 'reads' | 'changes' | 'undo' | 'final';
    readonly words: string;
  };
  /** "free", "25.00 USD each", "200.00 to 600.00 USD each", "up to 1,000.00 USD each". */
  readonly cost: string;
  /** Of the declared cost, also when that is 0. */
  readonly currency?: string | undefined;
  readonly approval?: string | undefined;
  /** Preselected, or after a faulty form what was chosen. */
  readonly isChosen: boolean;
  /** The client names it, by its scopes or by itself. */
  readonly isAsked: boolean;
  /** Why consent cannot give it. */
  readonly blocked?: string | undefined;
  /** Why it cannot be chosen together with others. */
  readonly alone?: string | undefined;
}

export interface ConsentSubject {
  readonly catalog: Catalog;
  /** Of the person who consents. */
  readonly entitlement: Entitlement;
  /** Whether the service itself prices a call of the capability (`price`). */
  isQuoted(name: string): boolean;
}

export interface Asked {
  readonly scope: readonly string[];
  readonly capabilities: readonly string[];
}

/** The options in the order of the catalog. `chosen` are the names of a form that is shown again. */
export function consentOptions(
  subject: ConsentSubject,
  asked: Asked,
  chosen?: readonly string[],
): ConsentOption[] {
  const options = [...subject.catalog.capabilities.values()].map((each) =>
    optionOf(subject, each, asked),
  );
  const preselected = new Set(chosen ?? preselection(options));
  return options.map((option) => ({
    ...option,
    isChosen: option.blocked === undefined && preselected.has(option.name),
  }));
}

/** The currencies of the options, the most frequent first. */
export function currenciesOf(options: readonly ConsentOption[]): string[] {
  const counts = new Map<string, number>();
  for (const { currency } of options) {
    if (currency !== undefined) counts.set(currency, (counts.get(currency) ?? 0) + 1);
  }
  return [...counts]
    .sort(([one, times], [other, more]) => more - times || (one < other ? -1 : 1))
    .map(([currency]) => currency);
}

/** Whether using the option can cost money. */
export function costsMoney({ currency, cost }: ConsentOption): boolean {
  return currency !== undefined && cost !== FREE;
}

/** What a person ticks with one button. */
export const TICKS = ['all', 'reads', 'none'] as const;

/** The names that it ticks: of what the client asks for, or of all where it names nothing. */
export function tickedNames(
  options: readonly ConsentOption[],
  tick: (typeof TICKS)[number],
): string[] {
  if (tick === 'none') return [];
  const isAnyAsked = options.some(({ isAsked }) => isAsked);
  return options
    .filter(({ blocked, alone }) => blocked === undefined && alone === undefined)
    .filter(({ isAsked }) => isAsked || !isAnyAsked)
    .filter(({ effect, currency }) => tick === 'all' || isFreeReading({ effect, currency }))
    .map(({ name }) => name);
}

function isFreeReading({ effect, currency }: Pick<ConsentOption, 'effect' | 'currency'>): boolean {
  return effect.kind === 'reads' && currency === undefined;
}

/** Characters of preselected names: their list must fit into the purpose of a token beside other words. */
const PRESELECTED_LENGTH_MAX = 1_000;

/**
 * What reads and has no price; where the client names something, only what it names. Nothing when all
 * of it would not fit into one token: the form as it is shown must be one that can be sent.
 */
function preselection(options: readonly ConsentOption[]): string[] {
  const names = tickedNames(options, 'reads');
  const reading = options.filter(({ name }) => names.includes(name));
  const scopes = new Set(reading.flatMap(({ scope }) => scope));
  const fits =
    names.join('","').length <= PRESELECTED_LENGTH_MAX && scopes.size <= SCOPES_PER_TOKEN_MAX;
  return fits ? names : [];
}

function optionOf(subject: ConsentSubject, capability: Capability, asked: Asked): ConsentOption {
  const { name, description, minimum_scope: scope, cost } = capability;
  const whole: Whole = [capability, ...stepCapabilities(subject.catalog, capability)];
  return {
    name,
    title: titleOf(name),
    description,
    scope,
    effect: effectOf(capability),
    cost: costWords(cost),
    currency: cost?.financial?.currency,
    approval: approvalWords(capability),
    isChosen: false,
    isAsked:
      asked.capabilities.includes(name) || (scope.length > 0 && coversAll(asked.scope, scope)),
    blocked: blockedBy(subject, whole),
    alone: whole.some(needsBinding)
      ? 'It needs a consent of its own: choose it and nothing else'
      : undefined,
  };
}

function blockedBy(subject: ConsentSubject, whole: Whole): string | undefined {
  const [{ minimum_scope }] = whole;
  const never = minimum_scope.filter((scope) => !isGivable(scope));
  if (never.length > 0) return `Consent can never give ${never.join(', ')}`;
  const unheld = unentitledScope(subject.entitlement, minimum_scope)?.resolution.requires;
  if (unheld) return `You are not entitled to ${unheld.join(', ')}`;
  return unusableByAgent(subject.entitlement, whole) ?? unpayable(subject, whole);
}

/** Judges the access token that a consent to this capability alone would lead to. */
function unusableByAgent({ principal }: Entitlement, whole: Whole): string | undefined {
  const [{ name, minimum_scope }] = whole;
  const token: Authority = {
    subject: AGENT,
    root_principal: principal,
    scope: minimum_scope,
    capability: name,
    purpose: {},
    caller_class: 'default',
    concurrent_branches: 'allowed',
    depth: 1,
    max_delegation_depth: 1,
    expires_at: new Date(0),
  };
  const found = authorityRefusal({ token, whole, lineage: [token, token] });
  if (!found) return undefined;
  return REASONS[found.type as FailureType] ?? 'An agent cannot do this';
}

const AGENT = 'agent:client/0000';

const REASONS: Partial<Record<FailureType, string>> = {
  non_delegable_action: 'Only you yourself may do this',
  principal_class_not_admitted: 'It does not admit agents',
  delegation_depth_exceeded: 'It admits only tokens that you use yourself',
};

/** Every consent has a budget, and a budget needs an amount to compare with. */
function unpayable(subject: ConsentSubject, [capability]: Whole): string | undefined {
  const { cost, requires_binding = [], name } = capability;
  if (cost?.certainty !== 'estimated' || !cost.financial) return undefined;
  if (requires_binding.length > 0 || subject.isQuoted(name)) return undefined;
  return 'No limit can hold it: nothing fixes its price';
}

function needsBinding({ control_requirements = [] }: Capability): boolean {
  return control_requirements.some(({ type }) => type === 'stronger_delegation_required');
}
