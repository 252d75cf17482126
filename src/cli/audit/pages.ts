/**
 * Fetches the log of a service page by page: entries and checkpoints, newest first.
 *
 * @module
 */

import {
  AuditAnswer,
  type AuditEntry,
  CHECKPOINT_PAGE_MAX,
  type Checkpoint,
  CheckpointListAnswer,
} from '../../protocol/audit.ts';
import { operations } from '../../protocol/operations.ts';
import type { Remote } from '../shell/remote.ts';

/** Entries in one answer. With the longest leaves an answer still fits into the size limit. */
export const PAGE_SIZE = 200;

/** Pages of entries, newest first, until there are no more. */
export async function* pagesOf(
  remote: Remote,
  filters: Readonly<Record<string, string>>,
): AsyncGenerator<readonly AuditEntry[]> {
  let cursor: string | null = null;
  do {
    const asked: URLSearchParams = new URLSearchParams({
      ...filters,
      limit: String(PAGE_SIZE),
      ...(cursor !== null && { cursor }),
    });
    const value = await remote.json('POST', `${operations['audit.query'].path}?${asked}`);
    const answer = AuditAnswer.safeParse(value);
    if (!answer.success) throw new Error(`"${remote.url}" did not answer with entries`);
    yield answer.data.entries;
    cursor = answer.data.next_cursor;
  } while (cursor !== null);
}

export async function* checkpointPagesOf(remote: Remote): AsyncGenerator<readonly Checkpoint[]> {
  let cursor: string | null = null;
  do {
    const asked: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const path: string = `${operations['checkpoints.list'].path}?limit=${CHECKPOINT_PAGE_MAX}${asked}`;
    const answer = CheckpointListAnswer.safeParse(await remote.json('GET', path));
    if (!answer.success) throw new Error(`"${remote.url}" did not answer with checkpoints`);
    yield answer.data.checkpoints;
    cursor = answer.data.next_cursor;
  } while (cursor !== null);
}
