/**
 * Merges small index blocks into large ones, so that a search in a long log reads few.
 *
 * @module
 */

import {
  BLOCK_ENTRIES,
  type BlockHead,
  blockOf,
  FIELDS,
  isWhole,
  MERGED_BLOCKS,
  mergedPostings,
  type Postings,
  postingsOf,
} from '../../log/blocks.ts';
import { bucketNumber, bucketRange } from '../../log/numbers.ts';
import type { TreeHead } from '../../port/store.ts';
import type { Session, Statement } from '../connection.ts';
import {
  bucketsOfBlock,
  DELETE_BUCKETS,
  insertBuckets,
  insertHead,
  readHeads,
  rebuildBlock,
} from './blocks.ts';
import { readColumns } from './columns.ts';

/**
 * Merges the oldest small blocks that make up a large one. False when there are none. Only under the lock of the
 * index.
 */
export async function mergeBlocks(session: Session, current: TreeHead): Promise<boolean> {
  const span = BLOCK_ENTRIES * MERGED_BLOCKS;
  const [row] = await session.run<{ first: bigint }>(MERGEABLE);
  if (!row) return false;
  const first = Number(row.first);
  const before = first + span;
  const damaged = new Set<number>();
  const parts = (await readHeads(session, { before, limit: MERGED_BLOCKS }, damaged)).reverse();
  const [place] = damaged;
  if (place !== undefined) {
    await rebuildBlock(session, place, current);
    return true;
  }
  const stored = await bucketsOfBlock(session, { first, count: span });
  const { begin, end } = bucketRange({ first, count: span });
  await session.run(DELETE_BUCKETS, [begin, end]);
  await session.run(DELETE_BLOCKS, [first, first + span]);
  const buckets: number[] = [];
  // One field at a time, so that other work of the process comes in between.
  for (const field of FIELDS.keys()) {
    const postings: Postings[] = [];
    for (const part of parts) postings.push(await postingsIn(session, part, field, stored));
    buckets.push(await insertBuckets(session, { first, field }, mergedPostings(postings)));
  }
  const newest = Math.max(...parts.map((part) => part.newest));
  await insertHead(session, { first, count: span, newest, buckets });
  return true;
}

/** One field of a block; from its entries where a bucket is missing or damaged. */
async function postingsIn(
  session: Session,
  { first, count, buckets }: BlockHead,
  ...[field, stored]: [field: number, stored: ReadonlyMap<number, Uint8Array>]
): Promise<Postings> {
  const found = Array.from({ length: buckets[field] ?? 0 }, (_, bucket) => {
    return stored.get(bucketNumber({ first, field, bucket }));
  });
  if (found.length > 0 && found.every((data) => data !== undefined && isWhole(data))) {
    return postingsOf(found as Uint8Array[]);
  }
  const { postings } = blockOf(await readColumns(session, first, first + count));
  return postings[field] as Postings;
}

const MERGEABLE: Statement = {
  name: 'mergeable_blocks',
  text: `SELECT min(first) AS first FROM blocks WHERE count = ${BLOCK_ENTRIES}
    GROUP BY first / ${BLOCK_ENTRIES * MERGED_BLOCKS} HAVING count(*) = ${MERGED_BLOCKS}
    ORDER BY 1 LIMIT 1`,
};

const DELETE_BLOCKS: Statement = {
  name: 'delete_blocks',
  text: 'DELETE FROM blocks WHERE first >= $1 AND first < $2',
};
