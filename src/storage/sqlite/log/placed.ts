/**
 * Writes entries that have their places already, from a backup.
 *
 * @module
 */

import type { StoredEntry } from '../../../domain/log/entry.ts';
import { firstPlaceOf } from '../../../domain/log/origin.ts';
import { refuseUnfit } from '../../log/segment.ts';
import type { TreeHead } from '../../port/store.ts';
import type { Connection } from '../connection.ts';
import { closeBlock, createSight, keepCommitted } from './sight.ts';
import { insertEntries } from './writer.ts';

/** Entries that are written at once. */
const TOGETHER = 256;

/** Writes entries in order of their places, above the tree `head`. Returns the tree with them. */
export function insertPlaced(
  connection: Connection,
  head: TreeHead,
  entries: readonly StoredEntry[],
): TreeHead {
  const sight = createSight();
  let tree = head;
  for (let at = 0; at < entries.length; ) {
    const place = (entries[at] as StoredEntry).sequence;
    const first = firstPlaceOf(place);
    if (first !== tree.first) {
      closeBlock(connection, sight, tree);
      tree = { first, size: 0, peaks: [] };
    }
    const part = entries.slice(at, at + TOGETHER);
    const own = part.filter(({ sequence }) => firstPlaceOf(sequence) === first);
    refuseUnfit(own, tree.first + tree.size);
    tree = insertEntries(connection, sight, tree, own);
    keepCommitted(sight, place, own);
    at += own.length;
  }
  return tree;
}
