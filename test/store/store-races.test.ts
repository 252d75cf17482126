/**
 * The races for a store, on every store we ship, and through several instances on one database.
 *
 * @module
 */

import { describe, test } from 'vitest';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import { rounds } from '../support/rounds.ts';
import { newFile, openInstances } from '../support/store-places.ts';
import { storeRaces } from './store-races.ts';

const runner = { describe, test };

/** Without the lock of a lineage, 200 rounds failed each time: two runs of the whole suite. */
const options = { runner, rounds: rounds(15) };

storeRaces('SQLite file', async () => [await openSqlite(newFile())], options);
storeRaces('two instances on one SQLite file', openFileTwice, options);
storeRaces('PostgreSQL', () => openInstances(1), options);
storeRaces('three instances on one PostgreSQL', () => openInstances(3), options);

async function openFileTwice() {
  const file = newFile();
  return [await openSqlite(file), await openSqlite(file)] as const;
}
