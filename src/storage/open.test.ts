import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { closedAtEnd, temporaryFolder } from '../../test/support/ends.ts';
import { at } from '../../test/support/fixtures.ts';
import { freshDatabase } from '../../test/support/postgres.ts';
import { openStore } from './open.ts';

test('openStore() opens a store in memory, with the clock it is given', async () => {
  const store = closedAtEnd(await openStore('memory:', { clock: () => at(5) }));

  await store.probe();

  assert.deepEqual(store.now(), at(5));
});

test('openStore() opens the file that the address names', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'deep', 'writ.db');

  const store = closedAtEnd(await openStore(`sqlite:${path}`));

  await store.probe();
  assert.ok(existsSync(path));
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
});

test('openStore() makes no file where it may not create, and no folder', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'deep', 'writ.db');

  await assert.rejects(openStore(`sqlite:${path}`, { create: false }), {
    message: `Cannot open the store: there is no store in "${path}"`,
  });

  assert.equal(existsSync(join(folder, 'deep')), false);
});

test('openStore() leaves an empty file empty where it may not create', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'writ.db');
  writeFileSync(path, '');

  await assert.rejects(openStore(`sqlite:${path}`, { create: false }), {
    message: `Cannot open the store: there is no store in "${path}"`,
  });

  assert.deepEqual(readdirSync(folder), ['writ.db']);
  assert.equal(readFileSync(path).length, 0);
});

test('openStore() opens what is there where it may not create', async () => {
  const database = await freshDatabase();
  const folder = temporaryFolder();

  for (const url of [database.url, `sqlite:${join(folder, 'writ.db')}`]) {
    const made = await openStore(url);
    await made.close();
    const found = await openStore(url, { create: false });
    await found.close();
    assert.equal(found.logId, made.logId);
  }
});

for (const url of ['', 'writ.db', 'sqlite:', 'mysql://user:secret@127.0.0.1/writ', 'memory:x']) {
  test(`openStore() refuses "${url}" without repeating a password`, async () => {
    await assert.rejects(openStore(url), (error: Error) => {
      assert.match(error.message, /^Cannot open the store: ".*" is not "memory:"/);
      return !error.message.includes('secret');
    });
  });
}
