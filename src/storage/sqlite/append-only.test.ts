import assert from 'node:assert/strict';
import { beforeEach, test } from 'vitest';
import { closedAtEnd } from '../../../test/ends.ts';
import { entry } from '../../testing/fixtures.ts';
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
  'DELETE FROM log',
  'DELETE FROM log WHERE sequence = 2',
  'UPDATE log SET sequence = 9 WHERE sequence = 2',
  "UPDATE log SET entry_id = 'ent_other', leaf = NULL, personal = NULL WHERE sequence = 0",
  'UPDATE log SET leaf_hash = zeroblob(32), leaf = NULL, personal = NULL WHERE sequence = 0',
  "UPDATE log SET leaf = x'00' WHERE sequence = 0",
  'UPDATE log SET capability = NULL WHERE sequence = 0',
  "UPDATE log SET capability = 'other', leaf = NULL, personal = NULL WHERE sequence = 0",
  'UPDATE log SET capability = NULL, personal = NULL WHERE sequence = 0',
  'UPDATE log SET leaf = NULL WHERE sequence = 0',
  "UPDATE log SET personal = x'00' WHERE sequence = 0",
  'UPDATE log SET client_reference_id = NULL WHERE sequence = 0',
  'UPDATE log SET retain_until = 5, leaf = NULL, personal = NULL WHERE sequence = 0',
  "UPDATE log SET task_id = 'made up', leaf = NULL, personal = NULL WHERE sequence = 0",
  "UPDATE log SET root_principal = 'human:other', leaf = NULL, personal = NULL WHERE sequence = 0",
  "UPDATE log SET state = 'failed', leaf = NULL, personal = NULL WHERE sequence = 0",
  'UPDATE log SET timestamp = 0, leaf = NULL, personal = NULL WHERE sequence = 0',
  `INSERT OR REPLACE INTO log SELECT * FROM log WHERE sequence = 0`,
  'DELETE FROM nodes',
  'UPDATE nodes SET hash = zeroblob(32)',
  'INSERT OR REPLACE INTO nodes VALUES (1, 0, zeroblob(32))',
  'DELETE FROM head',
  "UPDATE head SET size = 0, peaks = x''",
  'DELETE FROM checkpoints',
  'UPDATE checkpoints SET size = 1',
];

for (const sql of FORBIDDEN) {
  test(`the database refuses: ${sql}`, async () => {
    const before = await store.scanEntries(0, 10);

    assert.throws(() => connection.script(sql), /append-only/);

    assert.deepEqual(await store.scanEntries(0, 10), before);
  });
}

test('the database lets retention erase what an entry says', async () => {
  const [before] = await store.scanEntries(0, 1);

  connection.script(`UPDATE log SET leaf = NULL, personal = NULL, capability = NULL,
    client_reference_id = NULL, actor_key = '' WHERE sequence = 0`);

  const [after] = await store.scanEntries(0, 1);
  assert.deepEqual(after, {
    ...before,
    leaf: undefined,
    personal: undefined,
    capability: undefined,
    client_reference_id: undefined,
    actor_key: '',
  });
});
