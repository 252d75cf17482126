/**
 * Reads the whole log page by page, and goes on behind a segment that is damaged.
 *
 * @module
 */

import type { StoredEntry } from '../../domain/log/entry.ts';
import { DamagedSegment } from '../log/segment.ts';
import type { Store } from '../port/store.ts';

/** Entries read at once: enough to make trips rare, few enough to hold (65 KB each at most). */
const PAGE = 500;

/** All entries below `end`, in order. `onDamage` gets the places that cannot be read, and the reason. */
export async function* readablePages(
  store: Store,
  end: number,
  onDamage: (places: string, reason: string) => void,
): AsyncGenerator<readonly StoredEntry[]> {
  for (let from = 0; from < end; ) {
    try {
      const page = await store.scanEntries(from, PAGE);
      const below = page.filter(({ sequence }) => sequence < end);
      if (below.length === 0) return;
      yield below;
      from = (below.at(-1) as StoredEntry).sequence + 1;
    } catch (error) {
      if (!(error instanceof DamagedSegment)) throw error;
      const { first, end: after, message } = error;
      onDamage(after > first + 1 ? `${first} to ${after - 1}` : `${first}`, message);
      from = after;
    }
  }
}

/** The place of the first entry from this one on, also when it cannot be read. */
export async function firstPlaceFrom(store: Store, place: number): Promise<number | undefined> {
  try {
    return (await store.scanEntries(place, 1))[0]?.sequence;
  } catch (error) {
    if (error instanceof DamagedSegment) return Math.max(error.first, place);
    throw error;
  }
}
