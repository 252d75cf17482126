/**
 * Reads the log: entries by filters or by name, and in order.
 *
 * A process keeps in memory the keys of the entries that no block indexes yet. Other processes write entries and erase, so
 * each search reads from its snapshot where the blocks end, and the entries that came since the last one. Searches
 * that run at once never share a list that changes.
 *
 * @module
 */

import type { StoredEntry } from '../../domain/log/entry.ts';
import type { Steps } from '../../steps.ts';
import type { EntryPage, EntryQuery, LogStore } from '../port/log-store.ts';
import type { SqlReader } from '../sql/sql.ts';
import { columns, type Shape, statement } from '../sql/statement.ts';
import type { StoredBlock } from '../tables/log.ts';
import { blockHeadOf, readBuckets, readColumns, readHeads } from './block-index.ts';
import { addBlanks, addTo, BLOCK_ENTRIES, createColumns, type Indexed } from './blocks.ts';
import {
  type EntryName,
  findInLog,
  indexedTo,
  type LogReads,
  searchEntries,
  type Tail,
  tailFrom,
} from './query.ts';
import { createScan } from './segment.ts';
import { entrySegments, readPlaces, segmentsFrom } from './segments.ts';
import { HEAD_SHAPE, type HeadRow, headOf, PEAKS } from './tree.ts';

/** What a process keeps of the log. */
export interface LogSight {
  /** Entries of committed transactions. */
  kept: Tail;
  /** Of the transactions that this process knows of. */
  erasures: number;
  /** The number of entries that no block had at the last search. */
  unindexed: number;
  /** A place in each block that must be made again. */
  readonly damaged: Set<number>;
}

export function createSight(): LogSight {
  return { kept: nothingKept(), erasures: 0, unindexed: 0, damaged: new Set() };
}

function nothingKept(): Tail {
  return { first: 0, columns: createColumns() };
}

/** Forgets the entries: a transaction has erased some, or has tried. */
export function forgetKept(sight: LogSight): void {
  sight.erasures += 1;
  sight.kept = nothingKept();
}

/** Keeps entries whose transaction was committed, if they follow those that are kept. Only while no search runs. */
export function keepCommitted(sight: LogSight, place: number, entries: readonly Indexed[]): void {
  if (endOf(sight.kept) !== place) return;
  for (const entry of entries) addTo(sight.kept.columns, entry);
}

export function* queryEntries(
  sql: SqlReader,
  sight: LogSight,
  query: EntryQuery,
): Steps<EntryPage> {
  const tail = yield* currentTail(sql, sight);
  return yield* searchEntries(readsOf(sql, sight, tail.indexed), query, tail);
}

/** The entry of this name. */
export function* findEntry(
  sql: SqlReader,
  sight: LogSight,
  name: EntryName,
): Steps<StoredEntry | undefined> {
  const tail = yield* currentTail(sql, sight);
  return yield* findInLog(readsOf(sql, sight, tail.indexed), name, tail);
}

export function* findLeaf(
  sql: SqlReader,
  sight: LogSight,
  by: Parameters<LogStore['findLeaf']>[0],
): Steps<Awaited<ReturnType<LogStore['findLeaf']>>> {
  const entry = yield* findEntry(sql, sight, by);
  if (!entry) return undefined;
  const { sequence, leaf_hash, root_principal } = entry;
  return { sequence, leaf_hash, root_principal };
}

/** In bytes of leaf and personal fields: an entry has less as a rule. */
const ENTRY_BYTES = 1_024;

/** Ends before a damaged segment; throws `DamagedSegment` where it begins with one. */
export function* scanEntries(sql: SqlReader, from: number, limit: number): Steps<StoredEntry[]> {
  const scan = createScan(from, limit);
  const segments = segmentsFrom(sql, from, { bytes: limit * ENTRY_BYTES });
  for (let next = yield* segments.next(); next; next = yield* segments.next()) {
    if (!scan.take(next)) break;
  }
  return scan.entries();
}

/** The last entries, and the place up to which blocks have them. */
export function* currentTail(
  sql: SqlReader,
  sight: LogSight,
): Steps<Tail & { readonly indexed: number }> {
  const begun = sight.erasures;
  const row = yield* sql.one(TAIL);
  if (!row) throw new Error('Cannot read the tree: it has no head');
  const head = headOf(row);
  const end = head.first + head.size;
  const indexed = indexedTo(head, yield* lastHead(sql, sight, row));
  sight.unindexed = end - indexed;
  const first = tailFrom(indexed, end);
  const known = partOf(sight.kept, first, end);
  const from = first + known.columns.times.length;
  if (from === end && known === sight.kept) return { ...known, indexed };
  const added = yield* readColumns(sql, from, end);
  // Entries that a damaged log does not have.
  addBlanks(added, end - from);
  const { times, keys } = known.columns;
  const tail = {
    first,
    columns: {
      times: [...times, ...added.times],
      keys: keys.map((column, field) => [...column, ...(added.keys[field] as number[])]),
    },
  };
  // A search that began earlier may end later.
  if (begun === sight.erasures && end >= endOf(sight.kept)) sight.kept = tail;
  return { ...tail, indexed };
}

/** The last block. Not believed where it is damaged: it would hide entries. */
function* lastHead(sql: SqlReader, { damaged }: LogSight, row: TailRow) {
  const { first } = row;
  if (first === undefined) return undefined;
  const before = Number.POSITIVE_INFINITY;
  const head = blockHeadOf({ ...(row as StoredBlock), first });
  return head ?? (yield* readHeads(sql, { before, limit: 1 }, damaged))[0];
}

function endOf({ first, columns }: Tail): number {
  return first + columns.times.length;
}

/** The kept entries from this place on, if there is none missing before them. */
function partOf(kept: Tail, first: number, end: number): Tail {
  if (kept.first === first && endOf(kept) === end) return kept;
  if (kept.first > first || endOf(kept) < first) return { first, columns: createColumns() };
  const [from, to] = [first - kept.first, end - kept.first];
  const { times, keys } = kept.columns;
  return {
    first,
    columns: { times: times.slice(from, to), keys: keys.map((column) => column.slice(from, to)) },
  };
}

function readsOf(sql: SqlReader, { damaged }: LogSight, indexed: number): LogReads {
  return {
    heads: (before, limit) => readHeads(sql, { before, limit }, damaged),
    buckets: (ids) => readBuckets(sql, ids, damaged),
    segments: (places) => entrySegments(sql, places),
    *places(from, end, limit) {
      const places = yield* readPlaces(sql, { from, end, limit });
      for (const place of places) {
        // Upkeep has not reached later places yet.
        if (place < indexed) damaged.add(place - (place % BLOCK_ENTRIES));
      }
      return places;
    },
  };
}

type TailRow = HeadRow & Partial<StoredBlock>;

/** A store may have no block. */
const LAST_BLOCK: Shape<Partial<StoredBlock>> = {
  fields: {
    first: 'long?',
    count: 'integer?',
    newest: 'long?',
    latest: 'long?',
    buckets: 'bytes?',
  },
};
const TAIL_SHAPE: Shape<TailRow> = { fields: { ...HEAD_SHAPE.fields, ...LAST_BLOCK.fields } };

/** The head, and the last block. */
export const TAIL = statement('log_tail', TAIL_SHAPE)`
  SELECT h.size, ${PEAKS} AS peaks, ${columns(LAST_BLOCK, 'b')} FROM head h
  LEFT JOIN blocks b ON b.first = (SELECT max(first) FROM blocks)`;
