/**
 * Gives queued entries their contiguous places in the log and grows the tree over them.
 *
 * Every process tries: it reads the head and a batch of the queue without a lock, computes the tree, and places
 * the batch in one statement if the head is still the one that it read. One commit removes the batch from the
 * queue, adds it to the log and the tree, and moves the head, so after a crash the batch is still queued. Rows
 * leave the queue only this way: a row that commits late with a low id is taken by the next pass and never
 * skipped. A process that finds another head has lost to one that made progress.
 *
 * @module
 */

import { firstPlaceOf, leafIndexOf } from '../../../domain/log/origin.ts';
import { sha256 } from '../../../domain/wire/hash.ts';
import type { Platform, Timer } from '../../../platform.ts';
import type { Steps } from '../../../steps.ts';
import { BLOCK_ENTRIES } from '../../log/blocks.ts';
import { tileNumber } from '../../log/numbers.ts';
import { beginTree } from '../../log/placed.ts';
import { hashAt, refuseUnstorable } from '../../log/segment.ts';
import { growTiles } from '../../log/tiles.ts';
import { insertEntries, treeHead, writeHead } from '../../log/tree.ts';
import type { LogStore, TreeHead } from '../../port/store.ts';
import type { SqlRows } from '../../sql/sql.ts';
import { statement } from '../../sql/statement.ts';
import { createBatcher } from '../batch.ts';
import { resolved } from '../calls/resolve.ts';
import type { Database, Statement } from '../connection.ts';
import { isStoreFailure } from '../failure.ts';
import type { PostgresSettings } from '../options.ts';
import { integers } from '../rows.ts';
import { createBacklog, type Rest } from './backlog.ts';

/**
 * In bytes of leaves and personal fields. The server cuts entries out of a segment, so larger ones than SQLite
 * has cost little, and fewer rows save work.
 */
export const PLACED_BYTES_MAX = 32_768;

/**
 * Entries in one commit, and one row of the queue more. Larger batches are hardly faster, and hold the lock
 * longer.
 */
const BATCH_MAX = 1_000;

/**
 * After our own write: long enough to collect more, because a pass costs as much as dozens of its entries; short
 * enough to go unnoticed. A reader that needs the places does not wait for it.
 */
const SOON_MS = 50;

export interface Sequencer extends Pick<LogStore, 'sequence' | 'backlog'> {
  /** Reports that entries of this process have become durable. */
  wrote(count: number): void;
  stop(): Promise<void>;
}

/** `onBlock` runs when entries got their places that complete an index block. */
export function startSequencer(
  database: Database,
  settings: PostgresSettings,
  onBlock: () => void,
): Sequencer {
  const { platform } = settings;
  const backlog = createBacklog(platform.monotonic);
  let soon: Timer | undefined;
  let tending: Promise<void> | undefined;

  async function pass(place: Statement): Promise<Pass> {
    const look = backlog.look();
    const result = await placeBatch(database, place);
    look.done(result.rest);
    if (result.isBlock) onBlock();
    return result;
  }

  async function drain(): Promise<TreeHead> {
    // After a lost answer the next pass takes what is left, or finds nothing.
    const attempt = () => pass(PLACE);
    let target: bigint | undefined;
    for (;;) {
      const result = await resolved(platform, settings.resolveTimeoutMs, attempt, attempt);
      target ??= result.newestId;
      const { isFull, lastId, head } = result;
      if (head && (!isFull || lastId >= target)) return head;
    }
  }

  async function tend(): Promise<void> {
    try {
      let isFull = true;
      while (isFull) ({ isFull } = await pass(TRY_PLACE));
    } catch (error) {
      // The queue keeps its rows, and the next interval tries again; the backlog shows a lasting failure.
      if (!isStoreFailure(error)) settings.onWarning(`Cannot place entries: ${String(error)}`);
    } finally {
      tending = undefined;
    }
  }

  function tendNow(): void {
    platform.cancel(soon);
    soon = undefined;
    tending ??= tend();
  }

  const interval = platform.every(settings.sequenceIntervalMs, tendNow);
  interval.unref();

  return {
    sequence: shared(platform, drain),
    backlog: backlog.state,
    wrote(count) {
      if (count === 0) return;
      backlog.add(count);
      if (soon) return;
      soon = platform.after(SOON_MS, tendNow);
      soon.unref();
    },
    async stop() {
      platform.cancel(interval);
      platform.cancel(soon);
      await tending;
      await tend();
    },
  };
}

