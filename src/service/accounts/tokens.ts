/**
 * Access tokens for handlers: that of the person at the root of the call, renewed in time.
 *
 * Other services replace a refresh token when it is used, and take a second use for theft. So one process renews at a
 * time: it claims the row by its version before it asks. Others use the access token that still lives, or wait and
 * read again.
 *
 * @module
 */

import { parsePrincipal } from '../../domain/authority/principal.ts';
import { pause } from '../../platform.ts';
import type { ConnectedPlace, ConnectedRecord } from '../../storage/port/connected-store.ts';
import type { AccountOptions } from '../author/accounts.ts';
import { NoEffect } from '../author/handler.ts';
import type { AccountTokens } from '../operations/parts.ts';
import {
  ANSWER_MS,
  type Granted,
  renewTokens,
  revokeAtProvider,
  type TokenAnswer,
} from './oauth.ts';
import {
  type AccountParts,
  accountEntry,
  declaredAccount,
  openTokens,
  sealTokens,
  type Tokens,
} from './parts.ts';

/** In milliseconds: a token is renewed so long before its end, so that a call can still use it. */
const EARLY_MS = 60_000;

/** In milliseconds: how long a claim lasts when the process that renews dies. */
const CLAIM_MS = ANSWER_MS + 7_000;

/** How often a process that waits for another one reads the row again, and the milliseconds in between. */
const READS_MAX = 80;
const READ_MS = 250;

/** An error code of a refusal for good. `bad_refresh_token` is the one of GitHub. */
const ENDED = ['invalid_grant', 'bad_refresh_token'];

interface Asked {
  readonly principal: string;
  readonly account: string;
  readonly options: AccountOptions;
}

export function createAccountTokens(parts: AccountParts): AccountTokens {
  const renewals = new Map<string, Promise<string>>();
  return {
    async tokenOf(principal, account) {
      const options = declaredAccount(parts, account);
      if (!options) throw new Error(`Cannot use account "${account}": the service declares none`);
      const asked = { principal, account, options };
      if (!isPerson(principal)) throw noPerson(asked);
      const { found, tokens } = await connectedOf(parts, asked);
      if (livesFor(parts, found, EARLY_MS)) return tokens.access;
      const key = JSON.stringify([principal, account]);
      let renewal = renewals.get(key);
      if (!renewal) {
        renewal = renew(parts, asked).finally(() => renewals.delete(key));
        renewals.set(key, renewal);
      }
      return renewal;
    },
  };
}

/** Only people sign in, so only they can connect an account. */
function isPerson(principal: string): boolean {
  return ['human', 'oidc'].includes(parsePrincipal(principal)?.class ?? '');
}

function livesFor(
  { store }: AccountParts,
  { expires_at }: ConnectedRecord,
  remainingMs: number,
): boolean {
  return expires_at === undefined || expires_at.getTime() - store.now().getTime() > remainingMs;
}

/** The access token after a renewal by this process or another one. */
async function renew(parts: AccountParts, asked: Asked): Promise<string> {
  for (let reads = 0; reads < READS_MAX; reads++) {
    const access = await renewOnce(parts, asked);
    if (access !== undefined) return access;
  }
  throw unreachable(asked);
}

/** Undefined when the row has to be read again. */
async function renewOnce(parts: AccountParts, asked: Asked): Promise<string | undefined> {
  const { found, tokens } = await connectedOf(parts, asked);
  if (livesFor(parts, found, EARLY_MS)) return tokens.access;
  const now = parts.store.now();
  const isClaimed = found.renewing_until !== undefined && found.renewing_until > now;
  if (tokens.refresh === undefined || isClaimed) {
    if (livesFor(parts, found, 0)) return tokens.access;
    if (!isClaimed) throw missing(parts, asked, 'has to connect it again, because it has expired');
    await pause(parts.platform, READ_MS);
    return undefined;
  }
  const renewing_until = new Date(now.getTime() + CLAIM_MS);
  const claim = { ...found, version: found.version + 1, renewing_until };
  if (!(await parts.store.replaceConnected(claim, found))) return undefined;
  return renewClaimed(parts, asked, claim, tokens);
}

async function connectedOf(
  parts: AccountParts,
  asked: Asked,
): Promise<{ readonly found: ConnectedRecord; readonly tokens: Tokens }> {
  const found = await parts.store.findConnected(asked);
  const tokens = found && openTokens(parts, found);
  if (!tokens) throw missing(parts, asked, 'has not connected it');
  return { found, tokens };
}

