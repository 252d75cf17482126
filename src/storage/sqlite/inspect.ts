/**
 * Checks that SQLite can make of its own file: pages, tiles, index blocks, schema.
 *
 * Only reads, in the snapshot of its caller. When pages are damaged it stops: other results would prove
 * nothing.
 *
 * @module
 */

import { BLOCK_ENTRIES } from '../log/blocks.ts';
import { derivedFaults } from '../log/derived.ts';
import { type Connection, IN_MEMORY, openConnection } from './connection.ts';
import { migrate } from './schema/migrations.ts';
import { atOnce, readerOn } from './sql.ts';

/** Findings that SQLite lists. A file that is damaged everywhere needs no longer list. */
const PAGE_FINDINGS_MAX = 100;

export function inspect(connection: Connection): string[] {
  const damage = damagedPages(connection);
  if (damage.length > 0) return damage;
  const derived = atOnce(derivedFaults(readerOn(connection), BLOCK_ENTRIES));
  return [...derived, ...changedSchema(connection)];
}

/** Also compares every index with its table, and every row with the rules of its table. */
function damagedPages(connection: Connection): string[] {
  try {
    return damagedIn(connection, `${PAGE_FINDINGS_MAX}`);
  } catch (error) {
    // A rule that reads JSON does not refuse a row whose text is no JSON: it throws.
    const tables = schemaOf(connection).filter(({ type }) => type === 'table');
    const unreadable = tables.filter(({ name }) => !isReadable(connection, name));
    if (unreadable.length === 0) throw error;
    return unreadable.map(({ name }) => `a row of the table "${name}" has a text that is no JSON`);
  }
}

function isReadable(connection: Connection, table: string): boolean {
  try {
    damagedIn(connection, `"${table.replaceAll('"', '""')}"`);
    return true;
  } catch (error) {
    if (error instanceof Error && error.message.includes('malformed JSON')) return false;
    throw error;
  }
}

/** `what` is a table, or how many findings are wanted in all tables. */
function damagedIn(connection: Connection, what: string): string[] {
  const rows = connection.all<{ integrity_check: string }>(`PRAGMA integrity_check(${what})`);
  const words = rows.map(({ integrity_check }) => integrity_check);
  return words.filter((word) => word !== 'ok').map((word) => `the file is damaged: ${word}`);
}

/**
 * Compares whole texts: a trigger of the right name with another body guards nothing. Reports foreign
 * triggers and unique indexes, which may change or refuse writes; other indexes of the operator do no harm.
 */
function changedSchema(connection: Connection): string[] {
  const kept = new Map(schemaOf(connection).map((part) => [keyOf(part), part]));
  const ours = new Map(ownSchema().map((part) => [keyOf(part), part]));
  const changes = [...ours].flatMap(([key, { type, name, sql }]) => {
    const found = kept.get(key);
    if (found?.sql === sql) return [];
    return [`the ${WORDS[type]} "${name}" ${found ? 'was changed' : 'is missing'}`];
  });
  const strangers = [...kept].filter(([key, part]) => !ours.has(key) && isEffective(part));
  return [
    ...changes,
    ...strangers.map(([, { type, name, on }]) => `the ${type} "${name}" on "${on}" is not ours`),
  ];
}

/** Each type has its own namespace. */
function keyOf({ type, name }: SchemaPart): string {
  return `${type} ${name}`;
}

function isEffective({ type, sql }: SchemaPart): boolean {
  return type === 'trigger' || (type === 'index' && /^CREATE UNIQUE /i.test(sql));
}

const WORDS = { table: 'table', index: 'index', trigger: 'guard' } as const;

interface SchemaPart {
  readonly type: keyof typeof WORDS;
  readonly name: string;
  /** Its table. */
  readonly on: string;
  readonly sql: string;
}

let own: readonly SchemaPart[] | undefined;

/** The schema of every store, read once from a new store in memory. */
function ownSchema(): readonly SchemaPart[] {
  if (own) return own;
  const fresh = openConnection(IN_MEMORY);
  migrate(fresh);
  own = schemaOf(fresh);
  fresh.close();
  return own;
}

/** Without SQLite's internal objects. */
function schemaOf(connection: Connection): SchemaPart[] {
  return connection.all<SchemaPart>(
    `SELECT type, name, tbl_name AS "on", sql FROM sqlite_schema
     WHERE sql IS NOT NULL AND substr(name, 1, 7) <> 'sqlite_'`,
  );
}
