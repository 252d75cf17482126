/**
 * External identities: which principal the claims of an identity provider stand for.
 *
 * A claim becomes a name inside one class and can never spell another class's prefix. What an issuer
 * may assert is configuration; what it asserts beyond that names nobody but its own subject.
 *
 * @module
 */

import { principalOf } from './principal.ts';

export interface ServiceAccountRule {
  /** The claim that tells a service account, such as `sub` or `client_id`. */
  readonly claim: string;
  /** What the claim begins with; the rest is the name. */
  readonly prefix: string;
  readonly class: 'agent' | 'service';
}

export interface MappingRules {
  /** Keeps the subjects of several issuers apart. */
  readonly name?: string | undefined;
  /** An e-mail address without `email_verified` does not count either. */
  readonly require_email_verified: boolean;
  /** Domains this issuer may vouch for; all when absent. */
  readonly email_domains?: readonly string[] | undefined;
  readonly service_accounts: readonly ServiceAccountRule[];
}

export type Claims = Readonly<Record<string, unknown>>;

/** The principal, or `undefined` when the claims name nobody in an admissible way. */
export function principalOfClaims(claims: Claims, rules: MappingRules): string | undefined {
  const account = serviceAccount(claims, rules.service_accounts);
  if (account) return principalOf(account.class, account.name);
  const email = usableEmail(claims, rules);
  if (email) return principalOf('human', email);
  if (typeof claims.sub !== 'string') return undefined;
  return principalOf('oidc', rules.name ? `${rules.name}/${claims.sub}` : claims.sub);
}

function serviceAccount(claims: Claims, rules: readonly ServiceAccountRule[]) {
  for (const { claim, prefix, class: kind } of rules) {
    const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
    if (typeof value !== 'string' || !value.startsWith(prefix)) continue;
    return { class: kind, name: value.slice(prefix.length) };
  }
  return undefined;
}

/** Addresses are compared without case: two people do not share one in two spellings. */
function usableEmail(claims: Claims, rules: MappingRules): string | undefined {
  const { email, email_verified: verified } = claims;
  if (typeof email !== 'string' || !/^[^@\s]+@[^@\s]+$/.test(email)) return undefined;
  if (verified === undefined ? rules.require_email_verified : verified !== true) return undefined;
  const address = email.normalize('NFC').toLowerCase();
  const domain = address.slice(address.lastIndexOf('@') + 1);
  if (rules.email_domains && !rules.email_domains.includes(domain)) return undefined;
  return address;
}
