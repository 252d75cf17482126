/**
 * Reading the log: entries, leaves, tree nodes.
 *
 * Only what has a place can be read, so queries first see to it that everything acknowledged has one.
 *
 * @module
 */

import { EntryType } from '../../protocol/audit.ts';
import type { EntryQuery, LogStore } from '../store.ts';
import type { Database, Statement } from './connection.ts';
import { type Row, storedEntryOf } from './rows.ts';
import { ENTRY_COLUMNS } from './schema-log.ts';
import type { Sequencer } from './sequencer.ts';

type Log = Pick<LogStore, 'queryEntries' | 'scanEntries' | 'findLeaf' | 'nodes' | 'treeHead'>;

export function createLog(database: Database, sequencer: Sequencer): Log {
  return {
    async queryEntries(query) {
      await sequencer.sequence();
      const { statement, values } = queryOf(query);
      const rows = await database.reading(async (session) => {
        await session.run(IN_ORDER);
        return session.run<Row>(statement, values);
      });
      return rows.map(storedEntryOf);
    },

    async scanEntries(from, limit) {
      await sequencer.sequence();
      const rows = await database.read<Row>(SCAN, [from, limit]);
      return rows.map(storedEntryOf);
    },

    async findLeaf(by) {
      await sequencer.sequence();
      const [row] =
        'leaf_hash' in by
          ? await database.read<LeafRow>(LEAF_BY_HASH, [by.leaf_hash])
          : await database.read<LeafRow>(LEAF_BY_INVOCATION, [by.invocation_id]);
      return row && { ...row, sequence: Number(row.sequence) };
    },

    async nodes(ids) {
      const levels = ids.map(({ level }) => level);
      const indexes = ids.map(({ index }) => index);
      const rows = await database.read<{ hash: Uint8Array | null }>(NODES, [levels, indexes]);
      return rows.map(({ hash }, place) => {
        if (hash) return hash;
        const { level, index } = ids[place] ?? {};
        throw new Error(`Cannot read the tree: node ${index} of level ${level} is missing`);
      });
    },

    async treeHead() {
      const [row] = await database.read<{ size: bigint; peaks: Uint8Array[] }>(HEAD);
      if (row === undefined) throw new Error('Cannot read the tree: it has no head');
      return { size: Number(row.size), peaks: row.peaks };
    },
  };
}

interface LeafRow {
  readonly sequence: bigint;
  readonly leaf_hash: Uint8Array;
  readonly root_principal: string;
}

const COLUMNS = ['sequence', ...ENTRY_COLUMNS].join(', ');

/** What a query can name, and its column; the rarest first. */
const NAMED: readonly [keyof EntryQuery, column: string][] = [
  ['invocationId', 'invocation_id'],
  ['parentInvocationId', 'parent_invocation_id'],
  ['clientReferenceId', 'client_reference_id'],
  ['taskId', 'task_id'],
  ['capability', 'capability'],
];

/**
 * One statement for each set of filters. A page is a range of one index, which has the trail, the
 * rarest of what was named, the type and the place. It is asked for as a range of whole rows, in the
 * index's order, and may not be sorted: no other index will do then. Asked for equal values, the
 * planner would take any index that has some of them, by what it guesses of the rest. All types are
 * one range each.
 */
export function queryOf(query: EntryQuery): { statement: Statement; values: unknown[] } {
  const named = NAMED.filter(([field]) => query[field] !== undefined);
  const [first, ...others] = named;
  const root: typeof named = query.rootPrincipal ? [['rootPrincipal', 'root_principal']] : [];
  const isOneTrail = first?.[0] === 'invocationId';
  const ranged = [...(isOneTrail ? [] : root), ...(first ? [first] : [])];
  const values: unknown[] = [query.limit, query.entryType ? [query.entryType] : EntryType.options];
  const parameter = (field: keyof EntryQuery) => `$${values.push(query[field])}`;

  const keys = [...ranged.map(([, column]) => column), 'entry_type', 'sequence'];
  const at = [...ranged.map(([field]) => parameter(field)), 'type'].join(', ');
  const { floor, later } = query.since ? sinceOf(parameter('since')) : { floor: '0', later: [] };
  const end = query.before === undefined ? PLACE_MAX : parameter('before');
  const conditions = [
    `(${keys.join(', ')}) >= (${at}, ${floor})`,
    `(${keys.join(', ')}) < (${at}, ${end})`,
    ...(first ? [`${first[1]} IS NOT NULL`] : []),
    ...[...(isOneTrail ? root : []), ...others].map(
      ([field, column]) => `${column} = ${parameter(field)}`,
    ),
    ...later,
  ];
  return {
    statement: {
      name: `entries_${VARIED.map((field) => Number(query[field] !== undefined)).join('')}`,
      text: `SELECT ${COLUMNS} FROM (
          SELECT part.sequence FROM unnest($2::text[]) AS type CROSS JOIN LATERAL (
            SELECT sequence FROM log WHERE ${conditions.join(' AND ')}
            ORDER BY ${keys.map((key) => `${key} DESC`).join(', ')} LIMIT $1
          ) part ORDER BY part.sequence DESC LIMIT $1
        ) page JOIN log USING (sequence) ORDER BY sequence DESC`,
    },
    values,
  };
}

/** What a statement's text depends on. The server cuts names at 63 bytes, so these are not spelt out. */
const VARIED = ['rootPrincipal', ...NAMED.map(([field]) => field), 'since', 'before'] as const;

/** Only the few places that the ranges give are sorted, since nothing else can be done about them. */
export const IN_ORDER: Statement = {
  name: 'entries_in_order',
  text: `SELECT set_config('enable_sort', 'off', true),
    set_config('enable_incremental_sort', 'off', true)`,
};

/** Greater than every place. */
const PLACE_MAX = '9223372036854775807';

/**
 * Timestamps are not ordered by place, but the greatest one so far is: it says where to stop, and an
 * index finds that place.
 */
function sinceOf(since: string): { floor: string; later: string[] } {
  return {
    floor: `(SELECT sequence FROM log WHERE latest > ${since} ORDER BY latest, sequence LIMIT 1)`,
    later: [`timestamp > ${since}`],
  };
}

export const SCAN: Statement = {
  name: 'scan_entries',
  text: `SELECT ${COLUMNS} FROM log WHERE sequence >= $1 ORDER BY sequence LIMIT $2`,
};

const LEAF_BY_HASH: Statement = {
  name: 'leaf_by_hash',
  text: `SELECT sequence, leaf_hash, root_principal FROM log WHERE leaf_hash = $1
    ORDER BY sequence LIMIT 1`,
};

/** A call has one entry of its own; replays and later settlements may name it too. */
const LEAF_BY_INVOCATION: Statement = {
  name: 'leaf_by_invocation',
  text: `SELECT sequence, leaf_hash, root_principal FROM log WHERE invocation_id = $1
    ORDER BY (entry_type = 'invocation') DESC, sequence LIMIT 1`,
};

const NODES: Statement = {
  name: 'nodes',
  text: `SELECT n.hash FROM unnest($1::integer[], $2::bigint[]) WITH ORDINALITY
      AS asked (level, index, place)
    LEFT JOIN nodes n ON n.level = asked.level AND n.index = asked.index
    ORDER BY asked.place`,
};

const HEAD: Statement = { name: 'head', text: 'SELECT size, peaks FROM head' };
