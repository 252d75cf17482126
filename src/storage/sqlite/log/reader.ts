/**
 * Reads the log in SQLite: entries by filters, leaves, and nodes of the tree.
 *
 * @module
 */

import type { StoredEntry } from '../../../domain/log/entry.ts';
import type { Hash, NodeId } from '../../../domain/log/merkle.ts';
import type { Origin } from '../../../domain/log/origin.ts';
import { BLOCK_ENTRIES } from '../../log/blocks.ts';
import { tileNumber } from '../../log/numbers.ts';
import {
  type Answer,
  findInLog,
  type Read,
  type Search,
  searchEntries,
  type Tail,
} from '../../log/query.ts';
import { createScan } from '../../log/segment.ts';
import {
  foldComplete,
  type Hashes,
  type Needed,
  neededFor,
  tileOf,
  within,
} from '../../log/tiles.ts';
import type { EntryPage, EntryQuery, LogStore } from '../../port/store.ts';
import type { Connection } from '../connection.ts';
import { readBuckets, readHeads } from './blocks.ts';
import { readPlaces, readSegments, segmentsFrom } from './segments.ts';
import { type LogSight, tailOf } from './sight.ts';
import { readHead } from './tree.ts';

function tailNow(connection: Connection, sight: LogSight): Tail {
  return tailOf(connection, sight, readHead(connection));
}

/** Answers what a search reads, from the snapshot. */
function searched<Result>(connection: Connection, sight: LogSight, search: Search<Result>): Result {
  for (let step = search.next(); ; ) {
    if (step.done) return step.value;
    step = search.next(answerTo(connection, sight, step.value));
  }
}

function answerTo(connection: Connection, sight: LogSight, read: Read): Answer {
  const { damaged } = sight;
  if (read.read === 'heads') return readHeads(connection, read.before, read.limit, damaged);
  if (read.read === 'buckets') return readBuckets(connection, read.ids, damaged);
  if (read.read === 'places') {
    const places = readPlaces(connection, read.from, read.end, read.limit);
    for (const place of places) damaged.add(place - (place % BLOCK_ENTRIES));
    return places;
  }
  return readSegments(connection, read.places);
}

export function queryEntries(
  connection: Connection,
  sight: LogSight,
  query: EntryQuery,
): EntryPage {
  return searched(connection, sight, searchEntries(query, tailNow(connection, sight)));
}

/** Ends before a damaged segment; throws `DamagedSegment` where it begins with one. */
export function scanEntries(connection: Connection, from: number, limit: number): StoredEntry[] {
  const scan = createScan(from, limit);
  for (const segment of segmentsFrom(connection, from)) if (!scan.take(segment)) break;
  return scan.entries();
}

export function findLeaf(
  connection: Connection,
  sight: LogSight,
  by: Parameters<LogStore['findLeaf']>[0],
): Awaited<ReturnType<LogStore['findLeaf']>> {
  const entry = searched(connection, sight, findInLog(by, tailNow(connection, sight)));
  return (
    entry && {
      sequence: entry.sequence,
      leaf_hash: entry.leaf_hash,
      root_principal: entry.root_principal,
    }
  );
}

/** The entry of this id. */
export function findEntry(
  connection: Connection,
  sight: LogSight,
  entryId: string,
): StoredEntry | undefined {
  return searched(connection, sight, findInLog({ entry_id: entryId }, tailNow(connection, sight)));
}

export function readOrigins(connection: Connection): Origin[] {
  const rows = connection.all<{ first: bigint; log_id: string }>(
    'SELECT first, log_id FROM origins ORDER BY first',
  );
  return rows.map(({ first, log_id }) => ({ logId: log_id, first: Number(first) }));
}

export function readNodes(connection: Connection, ids: readonly NodeId[]): Hash[] {
  return ids.map((id) => {
    const needed = neededFor(id);
    const hashes = needed.height === 0 ? leafHashes(connection, needed) : tiled(connection, needed);
    if (hashes) return foldComplete(hashes);
    throw new Error(`Cannot read tree node ${id.index} of level ${id.level}: it is missing`);
  });
}

function tiled(connection: Connection, needed: Needed): Hashes | undefined {
  const row = connection.get<{ hashes: Uint8Array }>(
    'SELECT hashes FROM tiles WHERE id = ?',
    tileNumber(tileOf(needed)),
  );
  return row && within(row.hashes, needed);
}

const HASH_BYTES = 32;

function leafHashes(connection: Connection, { from, count }: Needed): Hashes | undefined {
  const rows = connection.all<{ first: bigint; hashes: Uint8Array }>(
    `SELECT first, hashes FROM segments WHERE first < ?2
       AND first >= (SELECT max(first) FROM segments WHERE first <= ?1) ORDER BY first`,
    from,
    from + count,
  );
  const hashes = Buffer.alloc(HASH_BYTES * count);
  let filled = 0;
  for (const { first, hashes: found } of rows) {
    const start = Math.max(0, from - Number(first));
    const part = found.subarray(HASH_BYTES * start, HASH_BYTES * (from + count - Number(first)));
    if (Number(first) + start !== from + filled) return undefined;
    hashes.set(part, HASH_BYTES * filled);
    filled += part.length / HASH_BYTES;
  }
  return filled === count ? hashes : undefined;
}
