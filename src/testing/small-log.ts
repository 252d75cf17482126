/**
 * A small log for tests of the tree: every column says something, and two checkpoints cover it.
 *
 * @module
 */

import { foldPeaks } from '../domain/merkle.ts';
import type { Store } from '../storage/store.ts';
import { at, entry, newId } from './fixtures.ts';

/** In entries. Seven have three peaks and nodes on three levels. */
export const SMALL_LOG_SIZE = 7;

/** A small log with every column filled somewhere, and two checkpoints. */
export async function fillLog(store: Store, size = SMALL_LOG_SIZE): Promise<void> {
  for (let i = 0; i < size; i++) {
    await store.append([
      entry({
        ...{ capability: 'book_flight', invocation_id: newId('inv-'), task_id: `task ${i}` },
        ...{ client_reference_id: `ref ${i}`, parent_invocation_id: newId('inv-') },
        timestamp: at(i).toISOString(),
      }),
    ]);
    if (i === 2 || i === size - 1) await sealLog(store);
  }
}

export async function sealLog(store: Store): Promise<void> {
  const { size, peaks } = await store.sequence();
  const last = await store.lastCheckpoint();
  const kept = await store.insertCheckpoint({
    checkpoint_id: newId('ckpt-'),
    sequence: (last?.sequence ?? 0) + 1,
    size,
    root: foldPeaks(peaks),
    created_at: at(size),
    signature: 'header..signature',
    note: 'note',
  });
  if (!kept) throw new Error(`Cannot seal at ${size} entries: another checkpoint came first`);
}
