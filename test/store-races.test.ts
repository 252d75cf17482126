/**
 * The races for a store, on every store we ship, and through several instances on one database.
 *
 * @module
 */

import { afterAll, describe, test } from 'vitest';
import { openSqlite } from '../src/storage/sqlite/store.ts';
import { storeRaces } from '../src/testing/store-races.ts';
import { createPlaces } from './store-places.ts';

const runner = { describe, test };

const places = createPlaces();
afterAll(() => places.remove());

storeRaces('in-memory SQLite', async () => [await openSqlite(':memory:')], { runner });
// One process takes turns on a file whatever it does: fewer rounds find as much.
storeRaces('SQLite file', async () => [await openSqlite(places.file())], { runner, rounds: 200 });
storeRaces('two instances on one SQLite file', openFileTwice, { runner, rounds: 200 });
storeRaces('PostgreSQL', () => places.openPostgres(1), { runner });
storeRaces('three instances on one PostgreSQL', () => places.openPostgres(3), { runner });

async function openFileTwice() {
  const file = places.file();
  return [await openSqlite(file), await openSqlite(file)] as const;
}
