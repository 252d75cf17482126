/**
 * Empty stores of both kinds whose rows a test reads and changes behind the service's back.
 *
 * @module
 */

import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { emptyStore, type Place } from './empty-store.ts';
import { temporaryFolder } from './ends.ts';
import { connectedTo } from './postgres.ts';

export interface SqlPlace extends Place {
  count(table: string): Promise<number>;
  alter(sql: string): Promise<void>;
}

export const SQL_PLACES: readonly { name: string; open(): Promise<SqlPlace> }[] = [
  { name: 'SQLite', open: async () => openFile() },
  { name: 'PostgreSQL', open: openDatabase },
];

function openFile(): SqlPlace {
  const file = join(temporaryFolder(), 'writ.db');
  return {
    url: `sqlite:${file}`,
    async count(table) {
      const database = new DatabaseSync(file, { readOnly: true });
      const row = database.prepare(`SELECT count(*) AS n FROM ${table}`).get();
      database.close();
      return Number(row?.n);
    },
    async alter(sql) {
      const database = new DatabaseSync(file);
      // Who can write the file is stopped by no condition of a table.
      database.exec(`PRAGMA ignore_check_constraints = ON; ${sql}`);
      database.close();
    },
    drop: async () => undefined,
  };
}

async function openDatabase(): Promise<SqlPlace> {
  const place = await emptyStore();
  const client = await connectedTo(place.url);
  return {
    ...place,
    count: async (table) =>
      Number((await client.query(`SELECT count(*) AS n FROM ${table}`)).rows[0].n),
    alter: async (sql) => void (await client.query(sql)),
  };
}
