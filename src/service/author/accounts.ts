/**
 * Accounts of people at other services, as an author declares them: where people log in, and as which client.
 *
 * Only reads and checks declarations. `service/accounts` does the logins.
 *
 * @module
 */

import { bareHost, isLoopback } from '../../address/host.ts';
import { type Fault, serviceFault } from '../../domain/catalog/fault.ts';

/**
 * An OAuth service at which each person has an account of their own, and this service as its client.
 *
 * @example
 * import type { AccountOptions } from 'writ';
 *
 * const tracker: AccountOptions = {
 *   title: 'Issue tracker',
 *   authorize: 'https://tracker.example.com/oauth/authorize',
 *   token: 'https://tracker.example.com/oauth/token',
 *   revoke: 'https://tracker.example.com/oauth/revoke',
 *   client_id: 'desk',
 *   client_secret: process.env.TRACKER_SECRET ?? 'secret of the example',
 *   scopes: ['issues.read'],
 * };
 */
export interface AccountOptions {
  /** What people call it. */
  readonly title: string;
  /** Where the browser of a person goes to log in. */
  readonly authorize: string;
  /** Where this service gets and renews tokens. */
  readonly token: string;
  /** Where this service ends tokens (RFC 7009). Without it, they are only deleted here. */
  readonly revoke?: string | undefined;
  readonly client_id: string;
  readonly client_secret?: string | undefined;
  /** How the secret is sent: as HTTP Basic (RFC 6749, 2.3.1) by default, or in the form. */
  readonly client_authentication?: 'basic' | 'post' | undefined;
  readonly scopes: readonly string[];
  /** The API that the tokens are for (RFC 8707). */
  readonly resource?: string | undefined;
  /** The issuer that answers must name (RFC 9207). Without it, an answer may name any or none. */
  readonly issuer?: string | undefined;
  /** The hosts of `token` and `revoke` may have inside addresses; on loopback also plain http. */
  readonly inside?: boolean | undefined;
}

export type DeclaredAccounts = Readonly<Record<string, AccountOptions>>;

/** Accounts of one service. Its page of accounts shows them all. */
const ACCOUNTS_MAX = 32;

/** Scopes of one account, and characters of a text in a declaration. */
const SCOPES_MAX = 64;
const TEXT_LENGTH_MAX = 1_000;

/** Part of the address where people connect it. */
const NAME = /^[a-z][a-z0-9_-]{0,63}$/;

/** RFC 6749, 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/;

export function accountFaults(id: string, declared: DeclaredAccounts = {}): Fault[] {
  const accounts = Object.entries(declared);
  if (accounts.length > ACCOUNTS_MAX) {
    return [serviceFault(id, 'accounts', `a service has at most ${ACCOUNTS_MAX}`)];
  }
  return accounts.flatMap(([name, options]) => {
    const field = `accounts.${name}`;
    if (!NAME.test(name)) {
      return [serviceFault(id, field, 'expected a name in small letters, such as "tracker"')];
    }
    return faultsOf(options).map(([member, found]) => ({
      ...serviceFault(id, `${field}.${member}`, found),
      // What stands there may be a secret that was put there by mistake.
      written: 'is refused',
    }));
  });
}

type Found = [member: string, fault: string];

function faultsOf(options: AccountOptions): Found[] {
  const { title, client_id, client_secret, client_authentication: how, scopes, inside } = options;
  const found: (Found | false)[] = [
    !isText(title) && ['title', 'expected a short text'],
    ...(['authorize', 'token'] as const).map((member) => unusableUrl(member, options)),
    options.revoke !== undefined && unusableUrl('revoke', options),
    !isText(client_id) && ['client_id', 'expected the id of this service as a client'],
    client_secret !== undefined &&
      !isText(client_secret) && ['client_secret', 'expected a text that is not empty'],
    how !== undefined &&
      !['basic', 'post'].includes(how) && ['client_authentication', 'expected "basic" or "post"'],
    !isScopes(scopes) && ['scopes', 'expected a list of scopes, such as ["issues.read"]'],
    options.resource !== undefined &&
      !isAddress(options.resource) && ['resource', 'expected the address of an API'],
    options.issuer !== undefined &&
      !isText(options.issuer) && [
        'issuer',
        'expected the issuer as the other service names itself',
      ],
    inside !== undefined && typeof inside !== 'boolean' && ['inside', 'expected true or false'],
  ];
  return found.filter((each) => each !== false);
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '' && value.length <= TEXT_LENGTH_MAX;
}

function isScopes(value: unknown): boolean {
  if (!Array.isArray(value) || value.length > SCOPES_MAX) return false;
  return value.every((scope) => typeof scope === 'string' && SCOPE.test(scope));
}

function isAddress(value: unknown): boolean {
  return typeof value === 'string' && URL.canParse(value) && new URL(value).hash === '';
}

/** A browser or this service sends secrets there, so the network must not read them. */
function unusableUrl(
  member: 'authorize' | 'token' | 'revoke',
  { inside, ...options }: AccountOptions,
): Found | false {
  const value: unknown = options[member];
  const fault: Found = [member, 'expected an https address without a user and a fragment'];
  if (!isText(value) || !isAddress(value)) return fault;
  const url = new URL(value as string);
  if (url.username !== '' || url.password !== '') return fault;
  const isHere = url.protocol === 'http:' && inside === true && isLoopback(bareHost(url));
  return url.protocol === 'https:' || isHere ? false : fault;
}
