/**
 * Reads segments: whole ones in order, or single entries that the server cuts out of them.
 *
 * @module
 */

import { DamagedSegment, hasPlace, type Segment } from '../../log/segment.ts';
import type { Session, Statement } from '../connection.ts';
import type { SegmentShape } from './recent.ts';

/** In bytes of leaves and personal fields: what one answer of the server has, and one segment more. */
const ANSWER_BYTES = 2_097_152;

export interface SegmentRow {
  readonly first: bigint;
  readonly count: number;
  readonly hashes: Uint8Array;
  readonly leaves: Uint8Array;
  readonly personal: Uint8Array;
}

export function segmentOf({ first, count, hashes, leaves, personal }: SegmentRow): Segment {
  return { first: Number(first), count, hashes, leaves, personal };
}

/** The segments that have places from `from` up to `end`, in order. `bytes` is what an answer has about. */
export async function* segmentsFrom(
  session: Session,
  from: number,
  ...[end = Number.MAX_SAFE_INTEGER, bytes = ANSWER_BYTES]: [end?: number, bytes?: number]
): AsyncGenerator<Segment, undefined> {
  let after = -1;
  for (let place = from; place < end; ) {
    const most = Math.min(bytes, ANSWER_BYTES);
    const rows = await session.run<SegmentRow>(RANGE, [place, end, most, after]);
    const segments = rows.map(segmentOf);
    yield* segments;
    const last = segments.at(-1);
    if (!last) return;
    // By its first place, because the number of entries of a damaged one may hide those behind it.
    after = last.first;
    place = last.first + 1;
  }
}

/** The segments that have places from `from` up to `end`, in order, without their bytes. */
export async function segmentShapes(
  session: Session,
  from: number,
  end: number,
): Promise<SegmentShape[]> {
  const rows = await session.run<ShapeRow>(SHAPES, [from, end]);
  return rows.map((row) => ({ ...row, first: Number(row.first) }));
}

interface ShapeRow extends Omit<SegmentShape, 'first'> {
  readonly first: bigint;
}

/** The segments of these places, each once, in order. Throws when one is missing. */
export async function wholeSegments(
  session: Session,
  places: readonly number[],
): Promise<Segment[]> {
  const segments = (await session.run<SegmentRow>(WHOLE, [places])).map(segmentOf);
  for (const place of places) {
    if (!segments.some((segment) => hasPlace(segment, place))) {
      throw missing(place);
    }
  }
  return segments;
}

/** For each place a segment that has only its entry. Throws when one is missing. */
export async function entrySegments(
  session: Session,
  places: readonly number[],
): Promise<Segment[]> {
  if (places.length === 0) return [];
  const rows = await session.run<CutRow>(CUT, [[...new Set(places)]]);
  const cut = new Map(rows.map((row) => [Number(row.place), row]));
  return places.map((place) => {
    const row = cut.get(place);
    if (!row) throw missing(place);
    const { first, count, hashes, leaf, personal } = row;
    if (leaf.length <= 1 || personal === null || hashes.length !== 32) {
      throw new DamagedSegment(
        { first: Number(first), count, hashes, leaves: leaf, personal: hashes },
        'it does not have one line for each entry',
      );
    }
    return { first: place, count: 1, hashes, leaves: leaf, personal };
  });
}

function missing(place: number): Error {
  return new Error(`Cannot read entry ${place}: it is missing`);
}

interface CutRow {
  readonly place: bigint;
  readonly first: bigint;
  readonly count: number;
  readonly hashes: Uint8Array;
  readonly leaf: Uint8Array;
  readonly personal: Uint8Array | null;
}

/** The places from one up to another that have an entry, the last one first. */
export async function readPlaces(
  session: Session,
  range: { from: number; end: number; limit: number },
): Promise<number[]> {
  const { from, end, limit } = range;
  const rows = await session.run<{ first: bigint; count: number }>(PLACES, [from, end, limit]);
  const places = rows.flatMap(({ first, count }) => {
    return Array.from({ length: count }, (_, back) => Number(first) + count - 1 - back);
  });
  return places.filter((place) => place >= from && place < end).slice(0, limit);
}

