/**
 * A new store made at once: what the steps of all versions make of an empty file, in one script.
 *
 * SQLite reads the whole schema again whenever a step alters a table, so the steps take five times as long.
 *
 * @module
 */

import { newUuid } from '../../../platform.ts';
import type { Connection, Value } from '../connection.ts';

/** A store without an entry, as text and rows. */
export interface Blueprint {
  readonly script: string;
  readonly inserts: readonly { readonly sql: string; readonly values: readonly Value[] }[];
  /** The one of the store it was read from. A new store gets its own. */
  readonly logId: string;
}

/** Reads a store that was just made by the steps. */
export function blueprintOf(store: Connection): Blueprint {
  const made = store.all<{ type: string; name: string; sql: string }>(
    `SELECT type, name, sql FROM sqlite_schema
     WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid`,
  );
  const tables = made.filter(({ type }) => type === 'table');
  const { log_id } = store.get<{ log_id: string }>('SELECT log_id FROM store') as {
    log_id: string;
  };
  return {
    // In the order of their making: a table comes before its indexes and triggers.
    script: made.map(({ sql }) => `${sql};\n`).join(''),
    inserts: tables.flatMap(({ name }) => insertsOf(store, name)),
    logId: log_id,
  };
}

function insertsOf(store: Connection, table: string): Blueprint['inserts'] {
  return store.all<Record<string, Value>>(`SELECT * FROM "${table}"`).map((row) => {
    const columns = Object.keys(row).map((column) => `"${column}"`);
    const places = columns.map(() => '?').join(', ');
    return {
      sql: `INSERT INTO "${table}" (${columns.join(', ')}) VALUES (${places})`,
      values: Object.values(row),
    };
  });
}

/** Makes the tables and rows in an empty file. Only inside a transaction; the caller sets the version. */
export function build(connection: Connection, { script, inserts, logId }: Blueprint): void {
  const own = newUuid(connection.platform);
  connection.script(script);
  for (const { sql, values } of inserts) {
    connection.run(sql, ...values.map((value) => (value === logId ? own : value)));
  }
}
