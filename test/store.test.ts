/**
 * The store contract, on every store we ship.
 *
 * @module
 */

import { afterAll, describe, test } from 'vitest';
import { openSqlite } from '../src/storage/sqlite/store.ts';
import { storeContract } from '../src/testing/store/store-contract.ts';
import { createPlaces } from './store-places.ts';

const runner = { describe, test };

const places = createPlaces();
afterAll(() => places.remove());

storeContract('in-memory SQLite', () => openSqlite(':memory:'), { runner });
storeContract('SQLite file', () => openSqlite(places.file()), { runner });
storeContract('PostgreSQL', async () => (await places.openPostgres(1))[0], { runner });
