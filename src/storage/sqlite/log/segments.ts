/**
 * Reads segments in SQLite.
 *
 * @module
 */

import { hasPlace, type Segment } from '../../log/segment.ts';
import type { Connection } from '../connection.ts';

interface SegmentRow {
  readonly first: bigint;
  readonly count: bigint;
  readonly hashes: Uint8Array;
  readonly leaves: Uint8Array;
  readonly personal: Uint8Array;
}

const COLUMNS = 'first, count, hashes, leaves, personal';

function segmentOf({ first, count, ...bytes }: SegmentRow): Segment {
  return { first: Number(first), count: Number(count), ...bytes };
}

/** The segment that has this place, or the first one above it. */
function segmentAt(connection: Connection, place: number): Segment | undefined {
  const below = connection.get<SegmentRow>(
    `SELECT ${COLUMNS} FROM segments WHERE first <= ? ORDER BY first DESC LIMIT 1`,
    place,
  );
  if (below && Number(below.first + below.count) > place) return segmentOf(below);
  return segmentAfter(connection, place);
}

/** The segments that have places from `from` up to `end`, in order. */
export function* segmentsFrom(
  connection: Connection,
  from: number,
  end: number = Number.MAX_SAFE_INTEGER,
): Generator<Segment> {
  // By its first place, because the number of entries of a damaged one may hide those behind it.
  for (let segment = segmentAt(connection, from); segment && segment.first < end; ) {
    yield segment;
    segment = segmentAfter(connection, segment.first);
  }
}

function segmentAfter(connection: Connection, first: number): Segment | undefined {
  const row = connection.get<SegmentRow>(
    `SELECT ${COLUMNS} FROM segments WHERE first > ? ORDER BY first LIMIT 1`,
    first,
  );
  return row && segmentOf(row);
}

/** The segment of each place. Throws when one is missing. */
export function readSegments(connection: Connection, places: readonly number[]): Segment[] {
  let last: Segment | undefined;
  return places.map((place) => {
    if (!last || !hasPlace(last, place)) last = segmentAt(connection, place);
    if (!last || place < last.first) throw new Error(`Cannot read entry ${place}: it is missing`);
    return last;
  });
}

/** The places from one up to another that have an entry, the last one first. */
export function readPlaces(
  connection: Connection,
  from: number,
  end: number,
  limit: number,
): number[] {
  const rows = connection.all<{ first: bigint; count: bigint }>(
    `SELECT first, min(count, length(hashes) / 32) AS count FROM segments WHERE first < ?2
       AND first >= coalesce((SELECT max(first) FROM segments WHERE first <= ?1), 0)
     ORDER BY first DESC LIMIT ?3`,
    from,
    end,
    limit,
  );
  const places = rows.flatMap(({ first, count }) => {
    return Array.from({ length: Number(count) }, (_, back) => Number(first + count) - 1 - back);
  });
  return places.filter((place) => place >= from && place < end).slice(0, limit);
}
