/**
 * Stored index blocks: reads them, makes small ones, merges them into large ones, makes damaged ones again.
 *
 * All changes run under one lock of the database. Erasure takes it too, so that no block is made from bytes that are
 * being erased.
 *
 * @module
 */

import type { StoredEntry } from '../../domain/log/entry.ts';
import type { Steps } from '../../steps.ts';
import type { TreeHead } from '../port/log-store.ts';
import type { SqlReader, SqlRows } from '../sql/sql.ts';
import { columns, fragment, insertion, part, statement } from '../sql/statement.ts';
import { BLOCKS, BUCKETS, type StoredBlock } from '../tables/log.ts';
import {
  addAt,
  addBlanks,
  BLOCK_ENTRIES,
  type Block,
  type BlockHead,
  blockOf,
  bucketBytes,
  bucketsOf,
  type Columns,
  countsOf,
  createColumns,
  FIELDS,
  headFrom,
  isWhole,
  MERGED_BLOCKS,
  mergedPostings,
  type Postings,
  postingsOf,
  withoutOffsets,
} from './blocks.ts';
import { bucketNumber, bucketRange } from './numbers.ts';
import { type BucketId, indexedTo } from './query.ts';
import { lostOffsets } from './retention.ts';
import { type Erased, hasPlace, indexedIn } from './segment.ts';
import { readPlaces, segmentsFrom } from './segments.ts';

/** A number that no other program locks in this database. The number before it is the lock of migrations. */
export const INDEX_LOCK = 0x77_72_69_74_01n;

/** Waits for the index, and keeps others from changing it until the transaction ends. */
export const HOLD_INDEX = {
  name: 'hold_index',
  text: `SELECT pg_advisory_xact_lock(${INDEX_LOCK})`,
};

/** Keeps others from changing the index or erasing entries until the transaction ends. */
export const SHARE_INDEX = {
  name: 'share_index',
  text: `SELECT pg_advisory_xact_lock_shared(${INDEX_LOCK})`,
};

/** Undefined for a head that is not the one that was written. */
export function blockHeadOf({ buckets, ...facts }: StoredBlock): BlockHead | undefined {
  return headFrom(facts, buckets);
}

/** Whole blocks that begin below this place, the last one first. Others are added to `damaged`. */
export function* readHeads(
  sql: SqlReader,
  { before, limit }: { readonly before: number; readonly limit: number },
  damaged?: Set<number>,
): Steps<BlockHead[]> {
  const heads: BlockHead[] = [];
  for (let below = Math.min(before, Number.MAX_SAFE_INTEGER); heads.length < limit; ) {
    const wanted = limit - heads.length;
    const rows = yield* sql.all(HEADS, below, wanted);
    for (const row of rows) {
      const head = blockHeadOf(row);
      if (head) heads.push(head);
      else damaged?.add(row.first);
    }
    if (rows.length < wanted) break;
    below = rows.at(-1)?.first ?? 0;
  }
  return heads;
}

/** All whole blocks, in order of their places. */
export function* allHeads(sql: SqlReader): Steps<BlockHead[]> {
  return (yield* sql.all(ALL_HEADS)).flatMap((row) => blockHeadOf(row) ?? []);
}

/** What the index needs of the entries from one place up to another, each in its place. */
export function* readColumns(sql: SqlReader, from: number, end: number): Steps<Columns> {
  const columns = createColumns();
  yield* addColumns(sql, columns, { from, begin: from, end });
  return columns;
}

/** Adds the entries from `begin` up to `end`, each at its distance from `from`. */
export function* addColumns(
  sql: SqlReader,
  columns: Columns,
  { from, begin, end }: { readonly from: number; readonly begin: number; readonly end: number },
): Steps<void> {
  if (begin >= end) return;
  const segments = segmentsFrom(sql, begin, { end });
  for (let next = yield* segments.next(); next; next = yield* segments.next()) {
    for (const entry of indexedIn(next)) {
      const { sequence } = entry;
      if (sequence >= begin && sequence < end) addAt(columns, sequence - from, entry);
    }
  }
}