/** Asks the other service. Undefined when the row has changed meanwhile. */
async function renewClaimed(
  parts: AccountParts,
  asked: Asked,
  claim: ConnectedRecord,
  tokens: Tokens,
): Promise<string | undefined> {
  const answer = await renewTokens(parts, asked.options, tokens.refresh as string);
  if ('granted' in answer) return keepRenewed(parts, asked, claim, answer.granted);
  if ('refused' in answer && ENDED.includes(answer.refused)) {
    const entry = accountEntry(parts, 'account_refresh_refused', claim);
    if (!(await parts.store.endConnected(asked, claim, entry))) return undefined;
    throw missing(parts, asked, 'has to connect it again, because the other service ended it');
  }
  report(parts, asked, answer);
  const released = { ...claim, version: claim.version + 1, renewing_until: undefined };
  await parts.store.replaceConnected(released, claim);
  if (livesFor(parts, claim, 0)) return tokens.access;
  throw unreachable(asked);
}

/** The old refresh token is worthless now, so the store is asked until it takes the new one. */
async function keepRenewed(
  parts: AccountParts,
  asked: Asked,
  claim: ConnectedRecord,
  granted: Granted,
): Promise<string | undefined> {
  const { access, refresh, lifeSeconds, scopes = claim.scopes } = granted;
  const next: ConnectedRecord = {
    ...claim,
    version: claim.version + 1,
    sealed: sealTokens(parts, asked, { access, refresh }),
    scopes,
    expires_at: expiryTime(parts.store.now(), lifeSeconds),
    renewing_until: undefined,
  };
  if (await parts.settler.insist(() => parts.store.replaceConnected(next, claim))) return access;
  const found = await parts.store.findConnected(asked);
  // An attempt whose answer was lost has stored it.
  if (found?.sealed === next.sealed) return access;
  if (found?.connection_id !== claim.connection_id) {
    void parts.work.track(revokeTokens(parts, asked, { access, refresh }));
  }
  return undefined;
}

export function expiryTime(now: Date, lifeSeconds: number | undefined): Date | undefined {
  return lifeSeconds === undefined ? undefined : new Date(now.getTime() + lifeSeconds * 1_000);
}

/** The reason is ours, or an error code. */
function report(
  { log }: AccountParts,
  { principal, account }: Asked,
  answer: Exclude<TokenAnswer, { granted: unknown }>,
): void {
  const why = 'refused' in answer ? answer.refused : answer.unusable;
  log.warn({ principal, account, why }, 'the tokens of an account could not be renewed');
}

function noPerson({ principal, account }: Asked): NoEffect {
  const state = `${principal} is at the root of this delegation, and only people can connect one`;
  return new NoEffect(`Cannot use account "${account}": ${state}`, 'account_required');
}

function missing(
  { pageUrl }: AccountParts,
  { principal, account, options: { title } }: Asked,
  why: string,
): NoEffect {
  const url = pageUrl(`/accounts/${account}`);
  const where =
    url === undefined
      ? 'no person can sign in at this service'
      : `${principal} connects it at ${url}`;
  const detail = `Cannot use account "${account}" (${title}): ${principal} ${why}; ${where}`;
  return new NoEffect(detail, 'account_required', url === undefined ? {} : { requires: [url] });
}

function unreachable({ account, options: { title } }: Asked): NoEffect {
  const detail = `Cannot use account "${account}": ${title} does not renew its tokens now`;
  return new NoEffect(detail, 'service_unavailable', { estimated_availability: 'PT30S' });
}

/** In milliseconds: the waits before the second and the third attempt. */
const WAITS_MS = [500, 2_000];

type Revoking = Pick<AccountParts, 'definition' | 'keyring' | 'platform' | 'callOut' | 'log'>;

/** Never rejects. `isStopping` ends the attempts early. */
export async function revokeRow(
  parts: Revoking,
  record: ConnectedRecord,
  isStopping: () => boolean = () => false,
): Promise<void> {
  const tokens = openTokens(parts, record);
  if (tokens) await revokeTokens(parts, record, tokens, isStopping);
}

/**
 * Ends tokens at the other service, as well as it can be done. The row is deleted first, so this service uses them no
 * more, whatever the other one answers. After a bounded number of attempts the log says that they may still live there.
 */
export async function revokeTokens(
  parts: Revoking,
  { principal, account }: ConnectedPlace,
  { access, refresh }: Tokens,
  isStopping: () => boolean = () => false,
): Promise<void> {
  const options = declaredAccount(parts, account);
  if (!options) return;
  for (const waitMs of [...WAITS_MS, undefined]) {
    // The refresh token first: it would give new access tokens.
    const taken =
      (refresh === undefined ||
        (await revokeAtProvider(parts, options, refresh, 'refresh_token'))) &&
      (await revokeAtProvider(parts, options, access, 'access_token'));
    if (taken) return;
    if (waitMs === undefined || isStopping()) break;
    await pause(parts.platform, waitMs);
  }
  parts.log.warn({ principal, account }, 'the tokens of an account may still be valid elsewhere');
}
