/**
 * Reads the log: entries, leaves, tree nodes.
 *
 * Only entries with a place can be read, so a query first waits until everything acknowledged has one, unless
 * it asks only for earlier places. Filters that the index does not have are compared row by row, for a
 * bounded number of rows in one query.
 *
 * @module
 */

import { EntryType } from '../../../protocol/audit.ts';
import type { EntryQuery, LogStore, TreeHead } from '../../port/store.ts';
import type { Row } from '../../tables/table.ts';
import type { Database, Session, Statement } from '../connection.ts';
import { storedEntryOf } from '../rows.ts';
import { ENTRY_COLUMNS } from '../schema/log.ts';
import { beginOrigin, type HeadRow, headOf, type Sequencer } from './sequencer.ts';

type Log = Pick<
  LogStore,
  'queryEntries' | 'scanEntries' | 'findLeaf' | 'nodes' | 'treeHead' | 'origins' | 'beginOrigin'
>;

/** Rows without a match that one query reads, for each type of entry. */
const LOOKED_AT_MAX = 1_024;

export function createLog(database: Database, sequencer: Sequencer): Log {
  let placed = 0;
  return {
    async queryEntries(query) {
      const { before = Number.POSITIVE_INFINITY, limit } = query;
      if (before > placed) placed = endOf(await sequencer.sequence());
      const { rows, floor } = await database.reading(async (session) => {
        await session.run(IN_ORDER);
        const floor = await lookFloor(session, query);
        const { statement, values } = queryOf(query, floor);
        return { rows: await session.run<Row>(statement, values), floor };
      });
      const entries = rows.map(storedEntryOf);
      const last = entries.length === limit ? entries.at(-1)?.sequence : undefined;
      return { entries, next: last ?? floor };
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
      const [row] = await database.read<HeadRow>(HEAD);
      if (row === undefined) throw new Error('Cannot read the tree: it has no head');
      return headOf(row);
    },

    async origins() {
      const rows = await database.read<{ first: bigint; log_id: string }>(ORIGINS);
      return rows.map(({ first, log_id }) => ({ logId: log_id, first: Number(first) }));
    },

    async beginOrigin(...next) {
      await sequencer.sequence();
      return database.transaction((session) => beginOrigin(session, next));
    },
  };
}

/** The place after the last entry that has one. */
function endOf({ first, size }: TreeHead): number {
  return first + size;
}

interface LeafRow {
  readonly sequence: bigint;
  readonly leaf_hash: Uint8Array;
  readonly root_principal: string;
}

const COLUMNS = ['sequence', ...ENTRY_COLUMNS].join(', ');

/** The filters of a query and their columns; the rarest first. */
const NAMED: readonly [keyof EntryQuery, column: string][] = [
  ['invocationId', 'invocation_id'],
  ['parentInvocationId', 'parent_invocation_id'],
  ['clientReferenceId', 'client_reference_id'],
  ['taskId', 'task_id'],
  ['capability', 'capability'],
];

/** The place of the last row that the query may read, where there are more. */
async function lookFloor(session: Session, query: EntryQuery): Promise<number | undefined> {
  const look = lookOf({ ...query, limit: LOOKED_AT_MAX });
  if (!look) return undefined;
  const [row] = await session.run<{ sequence: bigint }>(look.statement, look.values);
  return row && Number(row.sequence);
}

interface Question {
  readonly statement: Statement;
  readonly values: unknown[];
}

/**
 * One statement for each set of filters. A page is a range of one index, which has the trail, the rarest
 * filter, the type and the place. The statement compares whole rows in the index's order and does not sort,
 * so no other index fits; with plain equalities the planner might choose any index with some of the columns.
 * Each type is one range. Reads nothing below the place `from`.
 */
export function queryOf(query: EntryQuery, from?: number): Question {
  const { places, values } = placesOf(query, { from, isCompared: true });
  return {
    statement: {
      name: `entries_${variantOf(query)}${Number(from !== undefined)}`,
      text: `SELECT ${COLUMNS} FROM (${places} LIMIT $1) page
        JOIN log USING (sequence) ORDER BY sequence DESC`,
    },
    values,
  };
}