/** The place after the last block of the log. */
function* lastIndexed(sql: SqlReader, head: TreeHead): Steps<number> {
  const [last] = yield* readHeads(sql, { before: Number.POSITIVE_INFINITY, limit: 1 });
  return indexedTo(head, last);
}

/** Makes the next small block of the current log. False when its entries are not there yet. */
export function* indexNext(
  sql: SqlRows,
  head: TreeHead,
  columnsOf: typeof readColumns = readColumns,
): Steps<boolean> {
  const first = yield* lastIndexed(sql, head);
  const end = first + BLOCK_ENTRIES;
  if (end > head.first + head.size) return false;
  const columns = yield* columnsOf(sql, first, end);
  // Entries that a damaged log does not have.
  addBlanks(columns, BLOCK_ENTRIES);
  yield* insertBlock(sql, first, blockOf(columns));
  return true;
}

/** Indexes all entries of a log that ends. */
export function* closeBlock(sql: SqlRows, head: TreeHead): Steps<void> {
  while (yield* indexNext(sql, head));
  const first = yield* lastIndexed(sql, head);
  const end = head.first + head.size;
  if (first < end) yield* insertBlock(sql, first, blockOf(yield* readColumns(sql, first, end)));
}

export function* insertBlock(sql: SqlRows, first: number, block: Block): Steps<void> {
  const made = block.postings.map((postings) => bucketsOf(postings));
  const rows = made.flatMap((parts, field) => {
    return parts.map((data, bucket) => ({ id: bucketNumber({ first, field, bucket }), data }));
  });
  yield* sql.put(PUT_BUCKETS, rows);
  const buckets = made.map(({ length }) => length);
  yield* insertHead(sql, { first, count: block.count, newest: block.newest, buckets });
}

/** Of a block below which entries are without a block: a query by time must not stop at it. */
const LATEST_UNKNOWN = Number.MAX_SAFE_INTEGER;

function* insertHead(sql: SqlRows, head: Omit<BlockHead, 'latest'>): Steps<void> {
  const { first, newest } = head;
  const [before] = yield* readHeads(sql, { before: first, limit: 1 });
  const from = before ? before.first + before.count : 0;
  if (from < first && (yield* readPlaces(sql, { from, end: first, limit: 1 })).length > 0) {
    // What is latest up to a later block is no earlier than what is latest up to this one.
    const above = yield* headFromPlace(sql, first + 1);
    yield* putHead(sql, { ...head, latest: above?.latest ?? LATEST_UNKNOWN });
    return;
  }
  let latest = Math.max(before?.latest ?? 0, newest);
  yield* putHead(sql, { ...head, latest });
  // Those that were made before this one may not know what is latest up to them.
  for (let end = first + head.count; ; ) {
    const above = yield* headFromPlace(sql, end);
    if (above?.first !== end) return;
    latest = Math.max(latest, above.newest);
    if (above.latest === latest) return;
    yield* putHead(sql, { ...above, latest });
    end += above.count;
  }
}

/** The first block from this place on. Undefined when its head is damaged. */
function* headFromPlace(sql: SqlReader, place: number): Steps<BlockHead | undefined> {
  const row = yield* sql.one(NEXT_HEAD, place);
  return row && blockHeadOf(row);
}

function* putHead(sql: SqlRows, head: BlockHead): Steps<void> {
  yield* sql.put(PUT_BLOCK, [{ ...head, buckets: countsOf(head) }]);
}

/**
 * In the order requested. A bucket that is missing or damaged is made from the entries, and its block is added
 * to `damaged`.
 */
export function* readBuckets(
  sql: SqlReader,
  ids: readonly BucketId[],
  damaged: Set<number>,
): Steps<Uint8Array[]> {
  const stored = yield* bucketsByNumber(sql, ids.map(bucketNumber));
  const found: Uint8Array[] = [];
  for (const id of ids) {
    const data = stored.get(bucketNumber(id));
    if (data && isWhole(data)) {
      found.push(data);
      continue;
    }
    damaged.add(id.first);
    found.push(yield* bucketFromEntries(sql, id));
  }
  return found;
}

function* bucketsByNumber(sql: SqlReader, ids: readonly number[]): Steps<Map<number, Uint8Array>> {
  const rows = ids.length === 0 ? [] : yield* sql.all(BUCKETS_BY_ID, ids);
  return new Map(rows.map(({ id, data }) => [id, data]));
}

