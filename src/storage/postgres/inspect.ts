/**
 * Damage that only the database can find: tiles, index blocks, guards, indexes.
 *
 * Only reads, in one snapshot, so appends may continue. Reads whole tables, so it runs longer than other
 * statements may.
 *
 * @module
 */

import { run } from '../../steps.ts';
import { derivedFaults } from '../log/derived.ts';
import type { Database, Session, Statement } from './connection.ts';
import { INDEXES } from './schema/migrations.ts';
import { readerOn } from './sql.ts';

/** Long enough to read a log of hundreds of millions of entries from a slow disk. */
const INSPECTION_TIMEOUT_MS = 30 * 60_000;

export function inspectDatabase(database: Database): Promise<string[]> {
  return database.snapshot(async (session) => {
    await session.run(PATIENCE);
    // Upkeep makes the last blocks after the entries: those that are missing are no damage.
    const derived = await run(derivedFaults(readerOn(session.run), Number.POSITIVE_INFINITY));
    return [...derived, ...(await missingGuards(session)), ...(await missingIndexes(session))];
  });
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
  ['segments', 'segments_altered'],
  ['segments', 'segments_inserted'],
  ['segments', 'segments_deleted'],
  ['segments', 'segments_truncated'],
  ['tiles', 'tiles_altered'],
  ['tiles', 'tiles_deleted'],
  ['tiles', 'tiles_truncated'],
  ['origins', 'origins_changed'],
  ['origins', 'origins_truncated'],
];
const ALWAYS = 'A';

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
