/**
 * The store contract, on every store we ship. A store in memory is the SQLite store without a file; most other tests
 * use it.
 *
 * @module
 */

import { describe, test } from 'vitest';
import { openSqlite } from '../src/storage/sqlite/store.ts';
import { storeContract } from '../src/testing/store/store-contract.ts';
import { newFile, openInstances } from './store-places.ts';

const runner = { describe, test };

storeContract('SQLite file', () => openSqlite(newFile()), { runner });
storeContract('PostgreSQL', async () => (await openInstances(1))[0], { runner });
