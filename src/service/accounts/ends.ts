/**
 * Ends accounts with the last delegation of their person: revoked, expired, or ended with the person.
 *
 * A call uses an account only while its whole lineage lives, so nothing can use the account of a person without a
 * living delegation. This task deletes its tokens here and ends them at the other service.
 *
 * @module
 */

import type { ConnectedPlace, ConnectedRecord } from '../../storage/port/connected-store.ts';
import { type Repeated, startRepeating } from '../pace/repeated.ts';
import { livingToken } from '../sign-in/consents.ts';
import { type AccountParts, accountEntry } from './parts.ts';
import { revokeRow } from './revoke.ts';

/** In milliseconds: the longest delay after a delegation ended in another process, or expired. */
const LOOK_MS = 60_000;

/** Rows in one read; so many are ended at the other services at once. */
const BATCH = 16;

/** Root tokens in one read: about a millisecond of an embedded store. */
const ROOTS_PAGE = 128;

/** In milliseconds: an account that no delegation ever used is kept so long for the first one. */
const UNUSED_MS = 86_400_000;

export function startAccountEnds(parts: AccountParts, everyMs: number = LOOK_MS): Repeated {
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
