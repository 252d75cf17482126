/**
 * Writes entries into the log and grows the tree, in the transaction of the change they record.
 *
 * An entry gets its place when its transition runs, and loses it when that is undone, so places are
 * contiguous. The tree grows once for the whole batch, before COMMIT. The head is read again in each
 * transaction, because another process may have written since.
 *
 * @module
 */

import type { EntryRecord } from '../../../domain/log/entry.ts';
import { appendLeaves } from '../../../domain/log/merkle.ts';
import { firstPlaceOf, leafIndexOf, nextPlaceAfter, nodeFrom } from '../../../domain/log/origin.ts';
import { type LogStore, StoreUnavailable, type TreeHead } from '../../port/store.ts';
import type { Connection } from '../connection.ts';
import type { BatchWork } from '../group-commit.ts';

const HASH_BYTES = 32;

/**
 * Entries between two marks. A query by time reads at most about this many entries too many; smaller spacing
 * would make the marks themselves a cost of each batch.
 */
export const MARK_SPACING = 1_024;

export interface LogWriter extends BatchWork {
  /** Appends one entry at the next place. Only inside a transition. */
  append(entry: EntryRecord): void;
  /** Appends one entry as the first of the next log. Only inside a transition that is alone in its batch. */
  beginOrigin(logId: string, entry: EntryRecord, signed: number): void;
}

export function createLogWriter(connection: Connection): LogWriter {
  // Both belong to the current transaction.
  let head: TreeHead | undefined;
  const leaves: Uint8Array[] = [];
  const append = (entry: EntryRecord) => {
    head ??= readHead(connection);
    insertEntry(connection, head.first + head.size + leaves.length, entry);
    leaves.push(entry.leaf_hash);
  };

  return {
    begin() {
      head = undefined;
      leaves.length = 0;
    },
    mark: () => leaves.length,
    rewind(mark) {
      leaves.length = mark;
      // The undone transition may have begun another log.
      if (mark === 0) head = undefined;
    },
    append,
    beginOrigin(logId, entry, signed) {
      if (leaves.length > 0)
        throw new StoreUnavailable('Cannot begin a log: other entries are in the same transaction');
      const first = nextPlaceAfter(readHead(connection).first, signed);
      connection.run('INSERT INTO origins (first, log_id) VALUES (?, ?)', first, logId);
      connection.run("UPDATE head SET size = ?, peaks = x''", first);
      head = undefined;
      append(entry);
    },
    finish() {
      if (head && leaves.length > 0) grow(connection, head, leaves);
    },
  };
}

export function readHead(connection: Connection): TreeHead {
  const row = connection.get<{ size: bigint; peaks: Uint8Array }>('SELECT size, peaks FROM head');
  if (!row) throw new Error('Cannot read the tree: it has no head');
  const peaks: Uint8Array[] = [];
  for (let start = 0; start < row.peaks.length; start += HASH_BYTES) {
    peaks.push(row.peaks.slice(start, start + HASH_BYTES));
  }
  const next = Number(row.size);
  return { first: firstPlaceOf(next), size: leafIndexOf(next), peaks };
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

function insertEntry(connection: Connection, sequence: number, entry: EntryRecord): void {
  connection.run(
    `INSERT INTO log (sequence, entry_id, entry_type, root_principal, actor_key, capability,
       invocation_id, client_reference_id, task_id, parent_invocation_id, event_class, state,
       timestamp, retain_until, leaf, personal, leaf_hash)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    sequence,
    entry.entry_id,
    entry.entry_type,
    entry.root_principal,
    entry.actor_key,
    entry.capability,
    entry.invocation_id,
    entry.client_reference_id,
    entry.task_id,
    entry.parent_invocation_id,
    entry.event_class,
    entry.state,
    entry.timestamp,
    entry.retain_until,
    entry.leaf,
    entry.personal,
    entry.leaf_hash,
  );
}

const INSERT_NODE = 'INSERT INTO nodes (level, "index", hash) VALUES (?, ?, ?)';

function grow(connection: Connection, head: TreeHead, leaves: readonly Uint8Array[]): void {
  const grown = appendLeaves(head.size, head.peaks, leaves);
  for (const node of grown.nodes) {
    // The log itself has the hash of each leaf.
    if (node.level === 0) continue;
    const { level, index } = nodeFrom(head.first, node);
    connection.run(INSERT_NODE, level, index, node.hash);
  }
  const peaks = Buffer.concat(grown.peaks);
  const next = head.first + grown.size;
  connection.run('UPDATE head SET size = ?, peaks = ?', next, peaks);
  markTime(connection, next);
}

/** Records the latest time so far, when enough entries followed the last mark. */
function markTime(connection: Connection, next: number): void {
  const last = connection.get<{ sequence: bigint; latest: bigint }>(
    'SELECT sequence, latest FROM marks ORDER BY sequence DESC LIMIT 1',
  );
  const since = Number(last?.sequence ?? 0);
  if (next - since < MARK_SPACING) return;

  connection.run(
    `INSERT INTO marks (sequence, latest)
     SELECT ?, max(?, max(timestamp)) FROM log WHERE sequence >= ?`,
    next,
    last?.latest ?? Number.MIN_SAFE_INTEGER,
    since,
  );
}
