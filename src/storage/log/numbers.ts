/**
 * The keys of stored tiles and buckets. The same in every store.
 *
 * @module
 */

import { BLOCK_ENTRIES } from './blocks.ts';
import type { BucketId } from './query.ts';
import type { TileId } from './tiles.ts';

/** Of a field, in one block. */
const BUCKETS_MAX = 128;
const FIELDS_MAX = 16;

/** One number for a bucket: blocks begin at multiples of `BLOCK_ENTRIES`. */
export function bucketNumber({ first, field, bucket }: BucketId): number {
  return ((first / BLOCK_ENTRIES) * FIELDS_MAX + field) * BUCKETS_MAX + bucket;
}

/** The numbers of all buckets of a block are from `begin` up to `end`. */
export function bucketRange({ first, count }: { first: number; count: number }): {
  begin: number;
  end: number;
} {
  const span = Math.ceil(count / BLOCK_ENTRIES) * BLOCK_ENTRIES;
  return {
    begin: bucketNumber({ first, field: 0, bucket: 0 }),
    end: bucketNumber({ first: first + span, field: 0, bucket: 0 }),
  };
}

/** Heights have two bits; a log of a trillion entries has tiles of four heights. */
export function tileNumber({ height, index }: TileId): number {
  return index * 4 + height - 1;
}
