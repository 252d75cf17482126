/**
 * A SQLite store as the version before segments wrote it: one row for each entry, and nodes of the tree.
 *
 * Made of a store of this version: the steps below the one that moves the log, then its rows.
 *
 * @module
 */

import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { StoredEntry } from '../../src/domain/log/entry.ts';
import { appendLeaves } from '../../src/domain/log/merkle.ts';
import { firstPlaceOf, nodeFrom } from '../../src/domain/log/origin.ts';
import { entriesOf } from '../../src/storage/log/segment.ts';
import { openConnection } from '../../src/storage/sqlite/connection.ts';
import { segmentsFrom } from '../../src/storage/sqlite/log/segments.ts';
import { MIGRATIONS, migrate, SEGMENTED } from '../../src/storage/sqlite/schema/migrations.ts';
import { attack, openRaw } from './raw-segments.ts';

/** Tables that a later step replaces. */
const OLD_TABLES = ['log', 'nodes', 'marks'];

/** Writes into `to` what is in the store `from`, in the form of the version before. */
export function writeOlder(from: string, to: string): void {
  const store = openConnection(from);
  const entries = [...segmentsFrom(store, 0)].flatMap(entriesOf);
  store.close();
  const older = openConnection(to);
  migrate(older, MIGRATIONS.slice(0, SEGMENTED - 1));
  older.close();

  const raw = openRaw(to);
  raw.prepare('ATTACH ? AS newer').run(from);
  raw.exec('PRAGMA foreign_keys = OFF');
  attack(raw, () => {
    for (const table of tablesOf(raw)) {
      const columns = raw.prepare(`SELECT name FROM pragma_table_info(?, 'main')`).all(table);
      const list = columns.map(({ name }) => `"${name}"`).join(', ');
      raw.exec(`DELETE FROM main.${table}`);
      raw.exec(`INSERT INTO main.${table} (${list}) SELECT ${list} FROM newer.${table}`);
    }
    insertRows(raw, entries);
    insertNodes(raw, entries);
  });
  raw.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  raw.close();
}

function tablesOf(raw: DatabaseSyncInstance): string[] {
  const rows = raw
    .prepare("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    .all() as { name: string }[];
  return rows.map(({ name }) => name).filter((name) => !OLD_TABLES.includes(name));
}

const COLUMNS = [
  ...['sequence', 'entry_id', 'entry_type', 'root_principal', 'actor_key', 'capability'],
  ...['invocation_id', 'client_reference_id', 'task_id', 'parent_invocation_id', 'event_class'],
  ...['state', 'timestamp', 'retain_until', 'leaf', 'personal', 'leaf_hash'],
] as const satisfies (keyof StoredEntry)[];

function insertRows(raw: DatabaseSyncInstance, entries: readonly StoredEntry[]): void {
  const insert = raw.prepare(
    `INSERT INTO log (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})`,
  );
  for (const entry of entries) {
    const values = COLUMNS.map((column) => entry[column] ?? null);
    insert.run(...values.map((value) => (value instanceof Date ? value.getTime() : value)));
  }
}

/** The nodes above the leaves, of each log. */
function insertNodes(raw: DatabaseSyncInstance, entries: readonly StoredEntry[]): void {
  const insert = raw.prepare('INSERT INTO nodes (level, "index", hash) VALUES (?, ?, ?)');
  for (const first of new Set(entries.map(({ sequence }) => firstPlaceOf(sequence)))) {
    const own = entries.filter(({ sequence }) => firstPlaceOf(sequence) === first);
    const { nodes } = appendLeaves(
      0,
      [],
      own.map(({ leaf_hash }) => leaf_hash),
    );
    for (const node of nodes.filter(({ level }) => level > 0)) {
      const { level, index } = nodeFrom(first, node);
      insert.run(level, index, node.hash);
    }
  }
}
