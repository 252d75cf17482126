/**
 * Accounts as transports use them: what a person has connected, and how they connect and disconnect it.
 *
 * @module
 */

import type { ConnectedPlace, ConnectedRecord } from '../../storage/port/connected-store.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { type Repeated, startRepeating } from '../pace/repeated.ts';
import { livingToken } from '../sign-in/consents.ts';
import type { Session } from '../sign-in/sessions.ts';
import { refusingWhileAway } from '../sign-in/sign-in.ts';
import { type Connecting, createConnecting } from './connect.ts';
import { type AccountParts, accountEntry, openTokens } from './parts.ts';
import { createAccountTokens, revokeRow } from './tokens.ts';

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

/** In milliseconds: the longest delay after a delegation ended in another process, or expired. */
const LOOK_MS = 60_000;

/** Rows in one read; so many are ended at the other services at once. */
const BATCH = 16;

/** Root tokens in one read: about a millisecond of an embedded store. */
const ROOTS_PAGE = 128;

/** In milliseconds: an account that no delegation ever used is kept so long for the first one. */
const UNUSED_MS = 86_400_000;

/**
 * Ends accounts with the last delegation of their person: revoked, expired, or ended with the person.
 *
 * A call uses an account only while its whole lineage lives, so nothing can use the account of a person without a
 * living delegation. This task deletes its tokens here and ends them at the other service.
 */
function startAccountEnds(parts: AccountParts, everyMs: number = LOOK_MS): Repeated {
  let isStopping = false;
  const onError = (error: unknown) => parts.log.error({ err: error }, 'ending accounts failed');
  const task = startRepeating(
    parts.platform,
    () => endAll(parts, () => isStopping),
    everyMs,
    onError,
  );
  return {
    nudge: task.nudge,
    stop() {
      isStopping = true;
      return task.stop();
    },
  };
}

async function endAll(parts: AccountParts, isStopping: () => boolean): Promise<void> {
  const slices = parts.lane.slices();
  let after: ConnectedPlace | undefined;
  while (!isStopping()) {
    const page = await parts.store.listConnected(BATCH, after);
    const ended: ConnectedRecord[] = [];
    for (const row of page) {
      await slices.turn();
      if (!(await isOver(parts, row))) continue;
      const entry = accountEntry(parts, 'account_ended', row);
      const { connection_id } = row;
      const found = await parts.store.endConnected(row, { connection_id }, entry);
      if (found) ended.push(found);
    }
    // All rows of the batch are gone by now, so a service that hangs delays only the next batch.
    await Promise.all(ended.map((row) => revokeRow(parts, row, isStopping)));
    if (page.length < BATCH) return;
    after = page.at(-1);
  }
}

/** Whether no delegation of the person lives, and one did since the person connected the account. */
async function isOver(
  parts: AccountParts,
  { principal, connected_at }: ConnectedRecord,
): Promise<boolean> {
  const now = parts.store.now();
  const connectedAt = connected_at.getTime();
  // Also true of a time that an edit made unreadable.
  let isUsed = !(now.getTime() - connectedAt < UNUSED_MS);
  const slices = parts.lane.slices();
  let before: string | undefined;
  do {
    const roots = await parts.store.rootsOf(principal, ROOTS_PAGE, before);
    for (const { token_id, revoked_at, expires_at } of roots) {
      const end = Math.min(revoked_at?.getTime() ?? Number.POSITIVE_INFINITY, expires_at.getTime());
      if (end > now.getTime() && (await livingToken(parts, { token_id }))) return false;
      // A token that counts as revoked for another reason, such as an ended log, has been used too.
      if (end > connectedAt) isUsed = true;
    }
    before = roots.length === ROOTS_PAGE ? roots.at(-1)?.token_id : undefined;
    await slices.turn();
  } while (before !== undefined);
  return isUsed;
}
