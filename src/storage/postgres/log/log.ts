/**
 * Reads the log: entries, leaves, tree nodes.
 *
 * Only entries with a place can be read, so a query first waits until everything acknowledged has one, unless
 * it asks only for earlier places. A search reads in one snapshot, because blocks are merged meanwhile.
 *
 * @module
 */

import type { StoredEntry } from '../../../domain/log/entry.ts';
import type { Hash, NodeId } from '../../../domain/log/merkle.ts';
import { BLOCK_ENTRIES } from '../../log/blocks.ts';
import { tileNumber } from '../../log/numbers.ts';
import { searchEntries } from '../../log/query.ts';
import { createScan } from '../../log/segment.ts';
import {
  foldComplete,
  type Hashes,
  type Needed,
  neededFor,
  tileOf,
  within,
} from '../../log/tiles.ts';
import type { LogStore, TreeHead } from '../../port/store.ts';
import type { Database, Session, Statement } from '../connection.ts';
import { type HeadRow, headOf } from './placed.ts';
import type { RecentEntries } from './recent.ts';
import { readHashes, segmentsFrom } from './segments.ts';
import { beginOrigin, type Sequencer } from './sequencer.ts';
import { findEntry, type LogSight } from './sight.ts';
import type { Upkeep } from './upkeep.ts';

type Log = Pick<
  LogStore,
  'queryEntries' | 'scanEntries' | 'findLeaf' | 'nodes' | 'treeHead' | 'origins' | 'beginOrigin'
>;

/** Entries that no block has, above which a search calls for upkeep. */
const UNINDEXED_MAX = 2 * BLOCK_ENTRIES;

export interface LogParts {
  readonly sequencer: Sequencer;
  readonly sight: LogSight;
  readonly upkeep: Upkeep;
  readonly recent: RecentEntries;
}

export function createLog(database: Database, { sequencer, sight, upkeep }: LogParts): Log {
  let placed = 0;
  /** Reads in one snapshot. */
  async function searched<Result>(search: (session: Session) => Promise<Result>): Promise<Result> {
    const result = await database.snapshot(search);
    if (sight.unindexed() > UNINDEXED_MAX || sight.damaged.size > 0) upkeep.nudge();
    return result;
  }
  return {
    async queryEntries(query) {
      const { before = Number.POSITIVE_INFINITY } = query;
      if (before > placed) placed = endOf(await sequencer.sequence());
      return searched((session) => {
        return sight.search(session, (tail) => searchEntries(query, tail));
      });
    },

    async scanEntries(from, limit) {
      await sequencer.sequence();
      return scanEntries({ run: database.read }, from, limit);
    },

    async findLeaf(by) {
      await sequencer.sequence();
      const entry = await searched((session) => findEntry(session, sight, by));
      if (!entry) return undefined;
      const { sequence, leaf_hash, root_principal } = entry;
      return { sequence, leaf_hash, root_principal };
    },

    nodes: (ids) => readNodes({ run: database.read }, ids),

    async treeHead() {
      const [row] = await database.read<HeadRow>(HEAD);
      if (row === undefined) throw new Error('Cannot read the tree: it has no head');
      return headOf(row);
    },

    async origins() {
      const rows = await database.read<{ first: bigint; log_id: string }>(ORIGINS);
      return rows.map(({ first, log_id }) => ({ logId: log_id, first: Number(first) }));
    },

    async beginOrigin(...next) {
      await sequencer.sequence();
      return database.transaction((session) => beginOrigin(session, next));
    },
  };
}

/** The place after the last entry that has one. */
function endOf({ first, size }: TreeHead): number {
  return first + size;
}

/** In bytes of leaf and personal fields: an entry has less as a rule. */
const ENTRY_BYTES = 1_024;

/** Ends before a damaged segment; throws `DamagedSegment` where it begins with one. */
export async function scanEntries(
  session: Session,
  from: number,
  limit: number,
): Promise<StoredEntry[]> {
  const scan = createScan(from, limit);
  for await (const segment of segmentsFrom(session, from, undefined, limit * ENTRY_BYTES)) {
    if (!scan.take(segment)) break;
  }
  return scan.entries();
}

/** Leaves are in the segments, nodes of higher levels in tiles, or computed from both. Neither ever changes. */
async function readNodes(session: Session, ids: readonly NodeId[]): Promise<Hash[]> {
  const needed = ids.map(neededFor);
  const leaves = await leafHashes(
    session,
    needed.filter(({ height }) => height === 0),
  );
  const tiles = await readTiles(
    session,
    needed.filter(({ height }) => height > 0),
  );
  return needed.map((need, place) => {
    const hashes = need.height === 0 ? leaves(need) : tiles(need);
    if (hashes) return foldComplete(hashes);
    const { level, index } = ids[place] as NodeId;
    throw new Error(`Cannot read tree node ${index} of level ${level}: it is missing`);
  });
}

type HashReader = (needed: Needed) => Hashes | undefined;

async function readTiles(session: Session, needed: readonly Needed[]): Promise<HashReader> {
  const ids = new Set(needed.map((need) => tileNumber(tileOf(need))));
  const rows = ids.size === 0 ? [] : await session.run<TileRow>(TILES, [[...ids]]);
  const tiles = new Map(rows.map(({ id, hashes }) => [Number(id), hashes]));
  return (need) => {
    const tile = tiles.get(tileNumber(tileOf(need)));
    return tile && within(tile, need);
  };
}

const HASH_BYTES = 32;

async function leafHashes(session: Session, needed: readonly Needed[]): Promise<HashReader> {
  const ranges = rangesOf(needed);
  const segments = ranges.length === 0 ? [] : await readHashes(session, ranges);
  const byPlace = new Map<number, Uint8Array>();
  for (const { first, hashes } of segments) {
    for (let at = 0; at < hashes.length; at += HASH_BYTES) {
      byPlace.set(first + at / HASH_BYTES, hashes.subarray(at, at + HASH_BYTES));
    }
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

interface TileRow {
  readonly id: bigint;
  readonly hashes: Uint8Array;
}

export const TILES: Statement = {
  name: 'tiles_by_number',
  text: 'SELECT id, hashes FROM tiles WHERE id = ANY ($1::bigint[])',
};

const HEAD: Statement = { name: 'head', text: 'SELECT size, peaks FROM head' };

const ORIGINS: Statement = {
  name: 'origins',
  text: 'SELECT first, log_id FROM origins ORDER BY first',
};
