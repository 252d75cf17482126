/**
 * Warnings at start: parts of a definition that are sound by themselves and that this configuration, or
 * this service, makes useless.
 *
 * A warning states what is certain. Where callers are identified by a hook or an identity provider, the
 * entitlement rules still bound what they can hold, so a scope that neither an identity nor a rule
 * allows is certain; whether a rule ever matches a person is not.
 *
 * @module
 */

import type { Config } from '../../config/config.ts';
import type { Entitlement } from '../../domain/authority/entitlement.ts';
import { entitles } from '../../domain/authority/scope-pattern.ts';
import { idleHooks } from '../../domain/catalog/hooks.ts';
import type { Capability } from '../../protocol/capability.ts';
import { missingApprovers } from './approval-policy.ts';
import type { ServiceDefinition } from './definition.ts';

type Settings = Pick<Config, 'actor_policies' | 'entitlements' | 'oidc' | 'sign_in'> & {
  /** Those of the configuration and those in the store. */
  readonly identities: readonly Pick<Entitlement, 'principal' | 'scopes'>[];
  /** Whether the app around a mounted service identifies callers; absent if the service is not mounted. */
  readonly isIdentifiedByApp?: boolean | undefined;
};

/** Capabilities, or scopes, that one sentence names. */
const NAMED_MAX = 5;

/** One sentence each, in the order in which an author corrects them: the service, then its settings. */
export function startWarnings(definition: ServiceDefinition, settings: Settings): string[] {
  const { identities, oidc, isIdentifiedByApp } = settings;
  const areOthersKnown =
    definition.authenticate !== undefined || oidc.length > 0 || isIdentifiedByApp === true;
  // Rules are for principals that a hook or an issuer identifies.
  const people = { identities, entitlements: areOthersKnown ? settings.entitlements : [] };
  return [
    ...unpayableCosts(definition),
    ...strayHints(definition),
    ...idleResolutions(definition, settings.actor_policies),
    ...(identities.length > 0 || areOthersKnown
      ? unheldScopes(definition, people)
      : [noCaller(isIdentifiedByApp !== undefined)]),
    ...missingApprovers(definition, people),
    ...strayStepUps(definition, settings),
  ];
}

/** What people cannot confirm where none of them can sign in. */
export function unconfirmable({ catalog }: ServiceDefinition): string[] {
  const names = [...catalog.capabilities.values()]
    .filter(({ approval }) => approval?.require === 'passkey')
    .map(({ name }) => name);
  if (names.length === 0) return [];
  const missing = 'its approvers need passkeys, and no person can sign in here';
  return [
    `No request for ${namesText(names)} can be approved: ${missing}; configure oidc, or a key of a human on a service that only this machine reaches`,
  ];
}

/** What people cannot connect where none of them can sign in. */
export function unconnectable({ accounts }: ServiceDefinition): string[] {
  if (accounts.size === 0) return [];
  const names = namesText([...accounts.keys()]);
  return [
    `No person can connect ${names}: no person can sign in here; configure oidc, or a key of a human on a service that only this machine reaches`,
  ];
}

function noCaller(isMounted: boolean): string {
  const missing = 'no identity, no issuer and no authenticate hook is configured';
  const ofApp = isMounted ? ', and mount() got no identify hook' : '';
  return `No caller can get a token: ${missing}${ofApp}`;
}

/** Spec, "Budget enforcement": an estimated cost is checked by its price, and here nothing fixes one. */
function unpayableCosts({ catalog, code }: ServiceDefinition): string[] {
  return [...catalog.capabilities.values()]
    .filter((each) => isUnpriced(each) && code.get(each.name)?.price === undefined)
    .map(
      ({ name }) =>
        `No budget can pay capability "${name}": its cost is estimated and nothing fixes the price of a call; write price, requires_binding, a cost that is fixed or dynamic, or determined_by if only calls without a budget are meant`,
    );
}

function isUnpriced({ cost, requires_binding = [] }: Capability): boolean {
  const { certainty, financial, determined_by } = cost ?? {};
  // An author who says what fixes the price afterwards means calls without a budget.
  const isUnfixed = certainty === 'estimated' && !!financial && determined_by === undefined;
  return isUnfixed && requires_binding.length === 0;
}

/** Hooks and policies that the specification lets an input name and that nothing here can ask. */
function idleResolutions(
  { catalog, resolvers, actorPolicy }: ServiceDefinition,
  policies: Settings['actor_policies'],
): string[] {
  return [...catalog.capabilities.values()].flatMap(({ name, inputs }) =>
    inputs.flatMap((input) => {
      const where = `of input "${input.name}" of capability "${name}"`;
      const isRuled = actorPolicy || policies.some(({ inputs: ruled }) => ruled[input.name]);
      const isPolicyless = input.resolution?.mode === 'actor_policy_or_explicit' && !isRuled;
      return [
        ...idleHooks(input, (reference) => resolvers.has(reference)).map(
          ([hook, why]) => `The ${hook} ${where} can never apply: ${why}`,
        ),
        ...(isPolicyless
          ? [
              `The mode "actor_policy_or_explicit" ${where} takes every value: no actor policy names the input`,
            ]
          : []),
      ];
    }),
  );
}

/** Names of other services cannot be checked; those under this service's own id can. */
function strayHints({ id, catalog }: ServiceDefinition): string[] {
  return [...catalog.capabilities.values()].flatMap(({ name, cross_service = {} }) =>
    Object.entries(cross_service).flatMap(([relation, targets = []]) =>
      targets
        .filter((each) => each.service === id && !catalog.capabilities.has(each.capability))
        .map(
          ({ capability }) =>
            `Capability "${name}" points to "${capability}" of this service (cross_service.${relation}), which is not declared`,
        ),
    ),
  );
}

function unheldScopes(
  definition: ServiceDefinition,
  { identities, entitlements }: Pick<Settings, 'identities' | 'entitlements'>,
): string[] {
  const holders = [...identities, ...entitlements];
  const isHeld = (scope: string) =>
    holders.some(({ scopes }) => scopes.some((pattern) => entitles(pattern, scope)));
  return [...capabilitiesByScope(definition)]
    .filter(([scope]) => !isHeld(scope))
    .map(
      ([scope, names]) =>
        `No configured identity or entitlement allows scope "${scope}": ${namesText(names)} cannot be called; add it to "scopes" of one in the configuration`,
    );
}

function strayStepUps(definition: ServiceDefinition, { sign_in }: Settings): string[] {
  const needed = [...capabilitiesByScope(definition).keys()];
  return sign_in.step_up.flatMap(({ scopes }, index) =>
    scopes.some((pattern) => needed.some((scope) => entitles(pattern, scope)))
      ? []
      : `Rule ${index + 1} of sign_in.step_up has no effect: no capability needs a scope that ${namesText(scopes)} matches`,
  );
}

function capabilitiesByScope({ catalog }: ServiceDefinition): Map<string, string[]> {
  const byScope = new Map<string, string[]>();
  for (const { name, minimum_scope } of catalog.capabilities.values()) {
    for (const scope of minimum_scope) byScope.set(scope, [...(byScope.get(scope) ?? []), name]);
  }
  return byScope;
}

function namesText(names: readonly string[]): string {
  const named = names.slice(0, NAMED_MAX).map((name) => `"${name}"`);
  const more = names.length - NAMED_MAX;
  return more > 0 ? `${named.join(', ')} and ${more} more` : named.join(', ');
}
