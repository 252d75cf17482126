/**
 * Queries over the log: newest entry first, from the entries that no block indexes yet, then block by block.
 *
 * A block names places by hashes of values; each entry is compared with the query before it counts. The work of one query
 * is bounded: when it reads many blocks or many entries without a match, it stops and says where the next query continues.
 *
 * @module
 */

import type { StoredEntry } from '../../domain/log/entry.ts';
import { equalBytes } from '../../domain/wire/hash.ts';
import type { Steps } from '../../steps.ts';
import type { EntryPage, EntryQuery, TreeHead } from '../port/log-store.ts';
import type { BlockHead, Columns } from './blocks.ts';
import {
  BLOCK_ENTRIES,
  bucketOf,
  FIELDS,
  type Field,
  keyOf,
  offsetsIn,
  QUERY_FIELDS,
} from './blocks.ts';
import { entryIn, type Segment } from './segment.ts';

/** The last entries, which no block needs to index, from the place `first` on. */
export interface Tail {
  readonly first: number;
  readonly columns: Columns;
}

/** Entries that a store keeps in memory where blocks are missing. */
const TAIL_MAX = 4 * BLOCK_ENTRIES;

/** The place above the last block of a log, given the last block of the store. */
export function indexedTo({ first }: TreeHead, last: BlockHead | undefined): number {
  return last && last.first >= first ? endOf(last) : first;
}

/** Where the tail of a log begins whose blocks end at `indexed`. */
export function tailFrom(indexed: number, end: number): number {
  return Math.max(indexed, BLOCK_ENTRIES * Math.floor((end - TAIL_MAX) / BLOCK_ENTRIES));
}

/** One bucket of a field of a block. */
export interface BucketId {
  readonly first: number;
  readonly field: number;
  readonly bucket: number;
}

/** What a search reads. */
export interface LogReads {
  /** Blocks that begin below this place, the last one first. */
  heads(before: number, limit: number): Steps<readonly BlockHead[]>;
  /** In the order requested. */
  buckets(ids: readonly BucketId[]): Steps<readonly Uint8Array[]>;
  /** For each place a segment that has it, in the order requested. */
  segments(places: readonly number[]): Steps<readonly Segment[]>;
  /** The places from one up to another that have an entry, the last one first. */
  places(from: number, end: number, limit: number): Steps<readonly number[]>;
}

/** Blocks that one query asks, and entries that it reads without a match: a few milliseconds. */
const BLOCKS_MAX = 64;
const MISSED_MAX = 512;

/**
 * Postings that one query reads before it asks no further blocks. Values that most entries have, and no entry together,
 * would otherwise hold the process for each block.
 */
const POSTINGS_MAX = 2 ** 17;

/** Entries, and heads of blocks, that are read at once. */
const TOGETHER = 64;
const HEADS_TOGETHER = 16;

/** Most queries find a page in the last blocks. */
const HEADS_FIRST = 2;

/** The filters of a query, by field. */
interface Filter {
  readonly field: Field;
  readonly value: string;
}

export function* searchEntries(reads: LogReads, query: EntryQuery, tail: Tail): Steps<EntryPage> {
  const filters = filtersOf(query);
  // No index has an empty value; the page compares every filter with the entries.
  const indexed = filters.filter(({ value }) => value !== '');
  const page = createPage(reads, query, filters);
  yield* page.take(tailPlaces(tail, query, indexed));
  let before = Math.min(query.before ?? Number.POSITIVE_INFINITY, tail.first);
  for (let asked = 0, postings = 0; !page.isFull(); ) {
    if (asked >= BLOCKS_MAX || postings >= POSTINGS_MAX) return page.stoppedAt(before);
    const limit = asked === 0 ? HEADS_FIRST : HEADS_TOGETHER;
    const heads = yield* reads.heads(before, limit);
    const recent = heads.filter((head) => !isBefore(head, query));
    const found = yield* placesIn(reads, recent, { query, filters: indexed });
    for (const [index, head] of recent.entries()) {
      yield* page.takeUnindexed(endOf(head), before);
      yield* page.take(found.places[index] as number[]);
      before = head.first;
    }
    asked += limit;
    postings += found.postings;
    if (recent.length === limit) continue;
    const older = heads[recent.length];
    yield* page.takeUnindexed(older ? endOf(older) : 0, before);
    if (!page.isFull()) return page.end();
  }
  return page.result();
}

