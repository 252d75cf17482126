/**
 * SQLite files under faults: prepared before, checked after.
 *
 * The test's own process never opens the file under test. As long as any process has it open the next
 * one takes over what is in shared memory, and only the first one after a crash reads the log as the
 * crash has left it. So a store is prepared elsewhere, and looked at in a copy.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { copyFileSync, existsSync } from 'node:fs';
import { openConnection } from '../../src/storage/sqlite/connection.ts';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import { checkLedger, type Ledger, prepareWorld } from './ledger.ts';
import type { World } from './said.ts';

export async function prepareFile(file: string): Promise<World> {
  const other = `${file}-prepared`;
  const store = await openSqlite(other);
  const world = await prepareWorld(store);
  await store.close();
  copyFileSync(other, file);
  return world;
}

/** Only when no process uses the file. First the file, then what is in it, then the file again. */
export async function checkStoreFile(file: string, world: World, ledger: Ledger): Promise<void> {
  const copy = copyOf(file);
  checkIntegrity(copy);
  const store = await openSqlite(copy);
  await checkLedger(store, world, ledger);
  await store.close();
  checkIntegrity(copy);
}

/** Only when no process uses the file. */
export function checkFile(file: string): void {
  checkIntegrity(copyOf(file));
}

let copies = 0;

/** Without the shared memory, as a machine that lost its power would find it. */
function copyOf(file: string): string {
  copies += 1;
  const copy = `${file}-copy-${copies}`;
  copyFileSync(file, copy);
  if (existsSync(`${file}-wal`)) copyFileSync(`${file}-wal`, `${copy}-wal`);
  return copy;
}

function checkIntegrity(file: string): void {
  const connection = openConnection(file);
  const integrity = connection.all<object>('PRAGMA integrity_check').map((row) => ({ ...row }));
  const broken = connection.all<object>('PRAGMA foreign_key_check');
  connection.close();
  assert.deepEqual(integrity, [{ integrity_check: 'ok' }]);
  assert.deepEqual(broken, []);
}
