/**
 * What a process keeps of the log in memory: the keys of the entries above the last block.
 *
 * Only entries of committed transactions are kept. Another process may have written others, so each use reads
 * what is missing.
 *
 * @module
 */

import {
  addBlanks,
  addTo,
  BLOCK_ENTRIES,
  blockOf,
  type Columns,
  createColumns,
  type Indexed,
} from '../../log/blocks.ts';
import { indexedTo, type Tail, tailFrom } from '../../log/query.ts';
import type { TreeHead } from '../../port/store.ts';
import type { Connection } from '../connection.ts';
import { insertBlock, readColumns, readHeads } from './blocks.ts';

export interface LogSight {
  first: number;
  columns: Columns;
  /** A place in each block that must be made again. */
  readonly damaged: Set<number>;
  /** Of the file, when a block was last made from the entries. Another one after a commit of another process. */
  version: bigint | undefined;
  /** From an erasure in this process on, until its transaction has ended. */
  isErasing: boolean;
}

export function createSight(): LogSight {
  return {
    first: 0,
    columns: createColumns(),
    damaged: new Set(),
    version: undefined,
    isErasing: false,
  };
}

/** The entries above the last block of the log with this head. */
export function tailOf(connection: Connection, sight: LogSight, head: TreeHead): Tail {
  const [last] = readHeads(connection, Number.POSITIVE_INFINITY, 1);
  const end = head.first + head.size;
  const first = tailFrom(indexedTo(head, last), end);
  const passed = first - sight.first;
  if (passed < 0 || first > endOf(sight) || endOf(sight) > end) sight.columns = createColumns();
  else if (passed > 0) dropFirst(sight.columns, passed);
  sight.first = first;
  readColumns(connection, endOf(sight), end, sight.columns);
  // The last segment may be damaged or missing.
  addBlanks(sight.columns, end - first);
  return sight;
}

/** The place after those that are kept. */
function endOf({ first, columns }: LogSight): number {
  return first + columns.times.length;
}

function dropFirst({ times, keys }: Columns, count: number): void {
  for (const column of [times, ...keys]) column.splice(0, count);
}

/** Keeps entries whose transaction was committed, if they follow those that are kept. */
export function keepCommitted(sight: LogSight, place: number, entries: readonly Indexed[]): void {
  if (endOf(sight) !== place) return;
  for (const entry of entries) addTo(sight.columns, entry);
}

/** Forgets the entries: a transaction has erased some, or has tried. */
export function forgetTail(sight: LogSight): void {
  sight.columns = createColumns();
  sight.isErasing = false;
}

/**
 * The entries above the last block, to be indexed: a block must not have what was erased since the entries were
 * kept. An erasure of the same transaction may be undone, so its entries are not kept. Only inside a
 * transaction.
 */
function tailToIndex(connection: Connection, sight: LogSight, head: TreeHead): Tail {
  if (sight.isErasing) return tailOf(connection, createSight(), head);
  const row = connection.get<{ data_version: bigint }>('PRAGMA data_version');
  if (row?.data_version !== sight.version) sight.columns = createColumns();
  sight.version = row?.data_version;
  return tailOf(connection, sight, head);
}

/** Writes the blocks that new entries above this tree complete. Only inside a transaction. */
export function indexNew(
  connection: Connection,
  sight: LogSight,
  head: TreeHead,
  entries: readonly Indexed[],
): void {
  if ((head.size % BLOCK_ENTRIES) + entries.length < BLOCK_ENTRIES) return;
  const { first, columns } = tailToIndex(connection, sight, head);
  // The transaction may fail, so its own entries are not kept.
  const all: Columns = { times: [...columns.times], keys: columns.keys.map((keys) => [...keys]) };
  for (const entry of entries) addTo(all, entry);
  for (let end = BLOCK_ENTRIES; end <= all.times.length; end += BLOCK_ENTRIES) {
    const begin = end - BLOCK_ENTRIES;
    insertBlock(connection, first + begin, blockOf(all, begin, end));
  }
}

/** Indexes the last entries of a log that ends. Only inside a transaction. */
export function closeBlock(connection: Connection, sight: LogSight, head: TreeHead): void {
  const { first, columns } = tailToIndex(connection, sight, head);
  if (columns.times.length > 0) insertBlock(connection, first, blockOf(columns));
}