/** Whether a block and all below it are too old for the query. */
function isBefore({ latest }: BlockHead, { since }: EntryQuery): boolean {
  return since !== undefined && latest <= since.getTime();
}

/** The place after a block. */
function endOf({ first, count }: BlockHead): number {
  return first + count;
}

function filtersOf(query: EntryQuery): Filter[] {
  return Object.entries(QUERY_FIELDS).flatMap(([name, field]) => {
    const value = query[name as keyof typeof QUERY_FIELDS];
    return value === undefined ? [] : [{ field, value }];
  });
}

/** Newest first: the places in the tail that may have every value. */
function tailPlaces(
  { first, columns }: Tail,
  { before = Number.POSITIVE_INFINITY, since }: EntryQuery,
  filters: readonly Filter[],
): number[] {
  const { times, keys } = columns;
  const wanted = filters.map(({ field, value }) => {
    return { key: keyOf(value), column: keys[FIELDS.indexOf(field)] as number[] };
  });
  const after = since?.getTime() ?? Number.NEGATIVE_INFINITY;
  const places: number[] = [];
  for (let at = Math.min(times.length, before - first) - 1; at >= 0; at--) {
    if ((times[at] as number) <= after) continue;
    if (wanted.every(({ key, column }) => column[at] === key)) places.push(first + at);
  }
  return places;
}

/**
 * For each block, newest first: the places that have every value, by its postings. And how many it has read. A block
 * that does not have a rare value is not asked for the others.
 */
function* placesIn(
  reads: LogReads,
  heads: readonly BlockHead[],
  { query, filters }: { readonly query: EntryQuery; readonly filters: readonly Filter[] },
): Steps<{ places: number[][]; postings: number }> {
  const { before = Number.POSITIVE_INFINITY, since } = query;
  const isOld = ({ newest }: BlockHead) => since !== undefined && newest <= since.getTime();
  const offsets = heads.map((head): readonly number[] | undefined =>
    isOld(head) ? [] : undefined,
  );
  let postings = 0;
  for (const { field, value } of filters) {
    const open = [...heads.keys()].filter((index) => offsets[index]?.length !== 0);
    if (open.length === 0) break;
    const ids = open.map((index) => bucketIn(heads[index] as BlockHead, field, value));
    const buckets = yield* reads.buckets(ids);
    for (const [at, index] of open.entries()) {
      const bucket = buckets[at] as Uint8Array;
      const found = offsetsIn(bucket, keyOf(value));
      const others = offsets[index];
      offsets[index] = others ? common(others, found) : found;
      postings += bucket.length / 8;
    }
  }
  const places = heads.map(({ first, count }, index) => {
    return [...(offsets[index] ?? Array(count).keys())]
      .map((offset) => first + offset)
      .filter((place) => place < before)
      .reverse();
  });
  return { places, postings };
}

/** The bucket of a block in which a value is, if it occurs. */
export function bucketIn(
  { first, buckets }: BlockHead,
  field: Field,
  value: string | Uint8Array,
): BucketId {
  const number = FIELDS.indexOf(field);
  return { first, field: number, bucket: bucketOf(keyOf(value), buckets[number] ?? 1) };
}

/** Both are in order. */
function common(one: readonly number[], other: readonly number[]): number[] {
  const both: number[] = [];
  for (let at = 0, to = 0; at < one.length; at++) {
    const offset = one[at] as number;
    while (to < other.length && (other[to] as number) < offset) to += 1;
    if (other[to] === offset) both.push(offset);
  }
  return both;
}

function matches(entry: StoredEntry, { since }: EntryQuery, filters: readonly Filter[]): boolean {
  if (since && entry.timestamp.getTime() <= since.getTime()) return false;
  return filters.every(({ field, value }) => entry[field] === value);
}

/**
 * The places from one block to the next, the last one first. Between two logs there are none; within a log a block
 * is missing, and its entries are read one by one.
 */
function* unindexed(
  reads: LogReads,
  { from, end, limit }: { readonly from: number; readonly end: number; readonly limit: number },
): Steps<readonly number[]> {
  if (from >= end || end === Number.POSITIVE_INFINITY) return [];
  return yield* reads.places(from, end, limit);
}