/** Selects the last of `limit` places that a query reads; undefined where all of them match. */
export function lookOf(query: EntryQuery): Question | undefined {
  if (comparedIn(query).length === 0 && query.since === undefined) return undefined;
  const { places, values } = placesOf(query, { isCompared: false });
  return {
    statement: { name: `look_${variantOf(query)}`, text: `${places} LIMIT 1 OFFSET $1 - 1` },
    values,
  };
}

/** The places that a query reads, newest first, or the matches among them. */
function placesOf(
  query: EntryQuery,
  { from, isCompared }: { from?: number | undefined; isCompared: boolean },
): { places: string; values: unknown[] } {
  const values: unknown[] = [query.limit, query.entryType ? [query.entryType] : EntryType.options];
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const ranged = rangedIn(query);
  const keys = [...ranged.map(([, column]) => column), 'entry_type', 'sequence'];
  const at = [...ranged.map(([field]) => parameter(query[field])), 'type'].join(', ');
  const since = query.since && parameter(query.since);
  const floors = [
    ...(since ? [firstLater(since)] : []),
    ...(from === undefined ? [] : [`${parameter(from)}::bigint`]),
  ];
  const floor = floors.length > 1 ? `greatest(${floors.join(', ')})` : (floors[0] ?? '0');
  const end = query.before === undefined ? PLACE_MAX : parameter(query.before);
  const rarest = namedIn(query)[0];
  const conditions = [
    `(${keys.join(', ')}) >= (${at}, ${floor})`,
    `(${keys.join(', ')}) < (${at}, ${end})`,
    ...(rarest ? [`${rarest[1]} IS NOT NULL`] : []),
  ];
  if (isCompared) {
    const equal = comparedIn(query).map(([field, column]) => {
      return `${column} = ${parameter(query[field])}`;
    });
    conditions.push(...equal, ...(since ? [`timestamp > ${since}`] : []));
  }
  const places = `SELECT part.sequence FROM unnest($2::text[]) AS type CROSS JOIN LATERAL (
      SELECT sequence FROM log WHERE ${conditions.join(' AND ')}
      ORDER BY ${keys.map((key) => `${key} DESC`).join(', ')} LIMIT $1
    ) part ORDER BY part.sequence DESC`;
  return { places, values };
}

type Columns = readonly [keyof EntryQuery, column: string][];

function namedIn(query: EntryQuery): Columns {
  return NAMED.filter(([field]) => query[field] !== undefined);
}

/** The first columns of the query's index. The index by invocation has no trail. */
function rangedIn(query: EntryQuery): Columns {
  const [rarest] = namedIn(query);
  const isTrail = query.invocationId === undefined;
  return [...(isTrail ? rootIn(query) : []), ...(rarest ? [rarest] : [])];
}

/** The filters that only the rows have. */
function comparedIn(query: EntryQuery): Columns {
  const [, ...others] = namedIn(query);
  return [...(query.invocationId === undefined ? [] : rootIn(query)), ...others];
}

function rootIn({ rootPrincipal }: EntryQuery): Columns {
  return rootPrincipal === undefined ? [] : [['rootPrincipal', 'root_principal']];
}

function variantOf(query: EntryQuery): string {
  return VARIED.map((field) => Number(query[field] !== undefined)).join('');
}

/** The parts that vary a statement's text. The server cuts names at 63 bytes, so they are encoded. */
const VARIED = ['rootPrincipal', ...NAMED.map(([field]) => field), 'since', 'before'] as const;

/** Sorts only the few places that the ranges return. */
export const IN_ORDER: Statement = {
  name: 'entries_in_order',
  text: `SELECT set_config('enable_sort', 'off', true),
    set_config('enable_incremental_sort', 'off', true)`,
};

/** Greater than every place. */
const PLACE_MAX = '9223372036854775807';

/** Timestamps are not ordered by place, but the greatest so far is: an index finds where to stop. */
function firstLater(since: string): string {
  return `(SELECT sequence FROM log WHERE latest > ${since} ORDER BY latest, sequence LIMIT 1)`;
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

const ORIGINS: Statement = {
  name: 'origins',
  text: 'SELECT first, log_id FROM origins ORDER BY first',
};
