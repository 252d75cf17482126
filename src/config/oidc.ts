/**
 * Finds conflicts between identity providers that are each valid.
 *
 * One claim must name one principal, and only one provider may vouch for a principal: otherwise
 * one provider could impersonate the people of another.
 *
 * @module
 */

import type { OidcIssuer } from './parts.ts';

type IssuerRule = (config: { readonly oidc: readonly OidcIssuer[] }) => string | undefined;

/** Otherwise the order of the rules would decide which one applies to a token. */
const repeatedIssuer: IssuerRule = ({ oidc }) => {
  const issuers = oidc.map(({ issuer }) => issuer);
  const twice = issuers.find((issuer, index) => issuers.indexOf(issuer) !== index);
  return twice && `Cannot distinguish the issuers: "${twice}" appears twice`;
};

/**
 * Two issuers without names would share their subjects, and one without a name could use the name
 * of another in a subject: each could imitate subjects of the other.
 */
const unnamedIssuers: IssuerRule = ({ oidc }) => {
  const names = new Set(oidc.flatMap(({ name }) => name ?? []));
  if (oidc.length < 2 || names.size === oidc.length) return undefined;
  return `Cannot distinguish the issuers: give each of ${oidc.length} a "name" of its own`;
};

/** Without `email_domains`, each of several issuers could vouch for the people of the others. */
const unboundEmails: IssuerRule = ({ oidc }) => {
  const unbound = oidc.find(({ email_domains }) => email_domains === undefined);
  if (oidc.length < 2 || !unbound) return undefined;
  return `Cannot accept the addresses of "${unbound.issuer}": with several issuers, each needs "email_domains" (an empty list for none)`;
};

/** Otherwise either issuer could vouch for the people of the other. */
const sharedDomain: IssuerRule = ({ oidc }) => {
  const owners = new Map<string, string>();
  for (const { issuer, email_domains = [] } of oidc) {
    for (const domain of new Set(email_domains)) {
      const owner = owners.get(domain);
      if (owner === undefined) owners.set(domain, issuer);
      else {
        return `Cannot assign the domain "${domain}": both "${owner}" and "${issuer}" have it in "email_domains"`;
      }
    }
  }
  return undefined;
};

/** Two prefixes can lead to one name: "svc-x" and "job-x" would both be the principal "service:x". */
const sharedAccounts: IssuerRule = ({ oidc }) => {
  for (const { issuer, service_accounts } of oidc) {
    for (const [index, rule] of service_accounts.entries()) {
      const twin = service_accounts
        .slice(0, index)
        .find((other) => other.class === rule.class && other.prefix !== rule.prefix);
      if (!twin) continue;
      return `Cannot distinguish the service accounts of "${issuer}": "${twin.prefix}x" and "${rule.prefix}x" would both be "${rule.class}:x"; give one class one prefix`;
    }
  }
  return undefined;
};

/** In the order in which faults are listed. */
export const ISSUER_RULES: readonly IssuerRule[] = [
  repeatedIssuer,
  unnamedIssuers,
  unboundEmails,
  sharedDomain,
  sharedAccounts,
];
