/**
 * The races for a store, on every store we ship, and through several instances on one database.
 *
 * @module
 */

import { describe, test } from 'vitest';
import { openSqlite } from '../src/storage/sqlite/store.ts';
import { storeRaces } from '../src/testing/store/store-races.ts';
import { newFile, openInstances } from './store-places.ts';

const runner = { describe, test };

/** Without the lock of a lineage, 200 rounds failed each time. `WRIT_TEST_RACE_ROUNDS` asks for more. */
const rounds = Number(process.env.WRIT_TEST_RACE_ROUNDS ?? 200);
const options = { runner, rounds };

storeRaces('in-memory SQLite', async () => [await openSqlite(':memory:')], options);
storeRaces('SQLite file', async () => [await openSqlite(newFile())], options);
storeRaces('two instances on one SQLite file', openFileTwice, options);
storeRaces('PostgreSQL', () => openInstances(1), options);
storeRaces('three instances on one PostgreSQL', () => openInstances(3), options);

async function openFileTwice() {
  const file = newFile();
  return [await openSqlite(file), await openSqlite(file)] as const;
}