/** The entries found so far. */
function createPage(reads: LogReads, query: EntryQuery, filters: readonly Filter[]) {
  const entries: StoredEntry[] = [];
  let missed = 0;
  let lowest = Number.POSITIVE_INFINITY;
  const isFull = () => entries.length >= query.limit || missed >= MISSED_MAX;

  /** Reads the entries at these places, newest first, and keeps those that match. */
  function* take(places: readonly number[]): Steps<void> {
    for (let at = 0; at < places.length && !isFull(); ) {
      const wanted = Math.min(TOGETHER, query.limit - entries.length);
      const part = places.slice(at, at + wanted);
      const read = yield* reads.segments(part);
      for (const [index, place] of part.entries()) {
        const entry = entryIn(read[index] as Segment, place);
        lowest = place;
        if (matches(entry, query, filters)) entries.push(entry);
        else missed += 1;
      }
      at += part.length;
    }
  }

  return {
    isFull,
    take,
    /** The entries between two blocks, newest first. So many that no page has more. */
    *takeUnindexed(from: number, end: number): Steps<void> {
      yield* take(yield* unindexed(reads, { from, end, limit: query.limit + MISSED_MAX }));
    },
    /** Everything was searched. */
    end: (): EntryPage => ({ entries, next: undefined }),
    stoppedAt: (place: number): EntryPage => ({ entries, next: place }),
    result: (): EntryPage => ({ entries, next: lowest }),
  };
}

/** What names one entry. */
export type EntryName =
  | { readonly leaf_hash: Uint8Array }
  | { readonly entry_id: string }
  | { readonly invocation_id: string };

/**
 * The entry that has this name. Later entries may name the same invocation: its own entry comes first, else the
 * oldest.
 */
export function* findInLog(
  reads: LogReads,
  name: EntryName,
  tail: Tail,
): Steps<StoredEntry | undefined> {
  const [field, value] = Object.entries(name)[0] as [Field, string | Uint8Array];
  const found = createFound(reads, field, value);
  const column = tail.columns.keys[FIELDS.indexOf(field)] as number[];
  const key = keyOf(value);
  yield* found.look(column.flatMap((each, at) => (each === key ? [tail.first + at] : [])));
  for (let before = tail.first; !found.isDone(); ) {
    const heads = yield* reads.heads(before, HEADS_TOGETHER);
    const ids = heads.map((head) => bucketIn(head, field, value));
    const buckets = yield* reads.buckets(ids);
    for (const [index, head] of heads.entries()) {
      yield* found.lookUnindexed(endOf(head), before);
      const offsets = offsetsIn(buckets[index] as Uint8Array, key);
      yield* found.look(offsets.map((offset) => head.first + offset));
      before = head.first;
    }
    if (heads.length === HEADS_TOGETHER) continue;
    yield* found.lookUnindexed(0, before);
    break;
  }
  return found.best();
}

/** The entries found so far that have one value. */
function createFound(reads: LogReads, field: Field, value: string | Uint8Array) {
  let oldest: StoredEntry | undefined;
  let own: StoredEntry | undefined;
  const isDone = () => own !== undefined;

  function* look(places: readonly number[]): Steps<void> {
    if (places.length === 0) return;
    const segments = yield* reads.segments(places);
    for (const [index, place] of places.entries()) {
      const entry = entryIn(segments[index] as Segment, place);
      if (!isEqual(entry[field], value)) continue;
      if (place < (oldest?.sequence ?? Number.POSITIVE_INFINITY)) oldest = entry;
      if (field !== 'invocation_id' || entry.entry_type === 'invocation') own = entry;
    }
  }

  return {
    isDone,
    look,
    *lookUnindexed(from: number, end: number): Steps<void> {
      for (let before = end; !isDone(); ) {
        const places = yield* unindexed(reads, { from, end: before, limit: MISSED_MAX });
        if (places.length === 0) return;
        yield* look(places);
        before = places.at(-1) as number;
      }
    },
    best: () => own ?? oldest,
  };
}

function isEqual(found: string | Uint8Array | undefined, value: string | Uint8Array): boolean {
  if (typeof found === 'string' || typeof value === 'string') return found === value;
  return found !== undefined && equalBytes(found, value);
}
