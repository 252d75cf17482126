/**
 * Bootstrap identities: which principal presents a credential, and what it is entitled to.
 *
 * Configured credentials are stored as hashes, and found by a hash of those with a secret of this
 * process, so that the time taken shows nothing about them. Keys that operators added are found in
 * the store by their hash, at each use, so a removal counts at once on every replica. The hook of the author, then the identity providers, are asked about other credentials;
 * the rules of the configuration decide what their principals may do. By default a principal is entitled to no
 * scope, and may name only itself as a subject.
 *
 * @module
 */

import type { Config } from '../../config/config.ts';
import type { EntitlementRule, Identity } from '../../config/parts.ts';
import { readAppPerson } from '../../domain/authority/app-person.ts';
import { type Entitlement, isApproving } from '../../domain/authority/entitlement.ts';
import { isIdentityKey } from '../../domain/authority/identity-key.ts';
import { isPrincipal, matchesPrincipal } from '../../domain/authority/principal.ts';
import { entitles } from '../../domain/authority/scope-pattern.ts';
import { type ConditionsOf, faultText } from '../../domain/authority/token-conditions.ts';
import { misfits } from '../../domain/conditions/fits.ts';
import { failure, Refusal } from '../../domain/failure.ts';
import { sha256Hex } from '../../domain/wire/hash.ts';
import { newSecret } from '../../keyring/secrets.ts';
import type { Platform } from '../../platform.ts';
import type { IdentityRecord, IdentityStore } from '../../storage/port/identity-store.ts';
import type { Authenticate } from '../author/define.ts';
import type { ServiceDefinition } from '../author/definition.ts';
import { askWithin } from '../foreign/foreign.ts';
import type { Identities } from '../operations/parts.ts';
import { LATE } from '../pace/deadline.ts';
import type { ExternalIdentities } from './oidc.ts';

/** In milliseconds: how long the hook may take. It may ask a directory. */
const AUTHENTICATE_MS = 10_000;

/** Identities in the store that are not removed, at most: a larger organisation has an identity provider. */
export const STORED_IDENTITIES_MAX = 1_000;

export interface IdentitySources {
  readonly platform: Platform;
  /** Rows whose MAC matches, or the store of a test. */
  readonly stored: Pick<IdentityStore, 'findIdentity' | 'identitiesOf'>;
  readonly authenticate?: Authenticate | undefined;
  readonly external?: ExternalIdentities | undefined;
  /** What conditions may be on; absent in a test without a service. */
  readonly catalog?: ServiceDefinition['catalog'] | undefined;
  readonly off?: ServiceDefinition['off'] | undefined;
}