/** All buckets of a block, by their numbers. */
export function* bucketsOfBlock(
  sql: SqlReader,
  block: Pick<BlockHead, 'first' | 'count'>,
): Steps<Map<number, Uint8Array>> {
  const { begin, end } = bucketRange(block);
  const rows = yield* sql.all(BUCKET_RANGE, begin, end);
  return new Map(rows.map(({ id, data }) => [id, data]));
}

function* bucketFromEntries(sql: SqlReader, { first, field, bucket }: BucketId): Steps<Uint8Array> {
  const [head] = yield* readHeads(sql, { before: first + 1, limit: 1 });
  const { count = 0, buckets = [] } = head ?? {};
  const { postings } = blockOf(yield* readColumns(sql, first, first + count));
  const made = bucketsOf(postings[field] as Postings, buckets[field]);
  return made[bucket] ?? bucketBytes(new Float64Array());
}

/**
 * One piece of work, under the lock of the index: makes the block at `damaged` again, or the next small one, or merges the
 * oldest. False when none is left.
 */
export function* tendIndex(
  sql: SqlRows,
  head: TreeHead,
  { damaged, columnsOf }: { damaged: number | undefined; columnsOf?: typeof readColumns },
): Steps<boolean> {
  if (damaged !== undefined) {
    yield* rebuildBlock(sql, damaged, head);
    return true;
  }
  return (yield* indexNext(sql, head, columnsOf)) || (yield* mergeBlocks(sql, head));
}

/** Makes the block again in which this place is, from its entries. */
function* rebuildBlock(sql: SqlRows, place: number, current: TreeHead): Steps<void> {
  const [below] = yield* readHeads(sql, { before: place + 1, limit: 1 });
  const isKept = below && hasPlace(below, place);
  const first = isKept ? below.first : place - (place % BLOCK_ENTRIES);
  const end = first + (isKept ? below.count : BLOCK_ENTRIES);
  const block = blockOf(yield* readColumns(sql, first, end));
  yield* sql.run(DELETE_BLOCK, first, place);
  // It may have had more buckets, and an older block at its place too.
  const own = bucketRange({ first, count: BLOCK_ENTRIES });
  yield* sql.run(DELETE_BUCKETS, own.begin, own.end);
  // The last entries of a log fill no block until the log ends.
  const isFull = block.count === BLOCK_ENTRIES || place < current.first;
  if (isKept || isFull) yield* insertBlock(sql, first, block);
}

/** Takes the erased fields of entries, given as they were before, out of the blocks. */
export function* forget(sql: SqlRows, erased: readonly StoredEntry[], what: Erased): Steps<void> {
  const places = erased.map(({ sequence }) => sequence);
  if (places.length === 0) return;
  const lowest = places.reduce((one, other) => Math.min(one, other));
  const highest = places.reduce((one, other) => Math.max(one, other));
  const rows = yield* sql.all(COVERING, lowest, highest);
  const heads = rows.flatMap((row) => blockHeadOf(row) ?? []);
  const due = lostOffsets(erased, what, (place) => heads.find((head) => hasPlace(head, place)));
  const stored = yield* bucketsByNumber(sql, [...due.keys()]);
  // A damaged bucket is made again from the entries, which have lost the fields.
  const whole = [...stored].filter(([, data]) => isWhole(data));
  yield* sql.put(
    PUT_BUCKETS,
    whole.map(([id, data]) => {
      const left = withoutOffsets(postingsOf([data]), due.get(id) as Set<number>);
      return { id, data: bucketBytes(left) };
    }),
  );
}

