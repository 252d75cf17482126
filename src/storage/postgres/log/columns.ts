/**
 * Reads what the index needs of entries: from segments, or from what the process knows of them.
 *
 * @module
 */

import { addAt, type Columns, createColumns } from '../../log/blocks.ts';
import { indexedIn } from '../../log/segment.ts';
import type { Session } from '../connection.ts';
import type { RecentEntries } from './recent.ts';
import { segmentShapes, segmentsFrom } from './segments.ts';

/** What the index needs of the entries from one place up to another, each in its place. */
export async function readColumns(session: Session, from: number, end: number): Promise<Columns> {
  const columns = createColumns();
  await addColumns(session, columns, { from, begin: from, end });
  return columns;
}

/** Adds the entries from `begin` up to `end`, each at its distance from `from`. */
async function addColumns(
  session: Session,
  columns: Columns,
  { from, begin, end }: { from: number; begin: number; end: number },
): Promise<void> {
  for await (const segment of segmentsFrom(session, begin, end)) {
    for (const entry of indexedIn(segment)) {
      const { sequence } = entry;
      if (sequence >= begin && sequence < end) addAt(columns, sequence - from, entry);
    }
  }
}

/** The same, reading only segments that have entries of other processes, or that retention has changed. */
export async function recentColumns(
  session: Session,
  recent: RecentEntries,
  { from, end }: { from: number; end: number },
): Promise<Columns> {
  const columns = createColumns();
  // Where segments begin that are not known; they are read together up to the next known one.
  let unread: number | undefined;
  const readUpTo = async (place: number) => {
    if (unread !== undefined)
      await addColumns(session, columns, { from, begin: unread, end: place });
    unread = undefined;
  };
  for (const shape of await segmentShapes(session, from, end)) {
    const begin = Math.max(from, shape.first);
    if (!recent.knows(shape)) {
      unread ??= begin;
      continue;
    }
    await readUpTo(begin);
    for (let place = begin; place < Math.min(end, shape.first + shape.count); place++) {
      recent.addTo(columns, place - from, shape, place - shape.first);
    }
  }
  await readUpTo(end);
  return columns;
}
