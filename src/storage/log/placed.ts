/**
 * Writes entries at given places, from a backup, and ends a log.
 *
 * @module
 */

import type { StoredEntry } from '../../domain/log/entry.ts';
import { firstPlaceOf, nextPlaceAfter } from '../../domain/log/origin.ts';
import type { Steps } from '../../steps.ts';
import type { TreeHead } from '../port/log-store.ts';
import type { SqlRows } from '../sql/sql.ts';
import { closeBlock, HOLD_INDEX, indexNext } from './block-index.ts';
import { refuseUnfit } from './segment.ts';
import { insertEntries, insertOrigin } from './tree.ts';

/** Entries that are written together. */
const TOGETHER = 256;

/**
 * Writes entries in order of their places, above the tree `head`, with their index blocks. Returns the tree
 * with them; the head row stays. Only inside a transaction.
 */
export function* insertPlaced(
  sql: SqlRows,
  head: TreeHead,
  entries: readonly StoredEntry[],
  segmentBytes?: number,
): Steps<TreeHead> {
  let tree = head;
  for (let at = 0; at < entries.length; ) {
    const first = firstPlaceOf((entries[at] as StoredEntry).sequence);
    if (first !== tree.first) {
      yield* closeBlock(sql, tree);
      tree = { first, size: 0, peaks: [] };
    }
    const part = entries.slice(at, at + TOGETHER);
    const own = part.filter(({ sequence }) => firstPlaceOf(sequence) === first);
    refuseUnfit(own, tree.first + tree.size);
    tree = yield* insertEntries(sql, tree, own, segmentBytes);
    while (yield* indexNext(sql, tree));
    at += own.length;
  }
  return tree;
}

/** Ends the log with this tree, and begins the next one above the number `signed`. Returns its tree, without an entry. */
export function* beginTree(
  sql: SqlRows,
  head: TreeHead,
  logId: string,
  signed: number,
): Steps<TreeHead> {
  // No entry follows in the ended log, so its last block is not full.
  yield* sql.lock(HOLD_INDEX);
  yield* closeBlock(sql, head);
  const first = nextPlaceAfter(head.first, signed);
  yield* insertOrigin(sql, first, logId);
  return { first, size: 0, peaks: [] };
}
