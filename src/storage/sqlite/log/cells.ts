/**
 * How much of a segment's row SQLite stores on a page with other rows.
 *
 * A row that needs more room there makes SQLite move its neighbours, and the bytes at their old place stay in the unused
 * part of the page, which secure_delete does not overwrite. A shorter row can need more: the end of a long row lies on
 * pages of its own. So retention writes no row that needs more than the one before.
 *
 * @module
 */

import type { Padding, Segment } from '../../log/segment.ts';

/** In bytes of the segment's row: its place, and what each column has. */
type Sizes = Pick<Segment, 'first' | 'count'> & {
  readonly hashes: number;
  readonly leaves: number;
  readonly personal: number;
};

/**
 * How many bytes the leaves and the personal fields of `less` must be longer, so that its row needs no more room than
 * that of `segment`. None where only the length of `segment` itself would do: a row must become shorter.
 */
export function paddingOf(segment: Segment, less: Segment, pageSize: number): Padding {
  const [before, after] = [sizesOf(segment), sizesOf(less)];
  const room = cellSize(before, pageSize);
  const lost = before.leaves - after.leaves;
  const all = lost + before.personal - after.personal;
  for (let bytes = 0; bytes < all; bytes++) {
    const leaves = Math.min(bytes, lost);
    const padding = { leaves, personal: bytes - leaves };
    if (cellSize(longer(after, padding), pageSize) <= room) return padding;
  }
  return { leaves: 0, personal: 0 };
}

function longer(sizes: Sizes, { leaves, personal }: Padding): Sizes {
  return { ...sizes, leaves: sizes.leaves + leaves, personal: sizes.personal + personal };
}

function sizesOf({ first, count, hashes, leaves, personal }: Segment): Sizes {
  return {
    ...{ first, count },
    ...{ hashes: hashes.length, leaves: leaves.length, personal: personal.length },
  };
}

/** In the leaf page of a table, by the file format of SQLite. */
function cellSize(sizes: Sizes, pageSize: number): number {
  const payload = payloadSize(sizes);
  const prefix = varintSize(payload) + varintSize(sizes.first);
  const most = pageSize - 35;
  if (payload <= most) return prefix + payload;
  const least = Math.floor(((pageSize - 12) * 32) / 255) - 23;
  const local = least + ((payload - least) % (pageSize - 4));
  return prefix + (local <= most ? local : least) + 4;
}

/** The header, then the columns. The place is the key of the row, and takes no byte as a column. */
function payloadSize({ count, hashes, leaves, personal }: Sizes): number {
  const blobs = [hashes, leaves, personal];
  const types = blobs.reduce((sum, length) => sum + varintSize(12 + 2 * length), 0);
  const header = 3 + types;
  return header + integerSize(count) + hashes + leaves + personal;
}

/** Seven bits a byte. */
function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size += 1;
  return size;
}

/** Of a number of entries: one needs no byte. */
function integerSize(count: number): number {
  if (count === 1) return 0;
  return count < 2 ** 7 ? 1 : count < 2 ** 15 ? 2 : 3;
}
