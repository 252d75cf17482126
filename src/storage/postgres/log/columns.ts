/**
 * What the index needs of entries, as far as the process knows it of them.
 *
 * @module
 */

import type { Steps } from '../../../steps.ts';
import { addColumns } from '../../log/block-index.ts';
import { type Columns, createColumns } from '../../log/blocks.ts';
import { rangeOf } from '../../log/segments.ts';
import type { SqlReader } from '../../sql/sql.ts';
import { type Shape, statement } from '../../sql/statement.ts';
import type { RecentEntries, SegmentShape } from './recent.ts';

/** As `readColumns`. Reads only segments that have entries of other processes, or that retention has changed. */
export function* recentColumns(
  sql: SqlReader,
  recent: RecentEntries,
  { from, end }: { readonly from: number; readonly end: number },
): Steps<Columns> {
  const columns = createColumns();
  // Where segments begin that are not known; they are read together up to the next known one.
  let unread: number | undefined;
  function* readUpTo(place: number): Steps<void> {
    if (unread !== undefined) yield* addColumns(sql, columns, { from, begin: unread, end: place });
    unread = undefined;
  }
  for (const shape of yield* sql.all(SHAPES, from, end)) {
    const begin = Math.max(from, shape.first);
    if (!recent.knows(shape)) {
      unread ??= begin;
      continue;
    }
    yield* readUpTo(begin);
    for (let place = begin; place < Math.min(end, shape.first + shape.count); place++) {
      recent.addTo(columns, place - from, shape, place - shape.first);
    }
  }
  yield* readUpTo(end);
  return columns;
}

const SHAPE: Shape<SegmentShape> = {
  fields: {
    first: 'long',
    count: 'integer',
    hashes: 'bytes',
    leaves: 'integer',
    personal: 'integer',
  },
};

/** The segments without their bytes. The server knows the lengths without reading these. */
export const SHAPES = statement('segment_shapes', SHAPE)`
  SELECT s.first, s.count, s.hashes, length(s.leaves) AS leaves, length(s.personal) AS personal
  FROM segments s WHERE ${rangeOf('$1::bigint', '$2::bigint')} ORDER BY s.first`;