export function createIdentities(
  { identities, entitlements }: Pick<Config, 'identities' | 'entitlements'>,
  { platform, stored, authenticate, external, ...declared }: IdentitySources,
): Identities {
  for (const { conditions } of [...identities, ...entitlements]) {
    const unfit = unfitConditions(conditions, declared);
    if (unfit !== undefined)
      throw new Error(`Cannot use the conditions of an identity on ${unfit}`);
  }
  const configuredBy = createLookup(identities);
  /**
   * Asks a hook. An error it throws may quote the credential, so nothing of the error is used. What it returned stays
   * wrapped: a value that is a promise only when it is asked again would be waited for without a deadline.
   */
  const askHook = async (hook: () => unknown): Promise<{ readonly returned: unknown }> => {
    const heard = await askWithin(platform, AUTHENTICATE_MS, hook);
    if (heard !== LATE && 'returned' in heard) return heard;
    const detail = 'Cannot identify the caller: the credential could not be checked';
    throw new Refusal(failure('service_unavailable', detail));
  };
  const storedBy = async (digest: string) => livingOf(await stored.findIdentity(digest));
  const storedByKey = async (bearer: string, digest: string) =>
    isIdentityKey(bearer) ? storedBy(digest) : undefined;
  const identifyOther = async (bearer: string, digest: string) => {
    const identity = await storedByKey(bearer, digest);
    if (identity) return identity;
    const hooked = authenticate && (await askHook(() => authenticate(bearer)));
    const principal = hooked?.returned ?? (await external?.principal(bearer)) ?? null;
    if (principal === null) return undefined;
    // The message leaves out the value: a hook may have returned the credential itself.
    if (!isPrincipal(principal)) throw new Error('Cannot use what authenticate() returned');
    return ruleFor(entitlements, principal);
  };
  const allows = ({ scopes }: Pick<Entitlement, 'scopes'>, scope: string) =>
    scopes.some((pattern) => entitles(pattern, scope));
  /** Whether a credential or the rule of the principal is such. */
  const isAny = async (principal: string, is: (each: Pick<Entitlement, 'scopes'>) => boolean) => {
    const own = identities.filter((each) => each.principal === principal);
    if ([...own, ruleFor(entitlements, principal)].some(is)) return true;
    const kept = await stored.identitiesOf(principal, STORED_IDENTITIES_MAX);
    return kept.some((each) => livingOf(each) && is(each));
  };
  return {
    isConfigured: (bearer) => configuredBy(sha256Hex(bearer)) !== undefined,
    isConfiguredDigest: (digest) => configuredBy(digest) !== undefined,
    async byKey(bearer) {
      const digest = sha256Hex(bearer);
      return configuredBy(digest) ?? storedByKey(bearer, digest);
    },
    byDigest: async (digest) => configuredBy(digest) ?? storedBy(digest),
    async ofPerson({ principal, identity_id }) {
      const kept = await stored.identitiesOf(principal, STORED_IDENTITIES_MAX);
      return livingOf(kept.find((each) => isPerson(each) && each.identity_id === identity_id));
    },
    byRules: (principal) => ruleFor(entitlements, principal),
    identify(bearer) {
      const digest = sha256Hex(bearer);
      return configuredBy(digest) ?? identifyOther(bearer, digest);
    },
    async identifyBy(code) {
      const { returned } = await askHook(code);
      if (returned === null || returned === undefined) return undefined;
      const reading = readAppPerson(returned, (principal) => ruleFor(entitlements, principal));
      if ('fault' in reading) throw unusablePerson(reading.fault);
      const { principal, conditions } = reading.person;
      // The fault quotes a value of the app.
      if (unfitConditions(conditions, declared) !== undefined) {
        throw unusablePerson('its "conditions" do not fit the capabilities');
      }
      const kept = await stored.identitiesOf(principal, STORED_IDENTITIES_MAX);
      // The same name by two ways would be two people with one list of passkeys.
      if (identities.some((each) => each.principal === principal) || kept.some(livingOf)) {
        throw unusablePerson(`${principal} has a credential or a passkey of its own here`);
      }
      return reading.person;
    },
    isEntitled: (principal, ...scopes) =>
      isAny(principal, (each) => scopes.some((scope) => allows(each, scope))),
    mayApprove: (principal) => isAny(principal, ({ scopes }) => scopes.some(isApproving)),
  };
}

/** Conditions that no call would meet, or on what is not there: these would condition nothing. */
function unfitConditions(
  conditions: ConditionsOf | undefined,
  { catalog, off }: Pick<IdentitySources, 'catalog' | 'off'>,
): string | undefined {
  if (!conditions || !catalog) return undefined;
  for (const [name, where] of Object.entries(conditions)) {
    const capability = catalog.capabilities.get(name);
    if (!capability && off?.has(name)) continue;
    const found = capability
      ? faultText(misfits(where, capability))
      : 'the service has no such capability';
    if (found !== '') return `"${name}": ${found}`;
  }
  return undefined;
}

function unusablePerson(fault: string): Refusal {
  const detail = `Cannot identify the person: identify() of the app returned what cannot be used: ${fault}`;
  return new Refusal(failure('service_unavailable', detail));
}

/** Whether the identity has no key: its person signs in with a passkey. */
export function isPerson({ key_sha256 }: Pick<IdentityRecord, 'key_sha256'>): boolean {
  return key_sha256 === undefined;
}

function livingOf(kept: IdentityRecord | undefined): Entitlement | undefined {
  if (!kept || kept.removed_at !== undefined) return undefined;
  const { principal, scopes, subjects, caller_class, caller_classes } = kept;
  return { principal, scopes, subjects, caller_class, caller_classes };
}

/** The first rule that matches, so an exception precedes the general rule. */
function ruleFor(rules: readonly EntitlementRule[], principal: string): Entitlement {
  const rule = rules.find(({ principals }) =>
    principals.some((pattern) => matchesPrincipal(pattern, principal)),
  );
  return {
    principal,
    scopes: rule?.scopes ?? [],
    subjects: rule?.subjects ?? [],
    caller_class: rule?.caller_class ?? 'default',
    caller_classes: rule?.caller_classes ?? [],
    ...(rule?.conditions && { conditions: rule.conditions }),
  };
}

/**
 * Finds an identity by the digest of its credential, however many there are. A caller can choose a credential by its
 * digest, but not by what is looked up: that depends on a secret too. So the time of a look-up does not show whether
 * a digest came close to a configured one.
 */
function createLookup(identities: readonly Identity[]) {
  const secret = newSecret();
  const hidden = (digest: string) => sha256Hex(secret + digest);
  const known = new Map(identities.map((each) => [hidden(digestOf(each)), each] as const));
  return (digest: string): Identity | undefined => known.get(hidden(digest));
}

function digestOf({ key, key_sha256 }: Identity): string {
  return key_sha256 ?? sha256Hex(key ?? '');
}
