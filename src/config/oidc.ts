/**
 * What is wrong between identity providers that are each configured rightly.
 *
 * One claim must name one principal, and one principal must be claimed by one provider: whatever two
 * could both say of somebody, the service would believe of either.
 *
 * @module
 */

import type { OidcIssuer } from './parts.ts';

type IssuerRule = (config: { readonly oidc: readonly OidcIssuer[] }) => string | undefined;

/** Which rules apply to a token would depend on their order. */
const repeatedIssuer: IssuerRule = ({ oidc }) => {
  const issuers = oidc.map(({ issuer }) => issuer);
  const twice = issuers.find((issuer, index) => issuers.indexOf(issuer) !== index);
  return twice && `Cannot tell issuers apart: "${twice}" stands twice`;
};

/**
 * Two issuers without names would share one space of subjects, and one without could spell the name
 * of another in its own: each could imitate the other's.
 */
const unnamedIssuers: IssuerRule = ({ oidc }) => {
  const names = new Set(oidc.flatMap(({ name }) => name ?? []));
  if (oidc.length < 2 || names.size === oidc.length) return undefined;
  return `Cannot tell issuers apart: give each of ${oidc.length} a "name" of its own`;
};

/** With several issuers, each would otherwise vouch for the people of all others. */
const unboundEmails: IssuerRule = ({ oidc }) => {
  const unbound = oidc.find(({ email_domains }) => email_domains === undefined);
  if (oidc.length < 2 || !unbound) return undefined;
  return `Cannot tell whom "${unbound.issuer}" may vouch for: with several issuers, each needs "email_domains" (an empty list for none)`;
};

/** Both would be believed about one address, so either could claim the people of the other. */
const sharedDomain: IssuerRule = ({ oidc }) => {
  const owners = new Map<string, string>();
  for (const { issuer, email_domains = [] } of oidc) {
    for (const domain of new Set(email_domains)) {
      const owner = owners.get(domain);
      if (owner === undefined) owners.set(domain, issuer);
      else {
        return `Cannot tell whose people those of "${domain}" are: both "${owner}" and "${issuer}" have it in "email_domains"`;
      }
    }
  }
  return undefined;
};

/** Two prefixes are cut off to one name: "svc-x" and "job-x" would be one principal, "service:x". */
const sharedAccounts: IssuerRule = ({ oidc }) => {
  for (const { issuer, service_accounts } of oidc) {
    for (const [index, rule] of service_accounts.entries()) {
      const twin = service_accounts
        .slice(0, index)
        .find((other) => other.class === rule.class && other.prefix !== rule.prefix);
      if (!twin) continue;
      return `Cannot tell the service accounts of "${issuer}" apart: "${twin.prefix}x" and "${rule.prefix}x" would both be "${rule.class}:x"; give one class one prefix`;
    }
  }
  return undefined;
};

/** In the order in which their faults are listed. */
export const ISSUER_RULES: readonly IssuerRule[] = [
  repeatedIssuer,
  unnamedIssuers,
  unboundEmails,
  sharedDomain,
  sharedAccounts,
];
