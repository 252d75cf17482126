import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { freshDatabase } from '../../test/postgres.ts';
import { at } from '../testing/fixtures.ts';
import { openStore } from './open.ts';

test('openStore() opens a store in memory, with the clock it is given', async () => {
  const store = await openStore('memory:', { clock: () => at(5) });

  await store.probe();

  assert.deepEqual(store.now(), at(5));
  await store.close();
});

test('openStore() opens the file that the address names', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'writ-open-'));
  const path = join(folder, 'deep', 'writ.db');

  const store = await openStore(`sqlite:${path}`);

  await store.probe();
  assert.ok(existsSync(path));
  await store.close();
  rmSync(folder, { recursive: true });
});

test('openStore() opens the database that either form of a PostgreSQL address names', async () => {
  const database = await freshDatabase();

  const stores = [
    await openStore(database.url),
    await openStore(database.url.replace(/^postgres:/, 'postgresql:')),
  ] as const;

  await stores[0].probe();
  assert.equal(stores[0].logId, stores[1].logId);
  for (const store of stores) await store.close();
  await database.drop();
});

for (const url of ['', 'writ.db', 'sqlite:', 'mysql://user:secret@127.0.0.1/writ', 'memory:x']) {
  test(`openStore() refuses "${url}" without repeating a password`, async () => {
    await assert.rejects(openStore(url), (error: Error) => {
      assert.match(error.message, /^Cannot open the store: ".*" is not "memory:"/);
      return !error.message.includes('secret');
    });
  });
}
