/**
 * A small log for tests of the tree: every column says something, and two checkpoints cover it.
 *
 * @module
 */

import type { EntryRecord } from '../../src/domain/log/entry.ts';
import { generateJwk } from '../../src/keyring/es256.ts';
import { openKeyring } from '../../src/keyring/keyring.ts';
import { createLog } from '../../src/log.ts';
import { system } from '../../src/platform.ts';
import { sealNext } from '../../src/service/log/seal.ts';
import type { Store } from '../../src/storage/port/store.ts';
import { at, entry, newId } from '../support/fixtures.ts';

/** In entries. Seven have three peaks and nodes on three levels. */
export const SMALL_LOG_SIZE = 7;

/** A small log with every column filled somewhere, and two checkpoints. */
export async function fillLog(store: Store, size = SMALL_LOG_SIZE): Promise<void> {
  for (let i = 0; i < size; i++) {
    await store.append([smallEntry(i)]);
    if (i === 2 || i === size - 1) await sealLog(store);
  }
}

/** The entry at this place of a small log: every column says something. */
export function smallEntry(place: number): EntryRecord {
  return entry({
    capability: 'book_flight',
    invocation_id: newId('inv-'),
    task_id: `task ${place}`,
    client_reference_id: `ref ${place}`,
    parent_invocation_id: newId('inv-'),
    timestamp: at(place).toISOString(),
  });
}

/** Signs with keys of its own, as a service would. */
export async function sealLog(store: Store): Promise<void> {
  const log = createLog('silent');
  await sealNext({ serviceId: 'small', store, keyring: smallKeyring, log, platform: system });
}

const keys = [generateJwk(), generateJwk()].map((jwk) => JSON.stringify([jwk]));

/** The keys that sign small logs, for whoever checks them. */
export const smallKeyring = openKeyring(
  { tokenKeys: `${keys[0]}`, logKeys: `${keys[1]}` },
  { now: () => new Date(), onWarning: () => undefined },
);