/** Merges the oldest small blocks that make up a large one. False when there are none. */
export function* mergeBlocks(sql: SqlRows, current: TreeHead): Steps<boolean> {
  const row = yield* sql.one(MERGEABLE);
  if (!row) return false;
  const { first } = row;
  const before = first + MERGED_ENTRIES;
  const damaged = new Set<number>();
  const parts = (yield* readHeads(sql, { before, limit: MERGED_BLOCKS }, damaged)).reverse();
  const [place] = damaged;
  if (place !== undefined) {
    yield* rebuildBlock(sql, place, current);
    return true;
  }
  const stored = yield* bucketsOfBlock(sql, { first, count: MERGED_ENTRIES });
  const { begin, end } = bucketRange({ first, count: MERGED_ENTRIES });
  yield* sql.run(DELETE_BUCKETS, begin, end);
  yield* sql.run(DELETE_BLOCKS, first, before);
  const buckets: number[] = [];
  // One field at a time, so that other work of a process that waits for the database comes in between.
  for (const field of FIELDS.keys()) {
    const postings: Postings[] = [];
    for (const each of parts) postings.push(yield* postingsIn(sql, each, field, stored));
    const made = bucketsOf(mergedPostings(postings));
    yield* sql.put(
      PUT_BUCKETS,
      made.map((data, bucket) => ({ id: bucketNumber({ first, field, bucket }), data })),
    );
    buckets.push(made.length);
  }
  const newest = Math.max(...parts.map((each) => each.newest));
  yield* insertHead(sql, { first, count: MERGED_ENTRIES, newest, buckets });
  return true;
}

/** One field of a block; from its entries where a bucket is missing or damaged. */
function* postingsIn(
  sql: SqlReader,
  { first, count, buckets }: BlockHead,
  ...[field, stored]: [field: number, stored: ReadonlyMap<number, Uint8Array>]
): Steps<Postings> {
  const found = Array.from({ length: buckets[field] ?? 0 }, (_, bucket) => {
    return stored.get(bucketNumber({ first, field, bucket }));
  });
  if (found.length > 0 && found.every((data) => data !== undefined && isWhole(data))) {
    return postingsOf(found as Uint8Array[]);
  }
  const { postings } = blockOf(yield* readColumns(sql, first, first + count));
  return postings[field] as Postings;
}

const MERGED_ENTRIES = BLOCK_ENTRIES * MERGED_BLOCKS;
const MERGED = `${MERGED_ENTRIES}`;

const LIST = fragment`SELECT ${columns(BLOCKS)} FROM blocks`;

export const HEADS = statement('block_heads', BLOCKS)`
  ${LIST} WHERE first < $1 ORDER BY first DESC LIMIT $2`;

const NEXT_HEAD = statement('next_block_head', BLOCKS)`
  ${LIST} WHERE first >= $1 ORDER BY first LIMIT 1`;

const ALL_HEADS = statement('all_block_heads', BLOCKS)`${LIST} ORDER BY first`;

/** The blocks that have places from one to another. */
const COVERING = statement('covering_blocks', BLOCKS)`
  ${LIST} WHERE first <= $2::bigint AND first + count > $1::bigint
    AND first >= coalesce((SELECT max(b.first) FROM blocks b WHERE b.first <= $1::bigint), 0)
  ORDER BY first`;

const MERGEABLE = statement('mergeable_blocks', part(BLOCKS, 'first'))`
  SELECT min(first) / ${MERGED} * ${MERGED} AS first FROM blocks WHERE count = ${`${BLOCK_ENTRIES}`}
  GROUP BY first / ${MERGED} HAVING count(*) = ${`${MERGED_BLOCKS}`} ORDER BY 1 LIMIT 1`;

const PUT_BLOCK = insertion('insert_block', BLOCKS, '(first)');
const PUT_BUCKETS = insertion('insert_buckets', BUCKETS, '(id)');

export const BUCKETS_BY_ID = statement('buckets_by_number', BUCKETS)`
  SELECT ${columns(BUCKETS)} FROM buckets WHERE id = ANY ($1::bigint[])`;

const BUCKET_RANGE = statement('buckets_in_range', BUCKETS)`
  SELECT ${columns(BUCKETS)} FROM buckets WHERE id >= $1 AND id < $2`;

const DELETE_BUCKETS = statement('delete_buckets')`
  DELETE FROM buckets WHERE id >= $1 AND id < $2`;

const DELETE_BLOCK = statement('delete_block')`DELETE FROM blocks WHERE first IN ($1, $2)`;

const DELETE_BLOCKS = statement('delete_blocks')`
  DELETE FROM blocks WHERE first >= $1 AND first < $2`;
