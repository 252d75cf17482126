/**
 * The store contract and the races, on the simulated store.
 *
 * @module
 */

import { describe, test } from 'vitest';
import { system } from '../../../src/platform.ts';
import type { Store } from '../../../src/storage/port/store.ts';
import { storeContract } from '../../../src/testing/store/store-contract.ts';
import { storeRaces } from '../../../src/testing/store/store-races.ts';
import { createMemoryDatabase } from './database.ts';
import { openMemoryStore } from './store.ts';

const runner = { describe, test };

/** More rounds and callers find nothing more in a store whose calls are synchronous. */
const few = { runner, rounds: 50, callers: 40 };

const options = { platform: system, clock: () => new Date(system.now()) };

function openStores(count: number): [Store, ...Store[]] {
  const database = createMemoryDatabase();
  const others = Array.from({ length: count - 1 }, () => openMemoryStore(database, options));
  return [openMemoryStore(database, options), ...others];
}

storeContract('simulated', async () => openStores(1)[0], { runner });
storeRaces('simulated', async () => openStores(1), few);
storeRaces('three instances of the simulated', async () => openStores(3), few);
