/**
 * The schema of a new store is the recorded one.
 *
 * The files beside this one were recorded from the last stores that single steps had made. A change of a schema changes
 * them too: `npx vitest run --project unit test/store/schema.test.ts -u` writes them, and a reviewer reads the difference.
 *
 * @module
 */

import { expect, test } from 'vitest';
import { openPostgres } from '../../src/storage/postgres/store.ts';
import { openConnection } from '../../src/storage/sqlite/connection.ts';
import { migrate } from '../../src/storage/sqlite/schema/migrations.ts';
import { closedAtEnd } from '../support/ends.ts';
import { freshDatabase } from '../support/postgres.ts';
import { postgresSchema, sqliteSchema } from './schema.ts';

test('a new SQLite store has the recorded schema', async () => {
  const store = closedAtEnd(openConnection(':memory:'));
  migrate(store);

  await expect(sqliteSchema(store)).toMatchFileSnapshot('schema-sqlite.txt');
});

test('a new PostgreSQL store has the recorded schema', async () => {
  const { url } = await freshDatabase();
  await (await openPostgres(url, { poolSize: 1 })).close();

  await expect(await postgresSchema(url)).toMatchFileSnapshot('schema-postgres.txt');
});
