/**
 * Empty places for stores under test, which go with the test that asks for them.
 *
 * @module
 */

import { join } from 'node:path';
import type { Store } from '../../src/storage/port/store.ts';
import { openPostgres } from '../../src/storage/postgres/store.ts';
import { emptyStore } from './empty-store.ts';
import { temporaryFolder } from './ends.ts';

/** A path at which there is no file yet. */
export function newFile(): string {
  return join(temporaryFolder(), 'writ.db');
}

/** So many instances on one empty database. */
export async function openInstances(count: number): Promise<readonly [Store, ...Store[]]> {
  const { url } = await emptyStore();
  const first = await openPostgres(url);
  const others: Store[] = [];
  while (others.length < count - 1) others.push(await openPostgres(url));
  return [first, ...others];
}
