/**
 * Index blocks in SQLite. A small block is written by the commit that completes it. Upkeep merges small blocks into
 * large ones, in transactions of its own, and makes damaged ones again.
 *
 * @module
 */

import type { StoredEntry } from '../../../domain/log/entry.ts';
import {
  addAt,
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
} from '../../log/blocks.ts';
import { bucketNumber, bucketRange } from '../../log/numbers.ts';
import type { BucketId } from '../../log/query.ts';
import { lostOffsets } from '../../log/retention.ts';
import { type Erased, hasPlace, indexedIn } from '../../log/segment.ts';
import type { Connection } from '../connection.ts';
import { readPlaces, segmentsFrom } from './segments.ts';
import { readHead } from './tree.ts';

interface HeadRow {
  readonly first: bigint;
  readonly count: bigint;
  readonly newest: bigint;
  readonly latest: bigint;
  readonly buckets: Uint8Array;
}

const HEADS = 'SELECT first, count, newest, latest, buckets FROM blocks';

/** Whole blocks that begin below this place, the last one first. Others are added to `damaged`. */
export function readHeads(
  connection: Connection,
  before: number,
  limit: number,
  damaged?: Set<number>,
): BlockHead[] {
  const heads: BlockHead[] = [];
  for (let below = Math.min(before, Number.MAX_SAFE_INTEGER); heads.length < limit; ) {
    const rows = connection.all<HeadRow>(
      `${HEADS} WHERE first < ? ORDER BY first DESC LIMIT ?`,
      below,
      limit - heads.length,
    );
    for (const row of rows) {
      const head = blockHeadOf(row);
      if (head) heads.push(head);
      else damaged?.add(Number(row.first));
    }
    const last = rows.at(-1);
    if (!last) break;
    below = Number(last.first);
  }
  return heads;
}

function blockHeadOf({ first, count, newest, latest, buckets }: HeadRow): BlockHead | undefined {
  const facts = {
    first: Number(first),
    count: Number(count),
    newest: Number(newest),
    latest: Number(latest),
  };
  return headFrom(facts, buckets);
}

/** All whole blocks, in order of their places. */
export function* eachBlock(connection: Connection): Generator<BlockHead, undefined> {
  for (let from = 0; ; ) {
    const rows = connection.all<HeadRow>(`${HEADS} WHERE first >= ? ORDER BY first LIMIT 64`, from);
    for (const row of rows) {
      const head = blockHeadOf(row);
      if (head) yield head;
    }
    const last = rows.at(-1);
    if (!last) return;
    from = Number(last.first) + 1;
  }
}

/** Adds the entries from one place up to another to the columns, which end where they begin. */
export function readColumns(
  connection: Connection,
  from: number,
  end: number,
  columns: Columns = createColumns(),
): Columns {
  const first = from - columns.times.length;
  for (const segment of segmentsFrom(connection, from, end)) {
    for (const entry of indexedIn(segment)) {
      const { sequence } = entry;
      if (sequence >= from && sequence < end) addAt(columns, sequence - first, entry);
    }
  }
  return columns;
}

export function insertBlock(connection: Connection, first: number, block: Block): void {
  const buckets = block.postings.map((postings, field) => {
    const parts = bucketsOf(postings);
    for (const [bucket, data] of parts.entries()) {
      connection.run(INSERT_BUCKET, bucketNumber({ first, field, bucket }), data);
    }
    return parts.length;
  });
  insertHead(connection, { first, count: block.count, newest: block.newest, buckets });
}

/** Of a block below which entries are without a block: a query by time must not stop at it. */
const LATEST_UNKNOWN = Number.MAX_SAFE_INTEGER;

function insertHead(connection: Connection, head: Omit<BlockHead, 'latest'>): void {
  const { first, newest } = head;
  const [before] = readHeads(connection, first, 1);
  const from = before ? before.first + before.count : 0;
  if (from < first && readPlaces(connection, from, first, 1).length > 0) {
    // What is latest up to a later block is no earlier than what is latest up to this one.
    const above = headFromPlace(connection, first + 1);
    writeBlock(connection, { ...head, latest: above?.latest ?? LATEST_UNKNOWN });
    return;
  }
  let latest = Math.max(before?.latest ?? Number.MIN_SAFE_INTEGER, newest);
  writeBlock(connection, { ...head, latest });
  // Those that were made before this one may not know what is latest up to them.
  for (let end = first + head.count; ; ) {
    const above = headFromPlace(connection, end);
    if (above?.first !== end) return;
    latest = Math.max(latest, above.newest);
    if (above.latest === latest) return;
    writeBlock(connection, { ...above, latest });
    end += above.count;
  }
}

/** The first block from this place on. Undefined when its head is damaged. */
function headFromPlace(connection: Connection, place: number): BlockHead | undefined {
  const row = connection.get<HeadRow>(`${HEADS} WHERE first >= ? ORDER BY first LIMIT 1`, place);
  return row && blockHeadOf(row);
}

