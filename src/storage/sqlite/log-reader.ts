/**
 * Reads the log in SQLite: entries by what is known of them, leaves, and nodes of the tree.
 *
 * A page costs the same over a long log as over a short one: each query names the index it walks,
 * newest entry first, which has the trail, the type, and the rarest of what was named, so that rare
 * hits are not looked for among the rest. One by time knows where to stop.
 *
 * @module
 */

import type { StoredEntry } from '../../domain/entry.ts';
import type { NodeId } from '../../domain/merkle.ts';
import { EntryType } from '../../protocol/audit.ts';
import type { EntryQuery, LogStore } from '../store.ts';
import type { Connection, Value } from './connection.ts';
import { readHead } from './log-writer.ts';
import { entryOf, type Row } from './rows.ts';
import { HASH_BLOCK, HASH_PREFIX } from './schema.ts';

const COLUMNS = `sequence, entry_id, entry_type, root_principal, actor_key, capability,
  invocation_id, client_reference_id, task_id, parent_invocation_id, event_class, state, timestamp,
  retain_until, leaf, personal, leaf_hash`;

/** What a query can name: its column, and by what the index for it is called; the rarest first. */
const NAMED: readonly (readonly [keyof EntryQuery, column: string, suffix: string])[] = [
  ['invocationId', 'invocation_id', 'invocation'],
  ['parentInvocationId', 'parent_invocation_id', 'parent'],
  ['clientReferenceId', 'client_reference_id', 'reference'],
  ['taskId', 'task_id', 'task'],
  ['capability', 'capability', 'capability'],
];

/** Every index has its entries by type, so a query for all types merges what each of them gives. */
export function queryEntries(connection: Connection, query: EntryQuery): StoredEntry[] {
  const named = NAMED.filter(([field]) => query[field] !== undefined);
  const columns = named.map(([field, column]): [keyof EntryQuery, string] => [
    field,
    `${column} =`,
  ]);
  const used = [...columns, ...SCOPE].filter(([field]) => query[field] !== undefined);
  const conditions = used.map(([, condition], place) => `${condition} ?${place + 3}`);
  const types = query.entryType ? [query.entryType] : EntryType.options;
  const parts = types.map(
    (type) => `SELECT ${COLUMNS} FROM log INDEXED BY ${indexFor(query, named[0]?.[2])}
     WHERE ${[`entry_type = '${type}'`, 'sequence >= ?1', ...conditions].join(' AND ')}`,
  );
  const rows = connection.all<Row<StoredEntry>>(
    `${parts.join(' UNION ALL ')} ORDER BY sequence DESC LIMIT ?2`,
    query.since ? firstSince(connection, query.since) : 0,
    query.limit,
    ...used.map(([field]): Value => query[field]),
  );
  return rows.map(entryOf);
}

const SCOPE: readonly [keyof EntryQuery, condition: string][] = [
  ['rootPrincipal', 'root_principal ='],
  ['since', 'timestamp >'],
  ['before', 'sequence <'],
];

function indexFor({ rootPrincipal }: EntryQuery, rarest = 'type'): string {
  const isTrail = rootPrincipal !== undefined && rarest !== 'invocation';
  return `${isTrail ? 'trail' : 'log'}_by_${rarest}`;
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
  const row =
    'leaf_hash' in by
      ? leafByHash(connection, by.leaf_hash)
      : connection.get<LeafRow>(
          // Later entries may tell of the same call: its own comes before those.
          `${LEAF} WHERE invocation_id = ? ORDER BY entry_type <> 'invocation', sequence LIMIT 1`,
          by.invocation_id,
        );
  return row && { ...row, sequence: Number(row.sequence) };
}

const LEAF = 'SELECT sequence, leaf_hash, root_principal FROM log';

/** The newest block first: who asks for a proof has mostly just got the hash. */
function leafByHash(connection: Connection, hash: Uint8Array): LeafRow | undefined {
  const { size } = readHead(connection);
  for (let block = Math.floor(size / HASH_BLOCK); block >= 0; block -= 1) {
    const row = connection.get<LeafRow>(
      `${LEAF} WHERE sequence / ${HASH_BLOCK} = ?
         AND substr(leaf_hash, 1, ${HASH_PREFIX}) = ? AND leaf_hash = ?`,
      block,
      hash.subarray(0, HASH_PREFIX),
      hash,
    );
    if (row) return row;
  }
  return undefined;
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
