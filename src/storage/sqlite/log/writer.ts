/**
 * Writes the entries of a transaction as segments and grows the tree, in the transaction of the changes that
 * they record.
 *
 * An entry gets its place when its transition runs, and loses it when that is undone, so places are contiguous.
 * Everything is written once for the whole batch, before COMMIT. The head is read again in each transaction,
 * because another process may have written since.
 *
 * @module
 */

import type { EntryRecord } from '../../../domain/log/entry.ts';
import { nextPlaceAfter } from '../../../domain/log/origin.ts';
import { BLOCK_ENTRIES } from '../../log/blocks.ts';
import { tileNumber } from '../../log/numbers.ts';
import { refuseUnstorable, type Storable, segmentsOf } from '../../log/segment.ts';
import { growTiles } from '../../log/tiles.ts';
import { type LogStore, StoreUnavailable, type TreeHead } from '../../port/store.ts';
import type { Connection } from '../connection.ts';
import type { BatchWork } from '../group-commit.ts';
import { findEntry } from './reader.ts';
import { closeBlock, indexNew, keepCommitted, type LogSight } from './sight.ts';
import { readHead, writeHead } from './tree.ts';

export interface LogWriter extends Omit<BatchWork, 'settle'> {
  /** Appends one entry at the next place. Only inside a transition. */
  append(entry: EntryRecord): void;
  /** The entry of this id, with those that this transaction appends. */
  find(entryId: string): Storable | undefined;
  /** Appends one entry as the first of the next log. Only inside a transition that is alone in its batch. */
  beginOrigin(logId: string, entry: EntryRecord, signed: number): void;
}

/** `onBlock` runs when a transaction has completed an index block. */
export function createLogWriter(
  connection: Connection,
  sight: LogSight,
  onBlock: () => void,
): LogWriter {
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
      return fresh ?? findEntry(connection, sight, entryId);
    },
    beginOrigin(logId, entry, signed) {
      if (entries.length > 0)
        throw new StoreUnavailable('Cannot begin a log: other entries are in the same transaction');
      const head = readHead(connection);
      const first = nextPlaceAfter(head.first, signed);
      // No entry follows in the ended log, so its last block is not full.
      closeBlock(connection, sight, head);
      connection.run('INSERT INTO origins (first, log_id) VALUES (?, ?)', first, logId);
      connection.run("UPDATE head SET size = ?, peaks = x''", first);
      entries.push(entry);
    },
    finish() {
      if (entries.length === 0) return;
      const head = insertEntries(connection, sight, readHead(connection), entries);
      writeHead(connection, head);
      end = head.first + head.size;
    },
    committed() {
      keepCommitted(sight, end - entries.length, entries);
      if (end % BLOCK_ENTRIES < entries.length) onBlock();
    },
  };
}

/** Begins the next log, unless this one has grown since `from` was read. */
export function beginOrigin(
  connection: Connection,
  log: LogWriter,
  ...[from, logId, entry, signed = 0]: Parameters<LogStore['beginOrigin']>
): boolean {
  const { first, size } = readHead(connection);
  if (first !== from.first || size !== from.size) return false;
  log.beginOrigin(logId, entry, signed);
  return true;
}

/** Writes entries at the next places, in order. Returns the tree with them. Only inside a transaction. */
export function insertEntries(
  connection: Connection,
  sight: LogSight,
  head: TreeHead,
  entries: readonly Storable[],
): TreeHead {
  const place = head.first + head.size;
  for (const { first, count, hashes, leaves, personal } of segmentsOf(place, entries)) {
    connection.run(INSERT_SEGMENT, first, count, hashes, leaves, personal);
  }
  for (const [index, { retain_until, leaf }] of entries.entries()) {
    if (retain_until && leaf) connection.run(INSERT_RETENTION, retain_until, place + index);
  }
  const leaves = entries.map(({ leaf_hash }) => leaf_hash);
  const grown = growTiles(head, leaves);
  for (const tile of grown.tiles) connection.run(GROW_TILE, tileNumber(tile), tile.hashes);
  indexNew(connection, sight, head, entries);
  return grown.head;
}

const INSERT_SEGMENT =
  'INSERT INTO segments (first, count, hashes, leaves, personal) VALUES (?, ?, ?, ?, ?)';
const INSERT_RETENTION = 'INSERT INTO retentions (retain_until, place) VALUES (?, ?)';
const GROW_TILE = `INSERT INTO tiles (id, hashes) VALUES (?1, ?2)
  ON CONFLICT (id) DO UPDATE SET hashes = CAST(hashes || ?2 AS BLOB)`;