/** Callers that ask during a run share the next one, so that their result is not older than their request. */
function shared<Result>(platform: Platform, run: () => Promise<Result>): () => Promise<Result> {
  const join = createBatcher<undefined, Result>(
    platform,
    { sizeMax: Number.POSITIVE_INFINITY, tripsMax: 1 },
    async (requests) => {
      const result = await run();
      return requests.map(() => result);
    },
  );
  return () => join(undefined);
}

const NONE: Rest = { waiting: 0, ageMs: 0 };

interface Pass {
  /** Undefined when another process places entries. */
  readonly head?: TreeHead;
  readonly isFull: boolean;
  readonly lastId: bigint;
  /** The last row that waited when the pass began. */
  readonly newestId: bigint;
  readonly rest: Rest;
  /** Whether an index block can be made of the entries. */
  readonly isBlock: boolean;
}

async function placeBatch(database: Database, place: Statement): Promise<Pass> {
  const [row] = await database.read<NextRow>(PICK, [BATCH_MAX]);
  if (row === undefined) throw new Error('Cannot read the tree: it has no head');
  const { ids, newest: newestId, peaks } = row;
  const next = Number(row.size);
  const before = { first: firstPlaceOf(next), size: leafIndexOf(next), peaks };
  const last = ids?.at(-1);
  if (last === undefined || newestId === null) {
    return { head: before, isFull: false, lastId: 0n, newestId: 0n, rest: NONE, isBlock: false };
  }

  const head = await grow(database, place, before, row as QueuedRows);
  const size = head?.size ?? before.size;
  const isFull =
    size - before.size >= BATCH_MAX || (head !== undefined && ids?.length === BATCH_MAX);
  return {
    ...(head && { head }),
    isFull,
    lastId: BigInt(last),
    newestId,
    rest: isFull || !head ? await restOf(database) : NONE,
    isBlock: blocksIn(size) > blocksIn(before.size),
  };
}

function blocksIn(size: number): number {
  return Math.floor(size / BLOCK_ENTRIES);
}

/**
 * Moves rows of the queue into segments inside the database; their bytes do not come here. Undefined when the
 * head is no longer the one that was read.
 */
async function grow(
  database: Database,
  place: Statement,
  ...[head, queued]: [head: TreeHead, queued: QueuedRows]
): Promise<TreeHead | undefined> {
  const next = head.first + head.size;
  const { firsts, stated, count } = placesOf(next, queued);
  const leaves = Array.from({ length: count }, (_, index) => hashAt(queued, index));
  const grown = growTiles(head, leaves);
  const { first, size, peaks } = grown.head;
  const placed = await database.write(place, [
    queued.ids,
    integers(firsts),
    grown.tiles.map(tileNumber),
    grown.tiles.map(({ hashes }) => hashes),
    stated.map(({ until }) => until),
    stated.map(({ place }) => place),
    first + size,
    [...peaks],
    next,
    count,
    [...head.peaks],
    sha256(queued.hashes),
  ]);
  return placed.length > 0 ? grown.head : undefined;
}

/** Consecutive rows share a segment up to its usual size. */
function placesOf(first: number, { counts, bytes, retained }: QueuedRows) {
  const stated: { until: Date; place: number }[] = [];
  const firsts: number[] = [];
  let [next, segment, filled] = [first, first, 0];
  for (const [row, count] of counts.entries()) {
    const added = bytes[row] as number;
    if (filled > 0 && filled + added > PLACED_BYTES_MAX) [segment, filled] = [next, 0];
    filled += added;
    firsts.push(segment);
    for (const [index, until] of (retained?.[row] ?? []).entries()) {
      if (until) stated.push({ until: new Date(until), place: next + index });
    }
    next += count;
  }
  return { firsts, stated, count: next - first };
}

/**
 * Begins the next log in its own transaction, with this entry in its first place. Entries queued meanwhile
 * follow it. False when the log differs from the one that was read, or entries wait.
 */
export function* beginOrigin(
  sql: SqlRows,
  [from, logId, entry, signed = 0]: Parameters<LogStore['beginOrigin']>,
): Steps<boolean> {
  refuseUnstorable(entry);
  yield* sql.lock(HOLD_HEAD);
  const head = yield* treeHead(sql);
  const isWaiting = (yield* sql.one(WAITING)) !== undefined;
  if (head.first !== from.first || head.size !== from.size || isWaiting) return false;
  const tree = yield* beginTree(sql, head, logId, signed);
  yield* writeHead(sql, yield* insertEntries(sql, tree, [entry]));
  return true;
}

