/**
 * Reading the log: entries, leaves, tree nodes.
 *
 * Only what has a place can be read, so queries first see to it that everything acknowledged has one.
 *
 * @module
 */

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
      const rows = await database.read<Row>(statement, values);
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

/**
 * What each filter asks of a row. Timestamps are not ordered by place, but the greatest one so far is:
 * it says where to stop, and an index finds that place.
 */
const FILTERS: readonly [keyof EntryQuery, (parameter: string) => string][] = [
  ['rootPrincipal', (value) => `root_principal = ${value}`],
  ['entryType', (value) => `entry_type = ${value}`],
  ['capability', (value) => `capability = ${value}`],
  ['invocationId', (value) => `invocation_id = ${value}`],
  ['clientReferenceId', (value) => `client_reference_id = ${value}`],
  ['taskId', (value) => `task_id = ${value}`],
  ['parentInvocationId', (value) => `parent_invocation_id = ${value}`],
  [
    'since',
    (value) => `timestamp > ${value} AND sequence >= (SELECT sequence FROM log
      WHERE latest > ${value} ORDER BY latest, sequence LIMIT 1)`,
  ],
  ['before', (value) => `sequence < ${value}`],
];

/** One statement for each set of filters, so that each has a plan of its own. */
function queryOf(query: EntryQuery): { statement: Statement; values: unknown[] } {
  const used = FILTERS.filter(([name]) => query[name] !== undefined);
  const conditions = used.map(([, conditionOf], place) => conditionOf(`$${place + 2}`));
  const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
  return {
    statement: {
      name: ['entries', ...used.map(([name]) => name)].join(' '),
      text: `SELECT ${COLUMNS} FROM log ${where} ORDER BY sequence DESC LIMIT $1`,
    },
    values: [query.limit, ...used.map(([name]) => query[name])],
  };
}

const SCAN: Statement = {
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
