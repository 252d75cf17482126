/**
 * External identities: whether a token of an identity provider was issued for this service, and which
 * principal its claims map to.
 *
 * A claim becomes a name inside one class and can never spell the prefix of another class. Configuration
 * limits what an issuer may assert. A claim beyond that limit is ignored, and the token maps to the
 * issuer's own subject. Does not verify signatures: the caller has verified the token.
 *
 * @module
 */

import { principalOf } from './principal.ts';

export interface ServiceAccountRule {
  /** The claim that identifies a service account, such as `sub` or `client_id`. */
  readonly claim: string;
  /** The prefix of the claim; the rest is the name. */
  readonly prefix: string;
  readonly class: 'agent' | 'service';
}

export interface MappingRules {
  /** Keeps the subjects and service accounts of several issuers apart. */
  readonly name?: string | undefined;
  /** When true, an e-mail address without the claim `email_verified` is not used. */
  readonly require_email_verified: boolean;
  /** Domains this issuer may vouch for; all when absent. */
  readonly email_domains?: readonly string[] | undefined;
  readonly service_accounts: readonly ServiceAccountRule[];
}

export interface PartyRules {
  readonly audience: string;
  /** The clients whose tokens are accepted; all when absent. */
  readonly authorized_parties?: readonly string[] | undefined;
}

export type Claims = Readonly<Record<string, unknown>>;

/** Clocks of different companies differ by less than this. */
export const SKEW_SECONDS = 60;

/** The reason why a verified token does not prove an identity to this service, or `undefined`. */
export function unfitToken(
  { typ, claims }: { typ: unknown; claims: Claims },
  rules: PartyRules,
  now: Date,
): string | undefined {
  if (!isIdentityToken(typ, claims)) return 'it is of another kind';
  const issuedAt = Number(claims.iat) * 1_000;
  if (issuedAt > now.getTime() + SKEW_SECONDS * 1_000) return 'it was issued in the future';
  return isForUs(claims, rules) ? undefined : 'it was issued for another party';
}

/** The principal, or `undefined` when the claims map to none. */
export function principalOfClaims(claims: Claims, rules: MappingRules): string | undefined {
  const account = serviceAccount(claims, rules.service_accounts);
  if (account) return ownPrincipal(account.class, account.name, rules);
  const email = usableEmail(claims, rules);
  const human = email && principalOf('human', email);
  if (human) return human;
  return typeof claims.sub === 'string' ? ownPrincipal('oidc', claims.sub, rules) : undefined;
}

/**
 * A subject or account under the issuer's own name. The text is checked before that name precedes it:
 * "human:bob" is refused in "corp/human:bob" too. The text must be in NFC, because two subjects that an
 * issuer keeps apart must not become one principal.
 */
function ownPrincipal(
  kind: 'oidc' | ServiceAccountRule['class'],
  text: string,
  rules: MappingRules,
) {
  if (principalOf(kind, text) !== `${kind}:${text}`) return undefined;
  return principalOf(kind, rules.name ? `${rules.name}/${text}` : text);
}

/**
 * Identity and access tokens have no `typ` or one of these. Other tokens that an issuer signs (a logout
 * token, a security event, an artefact of this service) may carry the same claims and do not prove who
 * presents them.
 */
function isIdentityToken(typ: unknown, claims: Claims): boolean {
  return (typ === undefined || IDENTITY_TYP.test(String(typ))) && claims.events === undefined;
}
const IDENTITY_TYP = /^(?:application\/)?(?:at\+)?jwt$/i;

/**
 * The party a token was issued to is `azp`, in access tokens `client_id` (RFC 9068). A token with several
 * audiences must name this service as `azp`: otherwise another audience could pass the token on.
 */
function isForUs(claims: Claims, { audience, authorized_parties }: PartyRules): boolean {
  const { aud, azp, client_id } = claims;
  if (authorized_parties) {
    const parties = [azp, client_id].filter((party) => party !== undefined);
    return (
      parties.length > 0 && parties.every((party) => authorized_parties.includes(party as string))
    );
  }
  return !(Array.isArray(aud) && aud.length > 1) || azp === audience;
}

function serviceAccount(claims: Claims, rules: readonly ServiceAccountRule[]) {
  for (const { claim, prefix, class: kind } of rules) {
    const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
    if (typeof value !== 'string' || !value.startsWith(prefix)) continue;
    return { class: kind, name: value.slice(prefix.length) };
  }
  return undefined;
}

/**
 * Two addresses are equal only when nothing but the case of ASCII letters differs. Wider folding causes
 * collisions: the Kelvin sign, which a mail server does not treat as K, becomes K in NFC and in lower case.
 */
function usableEmail(claims: Claims, rules: MappingRules): string | undefined {
  const { email, email_verified: verified } = claims;
  if (typeof email !== 'string' || !/^[^@\s]+@[^@\s]+$/.test(email)) return undefined;
  if (verified === undefined ? rules.require_email_verified : verified !== true) return undefined;
  if (email !== email.normalize('NFC')) return undefined;
  const address = email.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  const domain = address.slice(address.lastIndexOf('@') + 1);
  if (rules.email_domains && !rules.email_domains.includes(domain)) return undefined;
  return address;
}
