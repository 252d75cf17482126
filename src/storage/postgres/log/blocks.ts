/**
 * Index blocks in PostgreSQL: reads them, makes small ones, makes damaged ones again.
 *
 * All changes run under one lock of the database (`holdIndex`). Erasure takes it too, so that no block is made
 * from bytes that are being erased.
 *
 * @module
 */

import type { StoredEntry } from '../../../domain/log/entry.ts';
import {
  addBlanks,
  BLOCK_ENTRIES,
  type Block,
  type BlockHead,
  blockOf,
  bucketBytes,
  bucketsOf,
  countsOf,
  headFrom,
  isWhole,
  type Postings,
  postingsOf,
  withoutOffsets,
} from '../../log/blocks.ts';
import { bucketNumber, bucketRange } from '../../log/numbers.ts';
import { type BucketId, indexedTo } from '../../log/query.ts';
import { lostOffsets } from '../../log/retention.ts';
import { type Erased, hasPlace } from '../../log/segment.ts';
import type { TreeHead } from '../../port/store.ts';
import type { Session, Statement } from '../connection.ts';
import { readColumns, recentColumns } from './columns.ts';
import type { RecentEntries } from './recent.ts';
import { readPlaces } from './segments.ts';

/** A number that no other program locks in this database. The number before it is the lock of migrations. */
export const INDEX_LOCK = 0x77_72_69_74_01n;

/** Waits for the index, and keeps others from changing it until the transaction ends. */
export async function holdIndex(session: Session): Promise<void> {
  await session.run(HOLD, [INDEX_LOCK]);
}

/** Keeps others from changing the index or erasing entries until the transaction ends. */
export async function shareIndex(session: Session): Promise<void> {
  await session.run(SHARE, [INDEX_LOCK]);
}

/** False when another process has the index. */
export async function tryIndex(session: Session): Promise<boolean> {
  const [row] = await session.run<{ held: boolean }>(TRY, [INDEX_LOCK]);
  return row?.held ?? false;
}

export interface BlockRow {
  readonly first: bigint;
  readonly count: number;
  readonly newest: bigint;
  readonly latest: bigint;
  readonly buckets: Uint8Array;
}

/** Undefined for a head that is not the one that was written. */
export function blockHeadOf(row: BlockRow): BlockHead | undefined {
  const { first, count, newest, latest, buckets } = row;
  const times = { newest: Number(newest), latest: Number(latest) };
  return headFrom({ first: Number(first), count, ...times }, buckets);
}

/** Whole blocks that begin below this place, the last one first. Others are added to `damaged`. */
export async function readHeads(
  session: Session,
  { before, limit }: { before: number; limit: number },
  damaged?: Set<number>,
): Promise<BlockHead[]> {
  const heads: BlockHead[] = [];
  for (let below = Math.min(before, Number.MAX_SAFE_INTEGER); heads.length < limit; ) {
    const wanted = limit - heads.length;
    const rows = await session.run<BlockRow>(HEADS, [below, wanted]);
    for (const row of rows) {
      const head = blockHeadOf(row);
      if (head) heads.push(head);
      else damaged?.add(Number(row.first));
    }
    if (rows.length < wanted) break;
    below = Number(rows.at(-1)?.first);
  }
  return heads;
}

/** All whole blocks, in order of their places. */
export async function allHeads(session: Session): Promise<BlockHead[]> {
  return (await session.run<BlockRow>(ALL_HEADS)).flatMap((row) => blockHeadOf(row) ?? []);
}

async function lastIndexed(session: Session, head: TreeHead): Promise<number> {
  const [last] = await readHeads(session, { before: Number.POSITIVE_INFINITY, limit: 1 });
  return indexedTo(head, last);
}

/**
 * Makes the next small block of the current log, of what is known of recent entries and of segments. False when its
 * entries are not there yet.
 */
export async function indexNext(
  session: Session,
  head: TreeHead,
  recent?: RecentEntries,
): Promise<boolean> {
  const first = await lastIndexed(session, head);
  const end = first + BLOCK_ENTRIES;
  if (end > head.first + head.size) return false;
  const columns = await (recent
    ? recentColumns(session, recent, { from: first, end })
    : readColumns(session, first, end));
  // Entries that a damaged log does not have.
  addBlanks(columns, BLOCK_ENTRIES);
  await insertBlock(session, first, blockOf(columns));
  return true;
}

/** Indexes all entries of a log that ends. */
export async function closeBlock(session: Session, head: TreeHead): Promise<void> {
  while (await indexNext(session, head));
  const first = await lastIndexed(session, head);
  const end = head.first + head.size;
  if (first < end) {
    await insertBlock(session, first, blockOf(await readColumns(session, first, end)));
  }
}

