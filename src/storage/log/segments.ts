/**
 * Reads stored segments: in order, those of places, or only what a caller needs of them.
 *
 * @module
 */

import type { Steps } from '../../steps.ts';
import type { SqlReader } from '../sql/sql.ts';
import {
  among,
  columns,
  either,
  fragment,
  LEAST,
  pairsOf,
  part,
  statement,
} from '../sql/statement.ts';
import { SEGMENTS } from '../tables/log.ts';
import { hasPlace, type Segment } from './segment.ts';

/** In bytes of leaves and personal fields: what one answer has, and one segment more. */
const ANSWER_BYTES = 2_097_152;

export interface Segments {
  /** Undefined after the last one. */
  next(): Steps<Segment | undefined>;
}

/** The segments that have places from `from` up to `end`, in order. `bytes` is what an answer has about. */
export function segmentsFrom(
  sql: SqlReader,
  from: number,
  { end = Number.MAX_SAFE_INTEGER, bytes = ANSWER_BYTES } = {},
): Segments {
  let [place, after] = [from, -1];
  let page: readonly Segment[] = [];
  let index = 0;
  return {
    *next() {
      if (index === page.length && place < end) {
        page = yield* sql.all(RANGE, place, end, Math.min(bytes, ANSWER_BYTES), after);
        index = 0;
        // By its first place, because the number of entries of a damaged one may hide those behind it.
        after = page.at(-1)?.first ?? end;
        place = after + 1;
      }
      return page[index++];
    },
  };
}

/** The segments of these places, each once, in order. Throws when one is missing. */
export function* wholeSegments(sql: SqlReader, places: readonly number[]): Steps<Segment[]> {
  if (places.length === 0) return [];
  const segments = yield* sql.all(WHOLE, places);
  for (const place of places) segmentOfPlace(segments, place);
  return segments;
}

/** For each place a segment that has its entry. Throws when one is missing. */
export function* entrySegments(sql: SqlReader, places: readonly number[]): Steps<Segment[]> {
  if (places.length === 0) return [];
  const segments = yield* sql.all(ENTRIES, [...new Set(places)]);
  return places.map((place) => segmentOfPlace(segments, place));
}

/** Throws when none has the place. */
export function segmentOfPlace(segments: readonly Segment[], place: number): Segment {
  const found = segments.find((segment) => hasPlace(segment, place));
  if (!found) throw new Error(`Cannot read entry ${place}: it is missing`);
  return found;
}

/** The places from one up to another that have an entry, the last one first. */
export function* readPlaces(
  sql: SqlReader,
  { from, end, limit }: { readonly from: number; readonly end: number; readonly limit: number },
): Steps<number[]> {
  const rows = yield* sql.all(PLACES, from, end, limit);
  const places = rows.flatMap(({ first, count }) => {
    return Array.from({ length: count }, (_, back) => first + count - 1 - back);
  });
  return places.filter((place) => place >= from && place < end).slice(0, limit);
}

/** The hashes of the segments that have places in these ranges. One may come twice. */
export function* readHashes(
  sql: SqlReader,
  ranges: readonly { readonly from: number; readonly end: number }[],
): Steps<Pick<Segment, 'first' | 'hashes'>[]> {
  const ends = ranges.map(({ end }) => end);
  return yield* sql.all(
    HASHES,
    ranges.map(({ from }) => from),
    ends,
  );
}

/**
 * The segments `s` that have places from `from` up to `end`, and first places above `after`. Of those above `from` only the
 * first place counts: a damaged number of entries hides none of them.
 */
export function rangeOf(from: string, end: string, after = '-1'): string {
  return `s.first < ${end} AND (s.first > ${from} OR s.first + s.count > ${from})
    AND s.first >= coalesce((SELECT max(b.first) FROM segments b
      WHERE b.first <= ${from} AND b.first > ${after}), ${after} + 1)`;
}

const IN_RANGE = rangeOf('$1::bigint', '$2::bigint');
const IN_RANGE_AFTER = rangeOf('$1::bigint', '$2::bigint', '$4::bigint');

/** SQLite has segments of about 8 KiB. */
export const RANGE = statement('segments_in_range', SEGMENTS)`${either({
  sqlite: fragment`
    SELECT ${columns(SEGMENTS, 's')} FROM segments s WHERE ${IN_RANGE_AFTER}
    ORDER BY s.first LIMIT max(1, CAST($3 / 8192 AS integer))`,
  postgres: fragment`
    SELECT ${columns(SEGMENTS)} FROM (
      SELECT p.*, sum(p.bytes) OVER (ORDER BY p.first) - p.bytes AS before FROM (
        SELECT s.*, length(s.leaves) + length(s.personal) AS bytes FROM segments s
        WHERE ${IN_RANGE_AFTER} ORDER BY s.first LIMIT 512
      ) p
    ) sized WHERE before < $3 ORDER BY first`,
})}`;

/** The first places of the segments that have these places, with each place. */
const FIRSTS = `SELECT p.place, (SELECT max(b.first) FROM segments b WHERE b.first <= p.place) AS first
  FROM unnest($1::bigint[]) AS p (place)`;

const OF_PLACES = fragment`SELECT ${columns(SEGMENTS, 's')} FROM segments s
  WHERE s.first ${among(
    either({
      sqlite: `SELECT (SELECT max(b.first) FROM segments b WHERE b.first <= p.value)
        FROM json_each($1) p`,
      postgres: `SELECT f.first FROM (${FIRSTS}) f`,
    }),
  )} ORDER BY s.first`;

export const WHOLE = statement('segments_of_places', SEGMENTS)`${OF_PLACES}`;

/**
 * PostgreSQL cuts out the entries: each row is a segment that has one. It splits each segment once. The text form of bytes
 * keeps line breaks and takes every byte, also those of a damaged segment; a line that is missing leaves nothing.
 */
export const ENTRIES = statement('entries_of_places', SEGMENTS)`${either({
  sqlite: OF_PLACES,
  postgres: `
    SELECT e.place AS first, 1 AS count,
      substring(s.hashes FROM 32 * (e.place - s.first)::integer + 1 FOR 32) AS hashes,
      decode(coalesce(nullif(s.leaves[(e.place - s.first)::integer + 1], '') || chr(10), ''), 'escape') AS leaves,
      decode(coalesce(s.personal[(e.place - s.first)::integer + 1] || chr(10), ''), 'escape') AS personal
    FROM (SELECT f.first, array_agg(f.place) AS places FROM (${FIRSTS}) f GROUP BY f.first) g
    CROSS JOIN LATERAL (
      SELECT t.first, t.count, t.hashes, string_to_array(encode(t.leaves, 'escape'), chr(10)) AS leaves,
        string_to_array(encode(t.personal, 'escape'), chr(10)) AS personal
      FROM segments t WHERE t.first = g.first OFFSET 0
    ) s
    CROSS JOIN LATERAL unnest(g.places) AS e (place)
    WHERE e.place < s.first + s.count`,
})}`;

export const PLACES = statement('places_in_range', part(SEGMENTS, 'first', 'count'))`
  SELECT s.first, ${LEAST}(s.count, length(s.hashes) / 32) AS count FROM segments s
  WHERE ${IN_RANGE} ORDER BY s.first DESC LIMIT $3`;

export const HASHES = statement('hashes_in_ranges', part(SEGMENTS, 'first', 'hashes'))`
  SELECT s.first, s.hashes FROM ${pairsOf('bigint', 'bigint')} p CROSS JOIN segments s
  WHERE ${rangeOf('p.one', 'p.other')}`;
