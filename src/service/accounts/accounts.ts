/**
 * Accounts as transports use them: what a person has connected, and how they connect and disconnect it.
 *
 * @module
 */

import type { ConnectedRecord } from '../../storage/port/connected-store.ts';
import type { ServiceParts } from '../operations/parts.ts';
import type { Repeated } from '../pace/repeated.ts';
import type { Session } from '../sign-in/sessions.ts';
import { refusingWhileAway } from '../sign-in/sign-in.ts';
import { type Connecting, createConnecting } from './connect.ts';
import { startAccountEnds } from './ends.ts';
import { type AccountParts, openTokens } from './parts.ts';
import { createAccountTokens } from './tokens.ts';

export interface AccountView {
  readonly name: string;
  readonly title: string;
  /** Where the person logs in. */
  readonly authorize: string;
  readonly state: 'connected' | 'expired' | 'none';
  readonly since?: Date | undefined;
  /** Those that were given, or those that would be asked for. */
  readonly scopes: readonly string[];
}

export interface AccountsView {
  readonly now: Date;
  readonly accounts: readonly AccountView[];
}

export interface Accounts extends Connecting {
  /** All declared accounts, as they stand for the person. */
  list(session: Session): Promise<AccountsView>;
}

interface OpenedAccounts<Parts> {
  /** Those that were given; where the service declares accounts, with the tokens for handlers. */
  readonly parts: Parts;
  readonly accounts?: Accounts | undefined;
  /** Nudged after each revocation. */
  startEnds(everyMs?: number): Repeated | undefined;
}

/** A service without accounts keeps its parts as they are. */
export function openAccounts<Parts extends ServiceParts>(
  given: Parts,
  { baseUrl, pageUrl }: Pick<AccountParts, 'baseUrl' | 'pageUrl'>,
): OpenedAccounts<Parts> {
  if (given.definition.accounts.size === 0) return { parts: given, startEnds: () => undefined };
  const own: AccountParts = { ...given, baseUrl, pageUrl };
  return {
    parts: { ...given, accounts: createAccountTokens(own) },
    accounts: createAccounts(own),
    startEnds: (everyMs) => startAccountEnds(own, everyMs),
  };
}

function createAccounts(parts: AccountParts): Accounts {
  const connecting = createConnecting(parts);
  const refusing = refusingWhileAway(parts.log);
  return {
    list: refusing((session) => listOf(parts, session)),
    begin: refusing(connecting.begin),
    finish: refusing(connecting.finish),
    disconnect: refusing(connecting.disconnect),
  };
}

async function listOf(
  parts: AccountParts,
  { record: { principal } }: Session,
): Promise<AccountsView> {
  const accounts: AccountView[] = [];
  for (const [name, { title, authorize, scopes }] of parts.definition.accounts) {
    const found = await parts.store.findConnected({ principal, account: name });
    const state = found ? stateOf(parts, found) : 'none';
    const given = found ? found.scopes : scopes;
    accounts.push({ name, title, authorize, state, since: found?.connected_at, scopes: given });
  }
  return { now: parts.store.now(), accounts };
}

/** An account without a refresh token ends with its access token. */
function stateOf(parts: AccountParts, record: ConnectedRecord): AccountView['state'] {
  const tokens = openTokens(parts, record);
  if (!tokens) return 'none';
  const isOver = record.expires_at !== undefined && record.expires_at <= parts.store.now();
  return isOver && tokens.refresh === undefined ? 'expired' : 'connected';
}