async function insertBlock(session: Session, first: number, block: Block): Promise<void> {
  const made = block.postings.map((postings) => bucketsOf(postings));
  const ids = made.map((data, field) => bucketNumbers({ first, field }, data.length));
  await session.run(INSERT_BUCKETS, [ids.flat(), made.flat()]);
  const buckets = made.map(({ length }) => length);
  await insertHead(session, { first, count: block.count, newest: block.newest, buckets });
}

/** Of a block below which entries are without a block: a query by time must not stop at it. */
const LATEST_UNKNOWN = Number.MAX_SAFE_INTEGER;

export async function insertHead(session: Session, head: Omit<BlockHead, 'latest'>): Promise<void> {
  const { first, newest } = head;
  const [before] = await readHeads(session, { before: first, limit: 1 });
  const from = before ? before.first + before.count : 0;
  if (from < first && (await readPlaces(session, { from, end: first, limit: 1 })).length > 0) {
    // What is latest up to a later block is no earlier than what is latest up to this one.
    const above = await headFromPlace(session, first + 1);
    await writeHead(session, { ...head, latest: above?.latest ?? LATEST_UNKNOWN });
    return;
  }
  let latest = Math.max(before?.latest ?? 0, newest);
  await writeHead(session, { ...head, latest });
  // Those that were made before this one may not know what is latest up to them.
  for (let end = first + head.count; ; ) {
    const above = await headFromPlace(session, end);
    if (above?.first !== end) return;
    latest = Math.max(latest, above.newest);
    if (above.latest === latest) return;
    await writeHead(session, { ...above, latest });
    end += above.count;
  }
}

/** The first block from this place on. Undefined when its head is damaged. */
async function headFromPlace(session: Session, place: number): Promise<BlockHead | undefined> {
  const [row] = await session.run<BlockRow>(NEXT_HEAD, [place]);
  return row && blockHeadOf(row);
}

async function writeHead(session: Session, head: BlockHead): Promise<void> {
  const { first, count, newest, latest } = head;
  await session.run(INSERT_BLOCK, [first, count, newest, latest, countsOf(head)]);
}

/** Returns the number of buckets. */
export async function insertBuckets(
  session: Session,
  place: Omit<BucketId, 'bucket'>,
  postings: Postings,
): Promise<number> {
  const buckets = bucketsOf(postings);
  await session.run(INSERT_BUCKETS, [bucketNumbers(place, buckets.length), buckets]);
  return buckets.length;
}

function bucketNumbers({ first, field }: Omit<BucketId, 'bucket'>, length: number): number[] {
  return Array.from({ length }, (_, bucket) => bucketNumber({ first, field, bucket }));
}

/**
 * In the order requested. A bucket that is missing or damaged is made from the entries, and its block is added
 * to `damaged`.
 */
export async function readBuckets(
  session: Session,
  ids: readonly BucketId[],
  damaged: Set<number>,
): Promise<Uint8Array[]> {
  const stored = await bucketsByNumber(session, ids.map(bucketNumber));
  const found: Uint8Array[] = [];
  for (const id of ids) {
    const data = stored.get(bucketNumber(id));
    if (data && isWhole(data)) {
      found.push(data);
      continue;
    }
    damaged.add(id.first);
    found.push(await bucketFromEntries(session, id));
  }
  return found;
}

async function bucketsByNumber(
  session: Session,
  ids: readonly number[],
): Promise<Map<number, Uint8Array>> {
  const rows = await session.run<BucketRow>(BUCKETS, [ids]);
  return new Map(rows.map(({ id, data }) => [Number(id), data]));
}

/** All buckets of a block, by their numbers. */
export async function bucketsOfBlock(
  session: Session,
  block: { first: number; count: number },
): Promise<Map<number, Uint8Array>> {
  const { begin, end } = bucketRange(block);
  const rows = await session.run<BucketRow>(BUCKET_RANGE, [begin, end]);
  return new Map(rows.map(({ id, data }) => [Number(id), data]));
}

async function bucketFromEntries(
  session: Session,
  { first, field, bucket }: BucketId,
): Promise<Uint8Array> {
  const [head] = await readHeads(session, { before: first + 1, limit: 1 });
  const { count = 0, buckets = [] } = head ?? {};
  const { postings } = blockOf(await readColumns(session, first, first + count));
  const made = bucketsOf(postings[field] as Postings, buckets[field]);
  return made[bucket] ?? bucketBytes(new Float64Array());
}

