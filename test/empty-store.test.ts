/**
 * What is used again is as good as new.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { openPostgres } from '../src/storage/postgres/store.ts';
import { walk } from '../src/testing/store/model-walk.ts';
import { emptyStore, withClient } from './empty-store.ts';
import { freshDatabase } from './postgres.ts';

test('drop() leaves a store as after migration, except for its log id', async () => {
  const fresh = await freshDatabase();
  await (await openPostgres(fresh.url)).close();
  const expected = await contents(fresh.url);
  await fresh.drop();

  const used = await emptyStore();
  const store = await openPostgres(used.url);
  await walk(store, 1, 120);
  await store.close();
  await withClient(used.url, (client) => client.query('ANALYZE'));
  assert.notDeepEqual(without(await contents(used.url)), without(expected));
  const before = await contents(used.url);
  await used.drop();
  const again = await emptyStore();
  const after = await contents(again.url);
  await again.drop();

  assert.deepEqual(without(after), without(expected));
  assert.notEqual(after.logId, before.logId);
  assert.deepEqual(after.rows.origins, [['0', after.logId]]);
});

interface Contents {
  readonly logId: string;
  /** Every row, the state of every sequence and trigger, and which tables the server counted. */
  readonly rows: Record<string, unknown>;
}

const without = ({ rows: { origins: _, ...rows } }: Contents) => rows;

function contents(url: string): Promise<Contents> {
  return withClient(url, async (client) => {
    const ask = async (sql: string) => (await client.query({ text: sql, rowMode: 'array' })).rows;
    const rows: Record<string, unknown> = {
      triggers: await ask(
        'SELECT tgname, tgenabled FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1',
      ),
      sequences: await ask('SELECT sequencename, last_value FROM pg_sequences ORDER BY 1'),
      version: await ask('SELECT version FROM meta'),
      counted: await ask(`SELECT relname FROM pg_class WHERE relkind = 'r' AND reltuples >= 0
        AND relnamespace = 'public'::regnamespace AND relname <> 'meta' ORDER BY 1`),
    };
    const tables = await ask(`SELECT tablename FROM pg_tables
      WHERE schemaname = 'public' AND tablename <> 'meta' ORDER BY 1`);
    for (const [table] of tables) rows[table] = await ask(`SELECT * FROM ${table} ORDER BY 1`);
    const [[logId]] = (await ask('SELECT log_id FROM meta')) as [[string]];
    return { logId, rows };
  });
}