function writeBlock(connection: Connection, head: BlockHead): void {
  const { first, count, newest, latest } = head;
  connection.run(INSERT_BLOCK, first, count, newest, latest, countsOf(head));
}

const INSERT_BUCKET = 'INSERT OR REPLACE INTO buckets (id, data) VALUES (?, ?)';
const INSERT_BLOCK =
  'INSERT OR REPLACE INTO blocks (first, count, newest, latest, buckets) VALUES (?, ?, ?, ?, ?)';

/**
 * In the order requested. A bucket that is missing or damaged is made from the entries, and its block is added
 * to `damaged`.
 */
export function readBuckets(
  connection: Connection,
  ids: readonly BucketId[],
  damaged: Set<number>,
): Uint8Array[] {
  return ids.map((id) => {
    const row = connection.get<{ data: Uint8Array }>(
      'SELECT data FROM buckets WHERE id = ?',
      bucketNumber(id),
    );
    if (row && isWhole(row.data)) return row.data;
    damaged.add(id.first);
    return bucketFromEntries(connection, id);
  });
}

function bucketFromEntries(connection: Connection, { first, field, bucket }: BucketId): Uint8Array {
  const [head] = readHeads(connection, first + 1, 1);
  const { count = 0, buckets = [] } = head ?? {};
  const { postings } = blockOf(readColumns(connection, first, first + count));
  const made = bucketsOf(postings[field] as Postings, buckets[field]);
  return made[bucket] ?? bucketBytes(new Float64Array());
}

/** Makes the block again in which this place is, from its entries. Only inside a transaction. */
export function rebuildBlock(connection: Connection, place: number): void {
  const [below] = readHeads(connection, place + 1, 1);
  const isKept = below && hasPlace(below, place);
  const first = isKept ? below.first : place - (place % BLOCK_ENTRIES);
  const end = first + (isKept ? below.count : BLOCK_ENTRIES);
  const block = blockOf(readColumns(connection, first, end));
  connection.run('DELETE FROM blocks WHERE first = ? OR first = ?', first, place);
  // It may have had more buckets, and an older block at its place too.
  const buckets = bucketRange({ first, count: BLOCK_ENTRIES });
  connection.run('DELETE FROM buckets WHERE id >= ? AND id < ?', buckets.begin, buckets.end);
  // The last entries of a log fill no block until the log ends.
  const isFull = block.count === BLOCK_ENTRIES || place < readHead(connection).first;
  if (isKept || isFull) insertBlock(connection, first, block);
}

/** The postings of one field of a block. */
function readPostings(
  connection: Connection,
  { first, buckets }: BlockHead,
  field: number,
): Postings {
  const ids = Array.from({ length: buckets[field] ?? 0 }, (_, bucket) => ({
    first,
    field,
    bucket,
  }));
  return postingsOf(readBuckets(connection, ids, new Set()));
}

/** Takes the erased fields of entries, given as they were before, out of the blocks. Only inside a transaction. */
export function forget(connection: Connection, due: readonly StoredEntry[], what: Erased): void {
  let head: BlockHead | undefined;
  const headOf = (place: number) => {
    if (!head || !hasPlace(head, place)) [head] = readHeads(connection, place + 1, 1);
    return head && hasPlace(head, place) ? head : undefined;
  };
  for (const [id, offsets] of lostOffsets(due, what, headOf)) {
    const row = connection.get<{ data: Uint8Array }>('SELECT data FROM buckets WHERE id = ?', id);
    // A damaged bucket is made again from the entries, which have lost the fields.
    if (!row || !isWhole(row.data)) continue;
    const left = withoutOffsets(postingsOf([row.data]), offsets);
    connection.run('UPDATE buckets SET data = ? WHERE id = ?', bucketBytes(left), id);
  }
}

/**
 * Merges the oldest small blocks that make up a large one. False when there are none. Only inside a
 * transaction.
 */
export function mergeBlocks(connection: Connection): boolean {
  const span = BLOCK_ENTRIES * MERGED_BLOCKS;
  const row = connection.get<{ first: bigint }>(
    `SELECT min(first) / ${span} * ${span} AS first FROM blocks WHERE count = ${BLOCK_ENTRIES}
     GROUP BY first / ${span} HAVING count(*) = ${MERGED_BLOCKS} ORDER BY 1 LIMIT 1`,
  );
  if (!row) return false;
  const first = Number(row.first);
  const damaged = new Set<number>();
  const parts = readHeads(connection, first + span, MERGED_BLOCKS, damaged).reverse();
  const [place] = damaged;
  if (place !== undefined) {
    rebuildBlock(connection, place);
    return true;
  }
  const postings = FIELDS.map((_, field) => {
    return mergedPostings(parts.map((part) => readPostings(connection, part, field)));
  });
  const { begin, end } = bucketRange({ first, count: span });
  connection.run('DELETE FROM buckets WHERE id >= ? AND id < ?', begin, end);
  connection.run('DELETE FROM blocks WHERE first >= ? AND first < ?', first, first + span);
  const newest = Math.max(...parts.map((part) => part.newest));
  insertBlock(connection, first, { count: span, newest, postings });
  return true;
}