/** Makes the block again in which this place is, from its entries. Only under the lock of the index. */
export async function rebuildBlock(
  session: Session,
  place: number,
  current: TreeHead,
): Promise<void> {
  const [below] = await readHeads(session, { before: place + 1, limit: 1 });
  const isKept = below && hasPlace(below, place);
  const first = isKept ? below.first : place - (place % BLOCK_ENTRIES);
  const end = first + (isKept ? below.count : BLOCK_ENTRIES);
  const block = blockOf(await readColumns(session, first, end));
  await session.run(DELETE_BLOCK, [first, place]);
  // It may have had more buckets, and an older block at its place too.
  const own = bucketRange({ first, count: BLOCK_ENTRIES });
  await session.run(DELETE_BUCKETS, [own.begin, own.end]);
  // The last entries of a log fill no block until the log ends.
  const isFull = block.count === BLOCK_ENTRIES || place < current.first;
  if (isKept || isFull) await insertBlock(session, first, block);
}

/** Takes the erased fields of entries out of the blocks. Only under the lock of the index. */
export async function forget(
  session: Session,
  erased: readonly StoredEntry[],
  what: Erased,
): Promise<void> {
  const places = erased.map(({ sequence }) => sequence);
  if (places.length === 0) return;
  const [lowest, highest] = [Math.min(...places), Math.max(...places)];
  const rows = await session.run<BlockRow>(COVERING, [lowest, highest]);
  const heads = rows.flatMap((row) => blockHeadOf(row) ?? []);
  const due = lostOffsets(erased, what, (place) => heads.find((head) => hasPlace(head, place)));
  const stored = await bucketsByNumber(session, [...due.keys()]);
  // A damaged bucket is made again from the entries, which have lost the fields.
  const whole = [...stored].filter(([, data]) => isWhole(data));
  await session.run(UPDATE_BUCKETS, [
    whole.map(([id]) => id),
    whole.map(([id, data]) => {
      return bucketBytes(withoutOffsets(postingsOf([data]), due.get(id) as Set<number>));
    }),
  ]);
}

interface BucketRow {
  readonly id: bigint;
  readonly data: Uint8Array;
}

const HOLD: Statement = { name: 'hold_index', text: 'SELECT pg_advisory_xact_lock($1)' };

const SHARE: Statement = { name: 'share_index', text: 'SELECT pg_advisory_xact_lock_shared($1)' };

const TRY: Statement = { name: 'try_index', text: 'SELECT pg_try_advisory_xact_lock($1) AS held' };

const BLOCK_COLUMNS = 'first, count, newest, latest, buckets';

export const HEADS: Statement = {
  name: 'block_heads',
  text: `SELECT ${BLOCK_COLUMNS} FROM blocks WHERE first < $1 ORDER BY first DESC LIMIT $2`,
};

const NEXT_HEAD: Statement = {
  name: 'next_block_head',
  text: `SELECT ${BLOCK_COLUMNS} FROM blocks WHERE first >= $1 ORDER BY first LIMIT 1`,
};

const ALL_HEADS: Statement = {
  name: 'all_block_heads',
  text: `SELECT ${BLOCK_COLUMNS} FROM blocks ORDER BY first`,
};

/** The blocks that have places from one to another. */
const COVERING: Statement = {
  name: 'covering_blocks',
  text: `SELECT ${BLOCK_COLUMNS} FROM blocks WHERE first <= $2::bigint AND first + count > $1::bigint
      AND first >= coalesce((SELECT max(b.first) FROM blocks b WHERE b.first <= $1::bigint), 0)
    ORDER BY first`,
};

const INSERT_BLOCK: Statement = {
  name: 'insert_block',
  text: `INSERT INTO blocks (first, count, newest, latest, buckets)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (first) DO UPDATE SET count = EXCLUDED.count, newest = EXCLUDED.newest,
      latest = EXCLUDED.latest, buckets = EXCLUDED.buckets`,
};

const INSERT_BUCKETS: Statement = {
  name: 'insert_buckets',
  text: `INSERT INTO buckets (id, data) SELECT * FROM unnest($1::bigint[], $2::bytea[])
    ON CONFLICT (id) DO UPDATE SET data = EXCLUDED.data`,
};

export const BUCKETS: Statement = {
  name: 'buckets_by_number',
  text: 'SELECT id, data FROM buckets WHERE id = ANY ($1::bigint[])',
};

const BUCKET_RANGE: Statement = {
  name: 'buckets_in_range',
  text: 'SELECT id, data FROM buckets WHERE id >= $1 AND id < $2',
};

const UPDATE_BUCKETS: Statement = {
  name: 'update_buckets',
  text: `UPDATE buckets b SET data = n.data FROM unnest($1::bigint[], $2::bytea[]) AS n (id, data)
    WHERE b.id = n.id`,
};

export const DELETE_BUCKETS: Statement = {
  name: 'delete_buckets',
  text: 'DELETE FROM buckets WHERE id >= $1 AND id < $2',
};

const DELETE_BLOCK: Statement = {
  name: 'delete_block',
  text: 'DELETE FROM blocks WHERE first IN ($1, $2)',
};
