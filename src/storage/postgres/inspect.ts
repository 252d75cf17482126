/**
 * Damage that only the database can find: nodes, search times, guards, indexes.
 *
 * Only reads. Each statement compares what it reads in one snapshot, so appends may continue. Reads whole
 * tables, so it runs longer than other statements may.
 *
 * @module
 */

import { ORIGIN_SPAN } from '../../domain/log/origin.ts';
import { treeFaults } from '../fsck/tree-faults.ts';
import type { Database, Session, Statement } from './connection.ts';
import { INDEXES } from './schema/migrations.ts';

/** Long enough to read a log of hundreds of millions of entries from a slow disk. */
const INSPECTION_TIMEOUT_MS = 30 * 60_000;

export function inspectDatabase(database: Database): Promise<string[]> {
  return database.reading(async (session) => {
    await session.run(PATIENCE);
    return [
      ...(await strayNodes(session)),
      ...(await wrongTimes(session)),
      ...(await missingGuards(session)),
      ...(await missingIndexes(session)),
    ];
  });
}

async function strayNodes(session: Session): Promise<string[]> {
  const [row] = await session.run<NodesRow>(NODES);
  if (row === undefined) return ['the tree has no head'];
  const counts = { sizes: row.sizes.map(Number), kept: Number(row.kept), ahead: Number(row.ahead) };
  return treeFaults({ ...counts, firstAhead: row.first }, 0);
}

/** Queries by time start where `latest` says, so a wrong value hides entries from them. */
async function wrongTimes(session: Session): Promise<string[]> {
  const [row] = await session.run<TimesRow>(TIMES);
  const { wrong, first, is_head_right } = row as TimesRow;
  const faults: string[] = [];
  if (wrong > 0n)
    faults.push(`entries whose column "latest" is wrong: ${wrong}, the first is ${first}`);
  if (!is_head_right) faults.push('the head\'s "latest" is not the greatest time of the log');
  return faults;
}

async function missingGuards(session: Session): Promise<string[]> {
  const rows = await session.run<GuardRow>(GUARDS, [
    GUARDED.map(([table]) => table),
    GUARDED.map(([, name]) => name),
  ]);
  const faults = rows.filter(({ state }) => state !== ALWAYS);
  return faults.map(({ name, state }) => {
    return `the guard "${name}" ${state === null ? 'is missing' : 'is not enabled always'}`;
  });
}

async function missingIndexes(session: Session): Promise<string[]> {
  const rows = await session.run<IndexRow>(INDEX_STATES, [
    INDEXES.map(({ name }) => name),
    INDEXES.map(({ table }) => table),
    INDEXES.map(({ isUnique }) => isUnique),
  ]);
  const faults = rows.filter(({ is_right }) => !is_right);
  return faults.map(({ name, is_right }) => {
    return `the index "${name}" ${is_right === null ? 'is missing' : 'was changed, or is not valid'}`;
  });
}

/**
 * The triggers that make the log, the tree and the list of logs append-only, enabled for every session role.
 */
const GUARDED: readonly (readonly [table: string, trigger: string])[] = [
  ['log', 'log_altered'],
  ['log', 'log_deleted'],
  ['log', 'log_truncated'],
  ['nodes', 'nodes_changed'],
  ['nodes', 'nodes_truncated'],
  ['origins', 'origins_changed'],
  ['origins', 'origins_truncated'],
];
const ALWAYS = 'A';

interface NodesRow {
  readonly sizes: bigint[];
  readonly kept: bigint;
  readonly ahead: bigint;
  readonly first: string | null;
}

interface TimesRow {
  readonly wrong: bigint;
  readonly first: bigint | null;
  readonly is_head_right: boolean;
}

interface GuardRow {
  readonly name: string;
  readonly state: string | null;
}

interface IndexRow {
  readonly name: string;
  readonly is_right: boolean | null;
}

export const PATIENCE: Statement = {
  name: 'inspect_patience',
  text: `SELECT set_config('statement_timeout', '${INSPECTION_TIMEOUT_MS}', true)`,
};

/** A shift by more than 63 places wraps around, so such levels are compared separately. */
const NODES: Statement = {
  name: 'inspect_nodes',
  silenceMs: INSPECTION_TIMEOUT_MS,
  text: `SELECT ARRAY(
        SELECT CASE WHEN h.size >= o.first + ${ORIGIN_SPAN} THEN coalesce((
            SELECT max(l.sequence) + 1 - o.first FROM log l
            WHERE l.sequence >= o.first AND l.sequence < o.first + ${ORIGIN_SPAN}), 0)
          ELSE h.size - o.first END
        FROM origins o ORDER BY o.first) AS sizes,
      n.kept, n.ahead, n.first FROM head h CROSS JOIN LATERAL (
      SELECT count(*) AS kept, count(*) FILTER (WHERE is_ahead) AS ahead,
        min(level || '/' || index) FILTER (WHERE is_ahead) AS first
      FROM (SELECT level, index, level > 62 OR index >= (h.size >> level) AS is_ahead
        FROM nodes) AS every
    ) n`,
};

const TIMES: Statement = {
  name: 'inspect_times',
  silenceMs: INSPECTION_TIMEOUT_MS,
  text: `SELECT count(*) FILTER (WHERE latest IS DISTINCT FROM newest) AS wrong,
      min(sequence) FILTER (WHERE latest IS DISTINCT FROM newest) AS first,
      coalesce(max(newest), '-infinity') = (SELECT latest FROM head) AS is_head_right
    FROM (SELECT sequence, latest, max(timestamp) OVER (ORDER BY sequence) AS newest
      FROM log) AS every`,
};

const GUARDS: Statement = {
  name: 'inspect_guards',
  text: `SELECT g.name, t.tgenabled::text AS state
    FROM unnest($1::text[], $2::text[]) AS g (on_table, name)
    LEFT JOIN pg_trigger t ON t.tgrelid = to_regclass(g.on_table) AND t.tgname = g.name`,
};

/** Of the same table, unique where required, and valid: a failed concurrent build leaves an invalid index. */
const INDEX_STATES: Statement = {
  name: 'inspect_indexes',
  text: `SELECT i.name,
      x.indisvalid AND x.indrelid = to_regclass(i.on_table) AND x.indisunique = i.is_unique AS is_right
    FROM unnest($1::text[], $2::text[], $3::boolean[]) AS i (name, on_table, is_unique)
    LEFT JOIN pg_class t ON t.oid = to_regclass(i.on_table)
    LEFT JOIN pg_class c ON c.relname = i.name AND c.relnamespace = t.relnamespace
    LEFT JOIN pg_index x ON x.indexrelid = c.oid`,
};
