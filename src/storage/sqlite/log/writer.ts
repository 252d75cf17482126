/**
 * Writes the entries of a transaction as segments and grows the tree, in the transaction of the changes that
 * they record.
 *
 * An entry gets its place when its transition runs, and loses it when that is undone, so places are contiguous.
 * Everything is written once for the whole batch, before COMMIT. The head is read again in each transaction,
 * because another process may have written since. A block is written by the commit that completes it.
 *
 * @module
 */

import type { EntryRecord } from '../../../domain/log/entry.ts';
import { insertBlock } from '../../log/block-index.ts';
import { addTo, BLOCK_ENTRIES, blockOf, type Columns } from '../../log/blocks.ts';
import { beginTree } from '../../log/placed.ts';
import type { Tail } from '../../log/query.ts';
import {
  createSight,
  currentTail,
  findEntry,
  forgetKept,
  keepCommitted,
  type LogSight,
} from '../../log/search.ts';
import { refuseUnstorable, type Storable } from '../../log/segment.ts';
import { insertEntries, treeHead, writeHead } from '../../log/tree.ts';
import { type LogStore, StoreUnavailable, type TreeHead } from '../../port/store.ts';
import type { Connection } from '../connection.ts';
import type { BatchWork } from '../group-commit.ts';
import { atOnce, rowsOn } from '../sql.ts';

export interface LogWriter extends Omit<BatchWork, 'settle'> {
  /** Appends one entry at the next place. Only inside a transition. */
  append(entry: EntryRecord): void;
  /** The entry of this id, with those that this transaction appends. */
  find(entryId: string): Storable | undefined;
  /** Begins the next log, unless this one has grown since it was read. Only inside a transition. */
  beginOrigin(...next: Parameters<LogStore['beginOrigin']>): boolean;
}

/** What this process keeps of the log, and what makes that outdated. */
export interface WriterSight extends LogSight {
  /** Of the file, when a block was last made from the entries. Another one after a commit of another process. */
  version?: bigint | undefined;
  /** From an erasure in this process on, until its transaction has ended. */
  isErasing?: boolean;
}

/** `onBlock` runs when a transaction has completed an index block. */
export function createLogWriter(
  connection: Connection,
  sight: WriterSight,
  onBlock: () => void,
): LogWriter {
  const sql = rowsOn(connection);
  // Of the current transaction.
  const entries: EntryRecord[] = [];
  let end = 0;
  return {
    begin() {
      entries.length = 0;
    },
    mark: () => entries.length,
    rewind(mark) {
      entries.length = mark;
    },
    append(entry) {
      refuseUnstorable(entry);
      entries.push(entry);
    },
    find(entryId) {
      const fresh = entries.find(({ entry_id }) => entry_id === entryId);
      return fresh ?? atOnce(findEntry(sql, sight, { entry_id: entryId }));
    },
    beginOrigin(from, logId, entry, signed = 0) {
      const head = atOnce(treeHead(sql));
      if (head.first !== from.first || head.size !== from.size) return false;
      if (entries.length > 0)
        throw new StoreUnavailable('Cannot begin a log: other entries are in the same transaction');
      atOnce(writeHead(sql, atOnce(beginTree(sql, head, logId, signed))));
      entries.push(entry);
      return true;
    },
    finish() {
      if (entries.length === 0) return;
      const head = atOnce(treeHead(sql));
      const grown = atOnce(insertEntries(sql, head, entries));
      indexNew(head);
      atOnce(writeHead(sql, grown));
      end = grown.first + grown.size;
    },
    committed() {
      keepCommitted(sight, end - entries.length, entries);
      if (end % BLOCK_ENTRIES < entries.length) onBlock();
    },
  };

  /** Writes the blocks that the entries complete, above this tree. */
  function indexNew(head: TreeHead): void {
    if ((head.size % BLOCK_ENTRIES) + entries.length < BLOCK_ENTRIES) return;
    const { first, columns } = tailToIndex();
    // The transaction may fail, so its own entries are not kept.
    const all: Columns = { times: [...columns.times], keys: columns.keys.map((keys) => [...keys]) };
    for (const entry of entries) addTo(all, entry);
    for (let end = BLOCK_ENTRIES; end <= all.times.length; end += BLOCK_ENTRIES) {
      const begin = end - BLOCK_ENTRIES;
      atOnce(insertBlock(sql, first + begin, blockOf(all, begin, end)));
    }
  }

  /**
   * The entries that no block has: a block must not have what was erased since they were kept. An erasure of the same
   * transaction may be undone, so then they are not kept.
   */
  function tailToIndex(): Tail {
    if (sight.isErasing) return atOnce(currentTail(sql, createSight()));
    const row = connection.get<{ data_version: bigint }>('PRAGMA data_version');
    if (row?.data_version !== sight.version) forgetKept(sight);
    sight.version = row?.data_version;
    return atOnce(currentTail(sql, sight));
  }
}
