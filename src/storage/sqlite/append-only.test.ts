import assert from 'node:assert/strict';
import { beforeEach, test } from 'vitest';
import { closedAtEnd } from '../../../test/support/ends.ts';
import { entry } from '../../../test/support/fixtures.ts';
import type { Store } from '../port/store.ts';
import { type Connection, openConnection } from './connection.ts';
import { createSqliteStore } from './store.ts';

let connection: Connection;
let store: Store;

beforeEach(async () => {
  connection = openConnection(':memory:');
  store = closedAtEnd(createSqliteStore(connection));
  const first = entry({ capability: 'book_flight', client_reference_id: 'ref' });
  await store.append([first, entry(), entry()]);
  // As many as complete a node that a tile has.
  await store.append(Array.from({ length: 253 }, () => entry()));
  await store.insertCheckpoint({
    checkpoint_id: 'ckpt-1',
    sequence: 1,
    size: 2,
    root: new Uint8Array(32),
    created_at: new Date(0),
    signature: 'header..signature',
    note: 'note',
  });
});

const FORBIDDEN: readonly string[] = [
  'DELETE FROM segments',
  'UPDATE segments SET first = 9',
  'UPDATE segments SET count = 2, hashes = substr(hashes, 33)',
  "UPDATE segments SET hashes = zeroblob(96), leaves = x''",
  "UPDATE segments SET leaves = CAST(leaves || '{}' AS BLOB)",
  "UPDATE segments SET personal = CAST(personal || '{}' AS BLOB)",
  "UPDATE segments SET leaves = CAST(replace(leaves, 'completed', 'refused_!') AS BLOB)",
  "UPDATE segments SET leaves = x'', personal = CAST(personal || '{}' AS BLOB)",
  'INSERT OR REPLACE INTO segments SELECT * FROM segments',
  "INSERT INTO segments VALUES (2, 1, zeroblob(32), x'7b7d0a', x'0a')",
  'DELETE FROM tiles',
  'UPDATE tiles SET hashes = zeroblob(32)',
  "UPDATE tiles SET hashes = x''",
  'UPDATE tiles SET id = 9',
  'INSERT OR REPLACE INTO tiles VALUES (0, zeroblob(32))',
  'DELETE FROM head',
  "UPDATE head SET size = 0, peaks = x''",
  'DELETE FROM checkpoints',
  'UPDATE checkpoints SET size = 1',
];

for (const sql of FORBIDDEN) {
  test(`the database refuses: ${sql}`, async () => {
    const before = await store.scanEntries(0, 300);

    assert.throws(() => connection.script(sql), /append-only/);

    assert.deepEqual(await store.scanEntries(0, 300), before);
  });
}

test('the database lets retention erase what an entry says', async () => {
  const [before] = await store.scanEntries(0, 1);
  const until = new Date(8.64e15);

  await store.erase({ what: 'personal', until, limit: 1 });

  const [after] = await store.scanEntries(0, 1);
  assert.deepEqual(after, {
    ...before,
    personal: undefined,
    client_reference_id: undefined,
    actor_key: '',
    root_principal: '',
  });
});
