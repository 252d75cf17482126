/**
 * Reads the log in SQLite: entries by what is known of them, leaves, and nodes of the tree.
 *
 * A page costs the same over a long log as over a short one: each query names the index it walks,
 * the most selective of those that fit, newest entry first, and one by time knows where to stop.
 *
 * @module
 */

import type { StoredEntry } from '../../domain/entry.ts';
import type { NodeId } from '../../domain/merkle.ts';
import type { EntryQuery, LogStore } from '../store.ts';
import type { Connection, Value } from './connection.ts';
import { entryOf, type Row } from './rows.ts';

const COLUMNS = `sequence, entry_id, entry_type, root_principal, actor_key, capability,
  invocation_id, client_reference_id, task_id, parent_invocation_id, event_class, state, timestamp,
  retain_until, leaf, personal, leaf_hash`;

/** How each part of a query narrows it, and the index for it: the most selective first. */
const FILTERS: readonly (readonly [keyof EntryQuery, condition: string, index?: string])[] = [
  ['invocationId', 'invocation_id = ?', 'log_by_invocation'],
  ['parentInvocationId', 'parent_invocation_id = ?', 'log_by_parent'],
  ['clientReferenceId', 'client_reference_id = ?', 'log_by_reference'],
  ['taskId', 'task_id = ?', 'log_by_task'],
  ['rootPrincipal', 'root_principal = ?', 'log_by_root_principal'],
  ['capability', 'capability = ?', 'log_by_capability'],
  ['entryType', 'entry_type = ?'],
  ['since', 'timestamp > ?'],
  ['before', 'sequence < ?'],
];

export function queryEntries(connection: Connection, query: EntryQuery): StoredEntry[] {
  const used = FILTERS.filter(([field]) => query[field] !== undefined);
  const index = used.find((filter) => filter[2] !== undefined)?.[2];
  const conditions = ['sequence >= ?', ...used.map(([, condition]) => condition)];
  const rows = connection.all<Row<StoredEntry>>(
    `SELECT ${COLUMNS} FROM log ${index ? `INDEXED BY ${index}` : ''}
     WHERE ${conditions.join(' AND ')} ORDER BY sequence DESC LIMIT ?`,
    query.since ? firstSince(connection, query.since) : 0,
    ...used.map(([field]): Value => query[field]),
    query.limit,
  );
  return rows.map(entryOf);
}

export function scanEntries(connection: Connection, from: number, limit: number): StoredEntry[] {
  const rows = connection.all<Row<StoredEntry>>(
    `SELECT ${COLUMNS} FROM log WHERE sequence >= ? ORDER BY sequence LIMIT ?`,
    from,
    limit,
  );
  return rows.map(entryOf);
}

export function findLeaf(
  connection: Connection,
  by: Parameters<LogStore['findLeaf']>[0],
): Awaited<ReturnType<LogStore['findLeaf']>> {
  const columns = 'SELECT sequence, leaf_hash, root_principal FROM log';
  const row =
    'leaf_hash' in by
      ? connection.get<LeafRow>(`${columns} WHERE leaf_hash = ? LIMIT 1`, by.leaf_hash)
      : connection.get<LeafRow>(
          // Later entries may tell of the same call: its own comes before those.
          `${columns} WHERE invocation_id = ? ORDER BY entry_type <> 'invocation', sequence LIMIT 1`,
          by.invocation_id,
        );
  return row && { ...row, sequence: Number(row.sequence) };
}

export function readNodes(connection: Connection, ids: readonly NodeId[]): Uint8Array[] {
  return ids.map(({ level, index }) => {
    const row =
      level === 0
        ? connection.get<HashRow>('SELECT leaf_hash AS hash FROM log WHERE sequence = ?', index)
        : connection.get<HashRow>(
            'SELECT hash FROM nodes WHERE level = ? AND "index" = ?',
            level,
            index,
          );
    if (!row) throw new Error(`Cannot read tree node ${index} of level ${level}: it is missing`);
    return row.hash;
  });
}

interface LeafRow {
  readonly sequence: bigint;
  readonly leaf_hash: Uint8Array;
  readonly root_principal: string;
}

interface HashRow {
  readonly hash: Uint8Array;
}

/** No entry below this place is later than `since`. */
function firstSince(connection: Connection, since: Date): number {
  const row = connection.get<{ sequence: bigint }>(
    'SELECT sequence FROM marks WHERE latest <= ? ORDER BY latest DESC, sequence DESC LIMIT 1',
    since,
  );
  return Number(row?.sequence ?? 0);
}
