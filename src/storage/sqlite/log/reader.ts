/**
 * Reads the log in SQLite: entries by filters, leaves, and nodes of the tree.
 *
 * A page costs the same in a long log as in a short one. Each query names the index it reads, newest entry
 * first: one with the trail, the type, and the rarest filter, so that it does not read entries without a
 * match. A query by time knows where to stop. Filters that the index does not have are compared row by row,
 * for a bounded number of rows in one query.
 *
 * @module
 */

import type { StoredEntry } from '../../../domain/log/entry.ts';
import type { NodeId } from '../../../domain/log/merkle.ts';
import { firstPlaceOf, type Origin } from '../../../domain/log/origin.ts';
import { EntryType } from '../../../protocol/audit.ts';
import type { EntryPage, EntryQuery, LogStore } from '../../port/store.ts';
import type { Connection, Value } from '../connection.ts';
import { entryOf, type Stored } from '../rows.ts';
import { HASH_BLOCK, HASH_PREFIX } from '../schema/schema.ts';

const COLUMNS = `sequence, entry_id, entry_type, root_principal, actor_key, capability,
  invocation_id, client_reference_id, task_id, parent_invocation_id, event_class, state, timestamp,
  retain_until, leaf, personal, leaf_hash`;

/** The filters of a query: each with its column and its index name; the rarest first. */
const NAMED: readonly (readonly [keyof EntryQuery, column: string, suffix: string])[] = [
  ['invocationId', 'invocation_id', 'invocation'],
  ['parentInvocationId', 'parent_invocation_id', 'parent'],
  ['clientReferenceId', 'client_reference_id', 'reference'],
  ['taskId', 'task_id', 'task'],
  ['capability', 'capability', 'capability'],
];

/** Rows without a match that one query reads: about a millisecond. */
const LOOKED_AT_MAX = 1_024;

export function queryEntries(connection: Connection, query: EntryQuery): EntryPage {
  const { since, limit } = query;
  const from = since ? firstSince(connection, since) : 0;
  const { walked, compared } = conditionsOf(query);
  // An index with all filters returns matches only.
  const floor = compared.length > 0 ? lookFloor(connection, query, walked, from) : undefined;
  const rows = connection.all<Stored<StoredEntry>>(
    `${selected(query, COLUMNS, [...walked, ...compared])} LIMIT ?2`,
    floor ?? from,
    limit,
    ...valuesOf(query, [...walked, ...compared]),
  );
  const entries = rows.map(entryOf);
  const last = entries.length === limit ? entries.at(-1)?.sequence : undefined;
  return { entries, next: last ?? floor };
}

/** The place of the last row that the query may read, where there are more. */
function lookFloor(
  connection: Connection,
  query: EntryQuery,
  walked: readonly Condition[],
  from: number,
): number | undefined {
  const row = connection.get<{ sequence: bigint }>(
    `${selected(query, 'sequence', walked)} LIMIT 1 OFFSET ?2`,
    from,
    LOOKED_AT_MAX - 1,
    ...valuesOf(query, walked),
  );
  return row && Number(row.sequence);
}

type Condition = readonly [keyof EntryQuery, condition: string];

/** The conditions that the index has, and those that only the rows have. */
function conditionsOf(query: EntryQuery): { walked: Condition[]; compared: Condition[] } {
  const [rarest, ...others] = namedIn(query).map(([field, column]): Condition => {
    return [field, `${column} =`];
  });
  const root: Condition[] =
    query.rootPrincipal === undefined ? [] : [['rootPrincipal', 'root_principal =']];
  const isTrail = isTrailQuery(query);
  return {
    walked: [
      ...(rarest ? [rarest] : []),
      ...(isTrail ? root : []),
      ...(query.before === undefined ? [] : [['before', 'sequence <'] as const]),
    ],
    compared: [
      ...others,
      ...(isTrail ? [] : root),
      ...(query.since === undefined ? [] : [['since', 'timestamp >'] as const]),
    ],
  };
}

/** Every index is ordered by type, so a query for all types merges one range for each. */
function selected(query: EntryQuery, columns: string, conditions: readonly Condition[]): string {
  const rarest = namedIn(query)[0]?.[2] ?? 'type';
  const index = `${isTrailQuery(query) ? 'trail' : 'log'}_by_${rarest}`;
  const where = conditions.map(([, condition], place) => `${condition} ?${place + 3}`);
  const types = query.entryType ? [query.entryType] : EntryType.options;
  const parts = types.map(
    (type) => `SELECT ${columns} FROM log INDEXED BY ${index}
     WHERE ${[`entry_type = '${type}'`, 'sequence >= ?1', ...where].join(' AND ')}`,
  );
  return `${parts.join(' UNION ALL ')} ORDER BY sequence DESC`;
}

function valuesOf(query: EntryQuery, conditions: readonly Condition[]): Value[] {
  return conditions.map(([field]) => query[field]);
}

function namedIn(query: EntryQuery): typeof NAMED {
  return NAMED.filter(([field]) => query[field] !== undefined);
}

/** The index by invocation has no trail: an invocation has few entries. */
function isTrailQuery({ rootPrincipal, invocationId }: EntryQuery): boolean {
  return rootPrincipal !== undefined && invocationId === undefined;
}

export function scanEntries(connection: Connection, from: number, limit: number): StoredEntry[] {
  const rows = connection.all<Stored<StoredEntry>>(
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
          // Later entries may name the same call: its own entry comes first.
          `${LEAF} WHERE invocation_id = ? ORDER BY entry_type <> 'invocation', sequence LIMIT 1`,
          by.invocation_id,
        );
  return row && { ...row, sequence: Number(row.sequence) };
}

const LEAF = 'SELECT sequence, leaf_hash, root_principal FROM log';

/** The newest block first: callers usually ask for the proof of a recent hash. */
function leafByHash(connection: Connection, hash: Uint8Array): LeafRow | undefined {
  for (const block of hashBlocks(connection)) {
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

/** From the last entry of each log to its first: between two logs there are no entries. */
function* hashBlocks(connection: Connection): Generator<number> {
  for (let end = Number.MAX_SAFE_INTEGER; end > 0; ) {
    const row = connection.get<{ last: bigint | null }>(
      'SELECT max(sequence) AS last FROM log WHERE sequence < ?',
      end,
    );
    if (row?.last == null) return;
    end = firstPlaceOf(Number(row.last));
    const lowest = end / HASH_BLOCK;
    for (let block = Math.floor(Number(row.last) / HASH_BLOCK); block >= lowest; block -= 1) {
      yield block;
    }
  }
}

export function readOrigins(connection: Connection): Origin[] {
  const rows = connection.all<{ first: bigint; log_id: string }>(
    'SELECT first, log_id FROM origins ORDER BY first',
  );
  return rows.map(({ first, log_id }) => ({ logId: log_id, first: Number(first) }));
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
