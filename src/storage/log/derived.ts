/**
 * Compares what is derived from the segments with the segments: tiles, index blocks and the times of erasure.
 *
 * Reads every segment once, in order, and the stored tiles, buckets and times where they are due.
 *
 * @module
 */

import type { StoredEntry } from '../../domain/log/entry.ts';
import { firstPlaceOf } from '../../domain/log/origin.ts';
import type { Steps } from '../../steps.ts';
import type { TreeHead } from '../port/log-store.ts';
import type { SqlReader } from '../sql/sql.ts';
import { pairsOf, part, type Shape, statement } from '../sql/statement.ts';
import { RETENTIONS, type Stated, type StoredTile } from '../tables/log.ts';
import { allHeads, bucketsOfBlock } from './block-index.ts';
import { addTo, type Block, type BlockHead, blockOf, bucketsOf, createColumns } from './blocks.ts';
import { bucketNumber, tileNumber } from './numbers.ts';
import { entriesOf, hashAt, type Segment, segmentEnd } from './segment.ts';
import { segmentsFrom } from './segments.ts';
import { growTiles } from './tiles.ts';
import { storedTiles } from './tree.ts';

/** One sentence for each fault. Less than `tailMax` entries at the end of the last log may be without a block. */
export function* derivedFaults(sql: SqlReader, tailMax: number): Steps<string[]> {
  const tiles = createTileCheck();
  const blocks = createBlockCheck(yield* allHeads(sql), tailMax);
  const retentions = createRetentionCheck();
  const segments = segmentsFrom(sql, 0);
  for (let segment = yield* segments.next(); segment; segment = yield* segments.next()) {
    tiles.see(segment);
    const entries = entriesToCheck(segment);
    const stated = retentions.see(entries);
    if (stated.length > 0) retentions.compare(stated, yield* statedIn(sql, stated));
    for (const due of blocks.see(segment, entries)) {
      blocks.compare(due, yield* bucketsOfBlock(sql, due.head));
    }
  }
  const faults = tiles.faults(yield* storedTiles(sql));
  const stored = yield* sql.one(COUNTS);
  return [
    ...faults,
    ...blocks.faults(stored?.buckets ?? 0),
    ...retentions.faults(stored?.retentions ?? 0),
  ];
}

function* statedIn(sql: SqlReader, stated: readonly Stated[]): Steps<Set<number>> {
  const times = stated.map(({ retain_until }) => retain_until);
  const places = stated.map(({ place }) => place);
  const rows = yield* sql.all(STATED, times, places);
  return new Set(rows.map(({ place }) => place));
}

const STATED = statement('inspect_stated', part(RETENTIONS, 'place'))`
  SELECT r.place FROM ${pairsOf('timestamptz', 'bigint')} p
  CROSS JOIN retentions r WHERE r.retain_until = p.one AND r.place = p.other`;

const COUNTED: Shape<{ readonly buckets: number; readonly retentions: number }> = {
  fields: { buckets: 'integer', retentions: 'integer' },
};
const COUNTS = statement('inspect_counts', COUNTED)`
  SELECT (SELECT count(*) FROM buckets) AS buckets, (SELECT count(*) FROM retentions) AS retentions`;

/** A stored block that has ended, and what the entries say of it. */
interface DueBlock {
  readonly head: BlockHead;
  readonly block: Block;
  /** The latest time in the log up to its end. */
  readonly latest: number;
}

/** Grows the trees again from the hashes in the segments. */
function createTileCheck() {
  const due = new Map<number, Buffer>();
  let head: TreeHead = { first: 0, size: 0, peaks: [] };
  return {
    see(segment: Segment): void {
      const first = firstPlaceOf(segment.first);
      if (first !== head.first) head = { first, size: 0, peaks: [] };
      const count = Math.floor(segment.hashes.length / 32);
      const leaves = Array.from({ length: count }, (_, index) => hashAt(segment, index));
      const grown = growTiles(head, leaves);
      head = grown.head;
      for (const tile of grown.tiles) {
        const id = tileNumber(tile);
        due.set(id, Buffer.concat([due.get(id) ?? Buffer.alloc(0), tile.hashes]));
      }
    },
    /** One sentence for each fault of the stored tiles. */
    faults(tiles: readonly StoredTile[]): string[] {
      let wrong = 0;
      for (const { id, hashes } of tiles) {
        if (!due.get(id)?.equals(hashes)) wrong += 1;
        due.delete(id);
      }
      return [
        ...(due.size > 0 ? [`tiles of the tree are missing: ${due.size}`] : []),
        ...(wrong > 0 ? [`tiles of the tree do not agree with the entries: ${wrong}`] : []),
      ];
    },
  };
}

/** The entries that the checks below see. `undefined` for a damaged segment, which the reader of the entries reports. */
function entriesToCheck(segment: Segment): readonly StoredEntry[] | undefined {
  try {
    return entriesOf(segment);
  } catch {
    return undefined;
  }
}