/** The hashes of leaves from one place up to another, by the first places of their segments. */
export async function readHashes(
  session: Session,
  ranges: readonly { from: number; end: number }[],
): Promise<{ first: number; hashes: Uint8Array }[]> {
  const rows = await session.run<{ first: bigint; hashes: Uint8Array }>(HASHES, [
    ranges.map(({ from }) => from),
    ranges.map(({ end }) => end),
  ]);
  return rows.map(({ first, hashes }) => ({ first: Number(first), hashes }));
}

/** The segments that have places from `from` up to `end`: their first places are in this range. */
function rangeOf(from: string, end: string): string {
  return `s.first < ${end} AND s.first + s.count > ${from}
    AND s.first >= coalesce((SELECT max(b.first) FROM segments b WHERE b.first <= ${from}), 0)`;
}

const SEGMENT_COLUMNS = 'first, count, hashes, leaves, personal';

export const RANGE: Statement = {
  name: 'segments_in_range',
  text: `SELECT ${SEGMENT_COLUMNS} FROM (
      SELECT p.*, sum(p.bytes) OVER (ORDER BY p.first) - p.bytes AS before FROM (
        SELECT s.*, length(s.leaves) + length(s.personal) AS bytes FROM segments s
        WHERE ${rangeOf('$1::bigint', '$2::bigint')} AND s.first > $4::bigint
        ORDER BY s.first LIMIT 512
      ) p
    ) sized WHERE before < $3 ORDER BY first`,
};

/** The server knows the lengths without reading the bytes. */
export const SHAPES: Statement = {
  name: 'segment_shapes',
  text: `SELECT s.first, s.count, s.hashes, length(s.leaves) AS leaves, length(s.personal) AS personal
    FROM segments s WHERE ${rangeOf('$1::bigint', '$2::bigint')} ORDER BY s.first`,
};

/** The first places of the segments that have these places. */
const FIRSTS = `SELECT p.place, (SELECT max(b.first) FROM segments b WHERE b.first <= p.place) AS first
  FROM unnest($1::bigint[]) AS p (place)`;

export const WHOLE: Statement = {
  name: 'segments_of_places',
  text: `SELECT s.first, s.count, s.hashes, s.leaves, s.personal
    FROM (SELECT DISTINCT f.first FROM (${FIRSTS}) f ORDER BY f.first) g
    JOIN segments s ON s.first = g.first ORDER BY s.first`,
};

/**
 * Each segment is split once. The text form of bytes keeps line breaks and takes every byte, also those of a
 * damaged segment.
 */
export const CUT: Statement = {
  name: 'entries_of_places',
  text: `SELECT e.place, s.first, s.count,
      substring(s.hashes FROM 32 * (e.place - s.first)::integer + 1 FOR 32) AS hashes,
      decode(coalesce(s.leaves[(e.place - s.first)::integer + 1], '') || chr(10), 'escape') AS leaf,
      decode(s.personal[(e.place - s.first)::integer + 1] || chr(10), 'escape') AS personal
    FROM (SELECT f.first, array_agg(f.place) AS places FROM (${FIRSTS}) f GROUP BY f.first) g
    CROSS JOIN LATERAL (
      SELECT t.first, t.count, t.hashes, string_to_array(encode(t.leaves, 'escape'), chr(10)) AS leaves,
        string_to_array(encode(t.personal, 'escape'), chr(10)) AS personal
      FROM segments t WHERE t.first = g.first OFFSET 0
    ) s
    CROSS JOIN LATERAL unnest(g.places) AS e (place)
    WHERE e.place < s.first + s.count`,
};

export const PLACES: Statement = {
  name: 'places_in_range',
  text: `SELECT s.first, s.count FROM segments s
    WHERE ${rangeOf('$1::bigint', '$2::bigint')} ORDER BY s.first DESC LIMIT $3`,
};

export const HASHES: Statement = {
  name: 'hashes_in_ranges',
  text: `SELECT DISTINCT ON (found.first) found.first, found.hashes
    FROM unnest($1::bigint[], $2::bigint[]) AS r (from_place, to_place)
    CROSS JOIN LATERAL (
      SELECT s.first, s.hashes FROM segments s WHERE ${rangeOf('r.from_place', 'r.to_place')}
    ) found ORDER BY found.first`,
};
