/**
 * The parts of accounts: the logins of people at other services, and what their files share.
 *
 * 1. `connect.ts` sends a person to the other service, and stores what comes back.
 * 2. `oauth.ts` asks the other service. It is the only file that does.
 * 3. `tokens.ts` gives a handler the access token of its person, and renews it.
 * 4. `ends.ts` ends an account with the last delegation of its person. `revoke.ts` tells the other service.
 *
 * A token is in the clear in the memory of this process only: rows have it sealed for one person and one account.
 * `accounts.ts` binds all of it.
 *
 * @module
 */

import { canonicalJson } from '../../domain/wire/canonical.ts';
import { isObject, readJson } from '../../domain/wire/json.ts';
import type { ConnectedPlace, ConnectedRecord } from '../../storage/port/connected-store.ts';
import type { AccountOptions } from '../author/accounts.ts';
import { actEntry } from '../caller/entries.ts';
import type { ServiceParts } from '../operations/parts.ts';

export interface AccountParts extends ServiceParts {
  /** Where callers reach the service. */
  baseUrl(): string;
  /** The address of a page; undefined where no person can sign in. */
  pageUrl(path: `/${string}`): string | undefined;
}

/** The tokens of one person at one other service, in the clear. */
export interface Tokens {
  readonly access: string;
  readonly refresh?: string | undefined;
}

type Sealing = Pick<ServiceParts, 'definition' | 'keyring'>;

/** Undefined when the service declares no such account. */
export function declaredAccount(
  { definition }: Pick<ServiceParts, 'definition'>,
  name: string,
): AccountOptions | undefined {
  return definition.accounts.get(name);
}

export function sealTokens(parts: Sealing, accountKey: ConnectedPlace, tokens: Tokens): string {
  return parts.keyring.rows.sealText(JSON.stringify(tokens), aboutOf(parts, accountKey));
}

/** Undefined when they were sealed for another person, account, client or token endpoint. */
export function openTokens(
  parts: Sealing,
  record: ConnectedPlace & Pick<ConnectedRecord, 'sealed'>,
): Tokens | undefined {
  const text = parts.keyring.rows.openText(record.sealed, aboutOf(parts, record));
  const read = text === undefined ? undefined : readJson(text);
  return read && 'value' in read && isObject(read.value) ? (read.value as never) : undefined;
}

/** A changed declaration must not send the tokens of one service to another. */
function aboutOf(parts: Sealing, { principal, account }: ConnectedPlace): string {
  const { token = '', client_id = '' } = declaredAccount(parts, account) ?? {};
  return `connected account\n${canonicalJson([principal, account, token, client_id])}`;
}

type Verb =
  | 'account_connected'
  | 'account_disconnected'
  | 'account_ended'
  | 'account_refresh_refused';

export function accountEntry(
  parts: Pick<ServiceParts, 'store' | 'platform'>,
  verb: Verb,
  { principal, account, scopes }: ConnectedPlace & Pick<ConnectedRecord, 'scopes'>,
) {
  const person = { principal, root_principal: principal };
  return actEntry(parts, person, { entry_type: 'session', detail: { verb, account, scopes } });
}
