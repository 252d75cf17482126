/**
 * The stored tree: its head, its nodes, and the logs of the store. Adds the entries of a commit to the log and the tree.
 *
 * @module
 */

import { HASH_BYTES, type Hash, type NodeId } from '../../domain/log/merkle.ts';
import { firstPlaceOf, leafIndexOf, type Origin } from '../../domain/log/origin.ts';
import type { Steps } from '../../steps.ts';
import type { TreeHead } from '../port/log-store.ts';
import type { SqlReader, SqlRows, SqlWriter } from '../sql/sql.ts';
import { columns, either, insertion, type Shape, statement } from '../sql/statement.ts';
import { ORIGINS, RETENTIONS, SEGMENTS, type StoredTile, TILES } from '../tables/log.ts';
import { tileNumber } from './numbers.ts';
import { type Storable, segmentsOf } from './segment.ts';
import { readHashes } from './segments.ts';
import {
  foldComplete,
  growTiles,
  type Hashes,
  hashesIn,
  type Needed,
  neededFor,
  tileOf,
  within,
} from './tiles.ts';

export interface HeadRow {
  /** The place of the next entry. */
  readonly size: number;
  /** One after the other. */
  readonly peaks: Uint8Array;
}

export function headOf({ size, peaks }: HeadRow): TreeHead {
  return { first: firstPlaceOf(size), size: leafIndexOf(size), peaks: hashesIn(peaks) };
}

export function* treeHead(sql: SqlReader): Steps<TreeHead> {
  const row = yield* sql.one(HEAD);
  if (!row) throw new Error('Cannot read the tree: it has no head');
  return headOf(row);
}

export function* writeHead(sql: SqlWriter, { first, size, peaks }: TreeHead): Steps<void> {
  yield* sql.run(MOVE_HEAD, first + size, Buffer.concat(peaks));
}

export function* origins(sql: SqlReader): Steps<Origin[]> {
  const rows = yield* sql.all(LOGS);
  return rows.map(({ first, log_id }) => ({ logId: log_id, first }));
}

export function* insertOrigin(sql: SqlRows, first: number, logId: string): Steps<void> {
  yield* sql.insert(ORIGIN, [{ first, log_id: logId }]);
}

/** Writes entries at the next places, in order. Returns the tree with them. Only inside a transaction. */
export function* insertEntries(
  sql: SqlRows,
  head: TreeHead,
  entries: readonly Storable[],
  segmentBytes?: number,
): Steps<TreeHead> {
  const first = head.first + head.size;
  yield* sql.insert(SEGMENT, segmentsOf(first, entries, segmentBytes));
  const stated = entries.flatMap(({ retain_until, leaf }, index) => {
    return retain_until && leaf ? [{ retain_until, place: first + index }] : [];
  });
  yield* sql.insert(RETENTION, stated);
  const leaves = entries.map(({ leaf_hash }) => leaf_hash);
  const grown = growTiles(head, leaves);
  for (const tile of grown.tiles) yield* sql.run(GROW_TILE, tileNumber(tile), tile.hashes);
  return grown.head;
}

/** Leaves are in the segments, nodes of higher levels in tiles, or computed from both. Neither ever changes. */
export function* nodes(sql: SqlReader, ids: readonly NodeId[]): Steps<Hash[]> {
  const needed = ids.map(neededFor);
  const leaves = yield* leafHashes(
    sql,
    needed.filter(({ height }) => height === 0),
  );
  const tiles = yield* readTiles(
    sql,
    needed.filter(({ height }) => height > 0),
  );
  return needed.map((need, index) => {
    const hashes = need.height === 0 ? leaves(need) : tiles(need);
    if (hashes) return foldComplete(hashes);
    const id = ids[index] as NodeId;
    throw new Error(`Cannot read tree node ${id.index} of level ${id.level}: it is missing`);
  });
}

type HashReader = (needed: Needed) => Hashes | undefined;

function* readTiles(sql: SqlReader, needed: readonly Needed[]): Steps<HashReader> {
  const ids = new Set(needed.map((need) => tileNumber(tileOf(need))));
  const rows = ids.size === 0 ? [] : yield* sql.all(TILES_BY_ID, [...ids]);
  const tiles = new Map(rows.map(({ id, hashes }) => [id, hashes]));
  return (need) => {
    const tile = tiles.get(tileNumber(tileOf(need)));
    return tile && within(tile, need);
  };
}

function* leafHashes(sql: SqlReader, needed: readonly Needed[]): Steps<HashReader> {
  const ranges = rangesOf(needed);
  const segments = ranges.length === 0 ? [] : yield* readHashes(sql, ranges);
  const byPlace = new Map<number, Uint8Array>();
  for (const { first, hashes } of segments) {
    for (const [index, hash] of hashesIn(hashes).entries()) byPlace.set(first + index, hash);
  }
  return ({ from, count }) => {
    const found = new Uint8Array(HASH_BYTES * count);
    for (let index = 0; index < count; index++) {
      const hash = byPlace.get(from + index);
      if (!hash) return undefined;
      found.set(hash, HASH_BYTES * index);
    }
    return found;
  };
}

/** Disjoint ranges that have all that is needed. */
function rangesOf(needed: readonly Needed[]): { from: number; end: number }[] {
  const ranges: { from: number; end: number }[] = [];
  for (const { from, count } of [...needed].sort((one, other) => one.from - other.from)) {
    const last = ranges.at(-1);
    const end = from + count;
    if (last && from <= last.end) last.end = Math.max(last.end, end);
    else ranges.push({ from, end });
  }
  return ranges;
}

/** All of them. */
export function* storedTiles(sql: SqlReader): Steps<StoredTile[]> {
  return yield* sql.all(ALL_TILES);
}

/** Of a statement on `head`. */
export const HEAD_SHAPE: Shape<HeadRow> = { fields: { size: 'long', peaks: 'bytes' } };

/** PostgreSQL has a list of peaks. */
export const PEAKS = either({
  sqlite: 'peaks',
  postgres: `(SELECT coalesce(string_agg(p.hash, ''::bytea ORDER BY p.place), '')
    FROM unnest(peaks) WITH ORDINALITY AS p (hash, place))`,
});

const HEAD = statement('head', HEAD_SHAPE)`SELECT size, ${PEAKS} AS peaks FROM head`;

const MOVE_HEAD = statement('move_head')`
  UPDATE head SET size = $1, peaks = ${either({
    sqlite: '$2',
    postgres: `ARRAY(SELECT substring($2::bytea FROM 32 * n + 1 FOR 32)
      FROM generate_series(0, length($2::bytea) / 32 - 1) AS n ORDER BY n)`,
  })}`;

const LOGS = statement('origins', ORIGINS)`
  SELECT ${columns(ORIGINS)} FROM origins ORDER BY first`;

const ORIGIN = insertion('insert_origin', ORIGINS);
const SEGMENT = insertion('insert_segment', SEGMENTS);
const RETENTION = insertion('insert_retention', RETENTIONS);

const GROW_TILE = statement('grow_tile')`
  INSERT INTO tiles (id, hashes) VALUES ($1, $2) ON CONFLICT (id)
    DO UPDATE SET hashes = ${either({
      sqlite: 'CAST(hashes || $2 AS blob)',
      postgres: 'tiles.hashes || EXCLUDED.hashes',
    })}`;

export const TILES_BY_ID = statement('tiles_by_number', TILES)`
  SELECT ${columns(TILES)} FROM tiles WHERE id = ANY ($1::bigint[])`;

const ALL_TILES = statement('all_tiles', TILES)`SELECT ${columns(TILES)} FROM tiles`;
