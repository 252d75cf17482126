/**
 * The server under the suite is a real one, set as a production server is.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { Client } from 'pg';
import { inject, test } from 'vitest';
import { freshDatabase } from './postgres.ts';

test('the suite runs on a real PostgreSQL server', async () => {
  const version = await oneValue(inject('postgresUrl'), 'SELECT version()');

  assert.match(version, /^PostgreSQL \d+\.\d+/);
});

test('the server flushes to disk, so that durability can be tested', async () => {
  assert.equal(await oneValue(inject('postgresUrl'), 'SHOW fsync'), 'on');
});

test('freshDatabase() makes databases that do not see each other', async () => {
  const one = await freshDatabase();
  const other = await freshDatabase();

  await oneValue(one.url, "CREATE TABLE mark AS SELECT 'here' AS text");
  const isSeen = "SELECT (to_regclass('mark') IS NOT NULL)::text";

  assert.equal(await oneValue(one.url, isSeen), 'true');
  assert.equal(await oneValue(other.url, isSeen), 'false');
  await Promise.all([one.drop(), other.drop()]);
});

test('drop() removes a database to which a connection is still open', async () => {
  const database = await freshDatabase();
  const client = new Client({ connectionString: database.url });
  // The server ends this connection; that is the point, and no error of the test.
  client.on('error', () => {});
  await client.connect();

  await database.drop();

  const name = new URL(database.url).pathname.slice(1);
  const count = `SELECT count(*)::text FROM pg_database WHERE datname = '${name}'`;
  assert.equal(await oneValue(inject('postgresUrl'), count), '0');
});

/** The one value a statement yields, as text; empty when it yields no row. */
async function oneValue(url: string, sql: string): Promise<string> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, string>>(sql);
    return Object.values(rows[0] ?? {})[0] ?? '';
  } finally {
    await client.end();
  }
}
