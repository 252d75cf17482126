/**
 * PostgreSQL databases under faults: prepared before, checked after.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { openPostgres } from '../../src/storage/postgres/store.ts';
import { runSql } from '../support/postgres.ts';
import { checkLedger, type Ledger, prepareWorld } from './ledger.ts';
import type { World } from './said.ts';

/** In milliseconds. */
const POLL_MS = 10;

export async function prepareDatabase(url: string): Promise<World> {
  const store = await openPostgres(url);
  const world = await prepareWorld(store);
  await store.close();
  return world;
}

export async function checkDatabase(url: string, world: World, ledger: Ledger): Promise<void> {
  await untilAlone(url);
  const warnings: string[] = [];
  const store = await openPostgres(url, { onWarning: (text) => warnings.push(text) });
  await checkLedger(store, world, ledger);
  await store.sequence();
  assert.deepEqual(store.backlog(), { waiting: 0, overloaded: false });
  await store.close();
  assert.deepEqual(warnings, []);
}

/** A killed process leaves statements behind that the server goes on with, and may yet commit. */
async function untilAlone(url: string): Promise<void> {
  while ((await runSql(url, OTHERS)).length > 0) await sleep(POLL_MS);
}

const OTHERS = `SELECT FROM pg_stat_activity WHERE datname = current_database()
  AND backend_type = 'client backend' AND pid <> pg_backend_pid()`;
