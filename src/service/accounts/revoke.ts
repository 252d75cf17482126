/**
 * Ends the tokens of a connected account at the other service, as well as it can be done.
 *
 * The row is deleted first, so this service uses the tokens no more, whatever the other one answers. After a bounded
 * number of attempts the log says that the tokens may still live there.
 *
 * @module
 */

import { pause } from '../../platform.ts';
import type { ConnectedPlace, ConnectedRecord } from '../../storage/port/connected-store.ts';
import { revokeAtProvider } from './oauth.ts';
import { type AccountParts, declaredAccount, openTokens, type Tokens } from './parts.ts';

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
