/**
 * Empty places for stores under test: files in one folder, databases that are used again.
 *
 * @module
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '../src/storage/port/store.ts';
import { openPostgres } from '../src/storage/postgres/store.ts';
import { emptyStore, type Place } from './empty-store.ts';

type Instances = readonly [Store, ...Store[]];

export interface Places {
  /** A path at which there is no file yet. */
  file(): string;
  /** So many instances on one empty database, which goes when the last of them is closed. */
  openPostgres(count: number): Promise<Instances>;
  remove(): void;
}

export function createPlaces(): Places {
  const folder = mkdtempSync(join(tmpdir(), 'writ-store-'));
  let files = 0;
  return {
    file: () => join(folder, `${files++}.db`),
    openPostgres: openInstances,
    remove: () => rmSync(folder, { recursive: true }),
  };
}

async function openInstances(count: number): Promise<Instances> {
  const place = await emptyStore();
  const stores: Store[] = [];
  for (let i = 0; i < count; i++) stores.push(await openPostgres(place.url));
  const last = stores.pop() as Store;
  return [...stores, droppingAfter(last, place)] as unknown as Instances;
}

function droppingAfter(store: Store, place: Place): Store {
  return {
    ...store,
    async close() {
      await store.close();
      await place.drop();
    },
  };
}