/** Reads again when each entry is to be erased. Asks for one row of `retentions` after the other, and keeps none. */
function createRetentionCheck() {
  let due = 0;
  let missing = 0;
  let first: number | undefined;
  let isWhole = true;
  return {
    /** The rows that the entries of a segment must have. */
    see(entries: readonly StoredEntry[] | undefined): Stated[] {
      const stated = entries?.flatMap(({ sequence: place, leaf, retain_until }) => {
        return leaf && retain_until ? [{ place, retain_until }] : [];
      });
      if (stated?.every(({ retain_until }) => !Number.isNaN(retain_until.getTime()))) return stated;
      // Of a segment with a damaged entry it cannot be said which rows belong to it.
      isWhole = false;
      return [];
    },
    /** `found` are the places of those rows that the store has. */
    compare(stated: readonly Stated[], found: ReadonlySet<number>): void {
      const lacking = stated.filter(({ place }) => !found.has(place));
      due += stated.length;
      missing += lacking.length;
      first ??= lacking[0]?.place;
    },
    /** One sentence for each fault. `stored` is the number of all rows. */
    faults(stored: number): string[] {
      const surplus = stored - (due - missing);
      return [
        ...(missing > 0
          ? [`entries whose time of erasure is missing or wrong: ${missing}, the first is ${first}`]
          : []),
        ...(surplus > 0 && isWhole ? [`times of erasure that no entry states: ${surplus}`] : []),
      ];
    },
  };
}

/**
 * Indexes the entries again, block by block. `heads` are all blocks, in order of their places. Less than
 * `tailMax` entries at the end of the last log may be without a block.
 */
function createBlockCheck(heads: readonly BlockHead[], tailMax: number) {
  const wrong: number[] = [];
  const gaps = createGapCheck(tailMax);
  let buckets = 0;
  let at = 0;
  let columns = createColumns();
  let end = 0;
  let latest = Number.MIN_SAFE_INTEGER;
  let isSkipped = false;

  /** The blocks that end at or below this place. */
  function reached(place: number): DueBlock[] {
    end = place;
    const due: DueBlock[] = [];
    for (let head = heads[at]; head && place >= head.first + head.count; head = heads[++at]) {
      buckets += head.buckets.reduce((sum, count) => sum + count, 0);
      if (!isSkipped) {
        const block = blockOf(columns);
        latest = Math.max(latest, block.newest);
        due.push({ head, block, latest });
      }
      columns = createColumns();
      isSkipped = false;
    }
    return due;
  }

  function see(entry: StoredEntry): DueBlock[] {
    const ended = reached(entry.sequence);
    const head = heads[at];
    const isIndexed = head !== undefined && entry.sequence >= head.first;
    gaps.see(entry.sequence, isIndexed);
    if (isIndexed) addTo(columns, entry);
    return [...ended, ...reached(entry.sequence + 1)];
  }

  return {
    /** Each block that ends is to be compared with its buckets. */
    see(segment: Segment, entries: readonly StoredEntry[] | undefined): DueBlock[] {
      if (entries) return entries.flatMap(see);
      // The blocks over a damaged segment cannot be compared.
      isSkipped = true;
      return reached(segmentEnd(segment));
    },
    /** `buckets` are those of the block, by their numbers. */
    compare(due: DueBlock, buckets: ReadonlyMap<number, Uint8Array>): void {
      if (!isSame(due, buckets)) wrong.push(due.head.first);
    },
    /** One sentence for each fault. `stored` is the number of all buckets. */
    faults(stored: number): string[] {
      const faults = gaps.faults();
      if (wrong.length > 0) {
        const which = `${wrong.length}, the first at ${wrong[0]}`;
        faults.push(`index blocks do not agree with the entries: ${which}`);
      }
      if (at < heads.length) {
        faults.push(`index blocks end beyond the log, which ends at ${end}`);
      }
      // Of a wrong block buckets may be missing, and of a block beyond the log all are left over.
      if (faults.length === 0 && stored > buckets) {
        faults.push(`buckets of the index belong to no block: ${stored - buckets}`);
      }
      return faults;
    },
  };
}

/** Finds places without a block. Only the last entries of the last log have none, less than `tailMax`. */
function createGapCheck(tailMax: number) {
  const gaps: number[] = [];
  let first: number | undefined;
  let count = 0;
  return {
    see(place: number, isIndexed: boolean): void {
      const isOtherLog = first !== undefined && firstPlaceOf(place) !== firstPlaceOf(first);
      if (first !== undefined && (isIndexed || isOtherLog)) {
        gaps.push(first);
        first = undefined;
        count = 0;
      }
      if (isIndexed) return;
      first ??= place;
      count += 1;
    },
    faults(): string[] {
      const all = first !== undefined && count >= tailMax ? [...gaps, first] : gaps;
      return all.length > 0 ? [`entries that no index block has: the first is ${all[0]}`] : [];
    },
  };
}

function isSame(
  { head, block, latest }: DueBlock,
  stored: ReadonlyMap<number, Uint8Array>,
): boolean {
  if (head.count !== block.count || head.newest !== block.newest || head.latest < latest) {
    return false;
  }
  return block.postings.every((postings, field) => {
    const buckets = bucketsOf(postings, head.buckets[field]);
    return buckets.every((data, bucket) => {
      const found = stored.get(bucketNumber({ first: head.first, field, bucket }));
      return found !== undefined && Buffer.from(data).equals(found);
    });
  });
}
