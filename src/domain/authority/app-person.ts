/**
 * People whom the app around a mounted service names: reads what its hook returned.
 *
 * The app says who a person is, and may say that the person has less than the rules of the configuration give. It
 * never gives more: a rule is known also while nobody asks, so a grant can be checked again after its approver left.
 *
 * @module
 */

import { foreignMember, foreignTime, readForeign } from '../wire/foreign.ts';
import { BODY_LIMITS, isObject } from '../wire/json.ts';
import type { Entitlement } from './entitlement.ts';
import { parsePrincipal } from './principal.ts';
import { entitlesPattern } from './scope-pattern.ts';
import { conditionsWithin, readEntitled } from './token-conditions.ts';

export interface AppPerson extends Entitlement {
  /** When the person signed in to the app, where the app says it. */
  readonly signedInAt?: Date | undefined;
}

/** Scopes of one person: more than a service declares. */
const SCOPES_MAX = 1_000;

type Reading = { readonly person: AppPerson } | { readonly fault: string };

/** `ruleOf` says what the configuration entitles a principal to. A fault never quotes the value: it may be a session. */
export function readAppPerson(value: unknown, ruleOf: (principal: string) => Entitlement): Reading {
  const reading = readForeign(value, BODY_LIMITS);
  if ('fault' in reading) return reading;
  const given = isObject(reading.value) ? reading.value : { principal: reading.value };
  const { principal, scopes } = given;
  if (typeof principal !== 'string' || parsePrincipal(principal)?.class !== 'human') {
    return { fault: 'expected a principal of class "human", such as "human:ann@shop.example"' };
  }
  const rule = ruleOf(principal);
  if (typeof reading.value === 'string') return { person: rule };
  if (!isScopeList(scopes)) {
    return { fault: `expected "scopes", a list of at most ${SCOPES_MAX} texts` };
  }
  const beyond = scopes.some((scope) => !rule.scopes.some((held) => entitlesPattern(held, scope)));
  if (beyond) return { fault: 'its "scopes" have one that no rule of "entitlements" gives' };
  const conditions = personConditions(given.conditions, rule);
  if (!conditions) {
    return { fault: 'its "conditions" cannot be read, or are wider than those of "entitlements"' };
  }
  // Not from the copy: a text of a time may leave out its zone.
  const signedIn = foreignMember(value, 'signed_in_at');
  if (signedIn === undefined) return { person: { ...rule, ...conditions, scopes } };
  const time = foreignTime(signedIn);
  if (time === undefined) return { fault: 'expected "signed_in_at" as a Date' };
  return { person: { ...rule, ...conditions, scopes, signedInAt: new Date(time) } };
}

/** Those of the rule, and what the app adds. */
function personConditions(
  added: unknown,
  { conditions }: Entitlement,
): Pick<Entitlement, 'conditions'> | undefined {
  if (added === undefined || added === null) return {};
  const read = readEntitled(added);
  return 'fault' in read ? undefined : conditionsWithin(conditions, read.conditions);
}

function isScopeList(value: unknown): value is string[] {
  return (
    Array.isArray(value) &&
    value.length <= SCOPES_MAX &&
    value.every((scope) => typeof scope === 'string')
  );
}
