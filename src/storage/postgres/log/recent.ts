/**
 * What the index needs of the entries that this process queued lately.
 *
 * Upkeep makes a block of them without reading their bytes again. Entries are known by the hash of their leaf,
 * so it does not matter which process gave them their places. A segment that has another entry, or from which
 * retention has taken bytes, is read.
 *
 * @module
 */

import type { EntryRecord } from '../../../domain/log/entry.ts';
import { HASH_BYTES } from '../../../domain/log/merkle.ts';
import { addBlanks, type Columns, FIELDS, keysOf } from '../../log/blocks.ts';

/** Entries: some blocks of them, about half a megabyte. The oldest ones are forgotten first. */
const RECENT_MAX = 4_096;

/** The times, and the lengths of the leaf and the personal fields, before the keys. */
const [TIME, LEAF_BYTES, PERSONAL_BYTES, SECOND_PART, KEYS] = [0, 1, 2, 3, 4];
const WIDTH = KEYS + FIELDS.length;

/** A segment without its bytes. */
export interface SegmentShape {
  readonly first: number;
  readonly count: number;
  readonly hashes: Uint8Array;
  /** In bytes, with the ends of the lines. */
  readonly leaves: number;
  readonly personal: number;
}

export interface RecentEntries {
  add(entries: readonly EntryRecord[]): void;
  /** Whether all entries of a segment are known, as they were queued. */
  knows(segment: SegmentShape): boolean;
  /** Adds the entry at this index of a known segment to the columns, at its own index there. */
  addTo(columns: Columns, index: number, segment: SegmentShape, at: number): void;
}

export function createRecent(max: number = RECENT_MAX): RecentEntries {
  const rows = new Float64Array(max * WIDTH);
  /** By the first part of the hash, the oldest first. */
  const starts = new Map<number, number>();
  let next = 0;
  const names: number[] = new Array(max);

  /** Where the row of the entry with this hash begins. */
  function startOf(hashes: Uint8Array, index: number): number | undefined {
    const at = HASH_BYTES * index;
    const start = starts.get(partAt(hashes, at));
    const isSame = start !== undefined && rows[start + SECOND_PART] === partAt(hashes, at + PART);
    return isSame ? start : undefined;
  }

  function keep({ leaf, personal, leaf_hash }: EntryRecord, time: number, keys: number[]): void {
    const name = partAt(leaf_hash, 0);
    const old = names[next];
    if (old !== undefined && starts.get(old) === next * WIDTH) starts.delete(old);
    const start = next * WIDTH;
    rows[start + TIME] = time;
    rows[start + LEAF_BYTES] = leaf.length;
    rows[start + PERSONAL_BYTES] = personal.length;
    rows[start + SECOND_PART] = partAt(leaf_hash, PART);
    rows.set(keys, start + KEYS);
    names[next] = name;
    starts.set(name, start);
    next = (next + 1) % max;
  }

  return {
    add(entries) {
      for (const entry of entries) keep(entry, entry.timestamp.getTime(), keysOf(entry));
    },

    knows({ count, hashes, leaves, personal }) {
      if (hashes.length !== HASH_BYTES * count) return false;
      let [ofLeaves, ofPersonal] = [0, 0];
      for (let index = 0; index < count; index++) {
        const start = startOf(hashes, index);
        if (start === undefined) return false;
        ofLeaves += (rows[start + LEAF_BYTES] as number) + 1;
        ofPersonal += (rows[start + PERSONAL_BYTES] as number) + 1;
      }
      return ofLeaves === leaves && ofPersonal === personal;
    },

    addTo(columns, index, { hashes }, at) {
      const start = startOf(hashes, at);
      if (start === undefined || index < columns.times.length) return;
      addBlanks(columns, index);
      columns.times.push(rows[start + TIME] as number);
      for (let field = 0; field < FIELDS.length; field++) {
        columns.keys[field]?.push(rows[start + KEYS + field] as number);
      }
    },
  };
}

/** In bytes: as much of a hash as a double holds. Two parts are never those of another leaf. */
const PART = 6;

function partAt(hashes: Uint8Array, at: number): number {
  let part = 0;
  for (let byte = at; byte < at + PART; byte++) part = part * 256 + (hashes[byte] ?? 0);
  return part;
}
