/**
 * What a process keeps of the log for searches: the entries that no block indexes yet.
 *
 * Each search reads in its snapshot where the blocks end, and reads only the entries that came since the last
 * one. Searches that run at once never share a list that changes.
 *
 * @module
 */

import type { StoredEntry } from '../../../domain/log/entry.ts';
import {
  addBlanks,
  BLOCK_ENTRIES,
  type BlockHead,
  type Columns,
  createColumns,
} from '../../log/blocks.ts';
import type { EntryName } from '../../log/query.ts';
import {
  type Answer,
  findInLog,
  indexedTo,
  type Read,
  type Search,
  type Tail,
  tailFrom,
} from '../../log/query.ts';
import type { Session, Statement } from '../connection.ts';
import { type BlockRow, blockHeadOf, readBuckets, readHeads } from './blocks.ts';
import { readColumns } from './columns.ts';
import { type HeadRow, headOf } from './placed.ts';
import { entrySegments, readPlaces } from './segments.ts';

export interface LogSight {
  /** Runs a search in the snapshot of the session. */
  search<Result>(session: Session, of: (tail: Tail) => Search<Result>): Promise<Result>;
  /** Forgets the kept entries: retention has erased some. */
  clear(): void;
  /** A place in each block that must be made again. */
  readonly damaged: Set<number>;
  /** The number of entries that no block had at the last search. */
  unindexed(): number;
}

export function createSight(): LogSight {
  const damaged = new Set<number>();
  let kept: Tail = { first: 0, columns: createColumns() };
  let unindexed = 0;
  let erasures = 0;

  async function currentTail(session: Session): Promise<Tail & { indexed: number }> {
    const begun = erasures;
    const [row] = await session.run<TailRow>(TAIL);
    if (row === undefined) throw new Error('Cannot read the tree: it has no head');
    const head = headOf(row);
    const end = head.first + head.size;
    const indexed = indexedTo(head, await lastHead(session, row));
    unindexed = end - indexed;
    const first = tailFrom(indexed, end);
    const known = partOf(kept, first, end);
    const from = first + known.times.length;
    const added = await readColumns(session, from, end);
    // Entries that a damaged log does not have.
    addBlanks(added, end - from);
    const columns = {
      times: [...known.times, ...added.times],
      keys: known.keys.map((keys, field) => [...keys, ...(added.keys[field] as number[])]),
    };
    // A search that began earlier may end later.
    if (begun === erasures && end >= endOf(kept)) kept = { first, columns };
    return { first, columns, indexed };
  }

  /** Not believed where it is damaged: it would hide entries. */
  async function lastHead(session: Session, row: TailRow): Promise<BlockHead | undefined> {
    if (row.first === null) return undefined;
    const head = blockHeadOf(row as BlockRow);
    if (head) return head;
    const [last] = await readHeads(
      session,
      { before: Number.POSITIVE_INFINITY, limit: 1 },
      damaged,
    );
    return last;
  }

  return {
    damaged,
    unindexed: () => unindexed,
    clear() {
      erasures += 1;
      kept = { first: 0, columns: createColumns() };
    },
    async search(session, of) {
      const tail = await currentTail(session);
      const search = of(tail);
      const missing = (place: number) => {
        // Upkeep has not reached later places yet.
        if (place < tail.indexed) damaged.add(place - (place % BLOCK_ENTRIES));
      };
      for (let step = search.next(); ; ) {
        if (step.done) return step.value;
        step = search.next(await answerTo(session, { damaged, missing }, step.value));
      }
    },
  };
}

/** The entry of this name, in the snapshot of the session. */
export function findEntry(
  session: Session,
  sight: LogSight,
  name: EntryName,
): Promise<StoredEntry | undefined> {
  return sight.search(session, (tail) => findInLog(name, tail));
}

function endOf({ first, columns }: Tail): number {
  return first + columns.times.length;
}

/** The kept entries from this place on, if there is none missing before them. */
function partOf(kept: Tail, first: number, end: number): Columns {
  if (kept.first > first || endOf(kept) < first) return createColumns();
  const [from, to] = [first - kept.first, end - kept.first];
  const { times, keys } = kept.columns;
  return { times: times.slice(from, to), keys: keys.map((column) => column.slice(from, to)) };
}

interface Found {
  readonly damaged: Set<number>;
  /** No block has this place. */
  missing(place: number): void;
}

async function answerTo(session: Session, found: Found, read: Read): Promise<Answer> {
  if (read.read === 'heads') return readHeads(session, read, found.damaged);
  if (read.read === 'buckets') return readBuckets(session, read.ids, found.damaged);
  if (read.read === 'places') {
    const places = await readPlaces(session, read);
    places.forEach(found.missing);
    return places;
  }
  return entrySegments(session, read.places);
}

type TailRow = HeadRow & (BlockRow | { readonly first: null });

/** The head, and the last block. */
export const TAIL: Statement = {
  name: 'log_tail',
  text: `SELECT h.size, h.peaks, b.first, b.count, b.newest, b.latest, b.buckets
    FROM head h LEFT JOIN LATERAL (SELECT * FROM blocks ORDER BY first DESC LIMIT 1) b ON true`,
};