async function restOf(database: Database): Promise<Rest> {
  const [row] = await database.read<{ waiting: bigint; age_ms: number | null }>(REST);
  return { waiting: Number(row?.waiting), ageMs: row?.age_ms ?? 0 };
}

/** Rows of the queue in their order, column by column. */
interface QueuedRows {
  /** The driver leaves long integers in an array as text. */
  readonly ids: readonly string[];
  readonly counts: readonly number[];
  /** Of all rows, one after the other. */
  readonly hashes: Uint8Array;
  /** Of the leaves and the personal fields. */
  readonly bytes: readonly number[];
  /** The times of each row; null where no entry states a retention. */
  readonly retained: readonly (readonly (string | null)[] | null)[] | null;
}

type NextRow = {
  /** The place of the next entry. */
  readonly size: bigint;
  readonly peaks: Uint8Array[];
  readonly newest: bigint | null;
} & {
  readonly [Column in keyof QueuedRows]: QueuedRows[Column] | null;
};

const HOLD_HEAD = { name: 'sequencer_lock', text: 'SELECT FROM head FOR UPDATE' };

const WAITING = statement('sequencer_waiting')`SELECT FROM queue LIMIT 1`;

/** From one snapshot: what waits is not below the head, and when nothing waits the head covers everything. */
export const PICK: Statement = {
  name: 'sequencer_pick',
  text: `SELECT h.size, h.peaks, (SELECT max(id) FROM queue) AS newest, q.*
    FROM head h CROSS JOIN (
      SELECT array_agg(id ORDER BY id) AS ids, array_agg(count ORDER BY id) AS counts,
        string_agg(hashes, ''::bytea ORDER BY id) AS hashes, array_agg(bytes ORDER BY id) AS bytes,
        CASE WHEN count(retained) > 0 THEN jsonb_agg(retained ORDER BY id) END AS retained
      FROM (
        SELECT w.*, length(w.leaves) + length(w.personal) AS bytes,
          sum(w.count) OVER (ORDER BY w.id) - w.count AS before
        FROM (SELECT * FROM queue ORDER BY id LIMIT $1) w
      ) next WHERE before < $1
    ) q`,
};

const inOrder = (column: string) => `string_agg(${column}, ''::bytea ORDER BY id)`;

/**
 * Places the rows if the head is still the one that was read. Then they are all in the queue, as they were. The
 * address may lead to another copy of the database meanwhile, which can have another tree of this size, and other rows
 * under the same ids: where a row is gone or anything differs, the size is null, which the table refuses.
 */
function placeText(wait: string): string {
  return `WITH held AS MATERIALIZED (
      SELECT size, peaks FROM head WHERE size = $9 ${wait}
    ), moved AS (
      DELETE FROM queue USING held, unnest($1::bigint[], $2::bigint[]) AS picked (picked_id, first)
      WHERE id = picked_id RETURNING first, id, count, hashes, leaves, personal
    ), placed AS (
      INSERT INTO segments (first, count, hashes, leaves, personal)
      SELECT first, sum(count), ${['hashes', 'leaves', 'personal'].map(inOrder).join(', ')}
      FROM moved GROUP BY first ORDER BY first
    ), grown AS (
      INSERT INTO tiles (id, hashes) SELECT grown.*
      FROM held, unnest($3::bigint[], $4::bytea[]) AS grown
      ON CONFLICT (id) DO UPDATE SET hashes = tiles.hashes || EXCLUDED.hashes
    ), stated AS (
      INSERT INTO retentions (retain_until, place)
      SELECT stated.* FROM held, unnest($5::timestamptz[], $6::bigint[]) AS stated
    )
    UPDATE head SET peaks = $8, size = (SELECT $7::bigint FROM moved
      HAVING sum(count) = $10::bigint AND sha256(${inOrder('hashes')}) = $12::bytea
        AND held.peaks = $11::bytea[])
    FROM held RETURNING 1`;
}

export const PLACE: Statement = { name: 'sequencer_place', text: placeText('FOR UPDATE') };

/** Leaves the work to a process that has begun it. */
const TRY_PLACE: Statement = {
  name: 'sequencer_try_place',
  text: placeText('FOR UPDATE SKIP LOCKED'),
};

/** Counts rows up to more than the number of entries at which work is refused. */
const REST: Statement = {
  name: 'sequencer_rest',
  text: `SELECT (SELECT coalesce(sum(count), 0)::bigint FROM (SELECT count FROM queue LIMIT 10000) AS first)
      AS waiting,
    (SELECT extract(epoch FROM clock_timestamp() - queued_at)::float8 * 1000
      FROM queue ORDER BY id LIMIT 1) AS age_ms`,
};
