/**
 * Gives queued entries their contiguous places in the log and grows the tree over them.
 *
 * Every process tries, and the lock of the head row admits one at a time. One commit removes a batch from the
 * queue, adds it to the log and the tree, and moves the head, so after a crash the batch is still queued.
 * Rows leave the queue only this way: a row that commits late with a low id is taken by the next pass and
 * never skipped.
 *
 * @module
 */

import { nextPlaceAfter } from '../../../domain/log/origin.ts';
import type { Platform, Timer } from '../../../platform.ts';
import { BLOCK_ENTRIES } from '../../log/blocks.ts';
import { tileNumber } from '../../log/numbers.ts';
import { hashAt, refuseUnstorable } from '../../log/segment.ts';
import { growTiles } from '../../log/tiles.ts';
import type { LogStore, TreeHead } from '../../port/store.ts';
import { createBatcher } from '../batch.ts';
import { resolved } from '../calls/resolve.ts';
import type { Database, Session, Statement } from '../connection.ts';
import { isStoreFailure } from '../failure.ts';
import type { PostgresSettings } from '../options.ts';
import { createBacklog, type Rest } from './backlog.ts';
import { closeBlock, holdIndex } from './blocks.ts';
import {
  growTilesAt,
  type HeadRow,
  headOf,
  insertEntries,
  PLACED_BYTES_MAX,
  writeHead,
} from './placed.ts';

/**
 * Entries in one commit, and one row of the queue more. Larger batches are hardly faster, and hold the lock
 * longer.
 */
const BATCH_MAX = 1_000;

/** After our own write: long enough to collect more, short enough to go unnoticed. */
const SOON_MS = 20;

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

  async function pass(lock: Statement): Promise<Pass> {
    const look = backlog.look();
    const result = await database.transaction((session) => placeBatch(session, lock));
    look.done(result.rest);
    if (result.isBlock) onBlock();
    return result;
  }

  async function drain(): Promise<TreeHead> {
    const look = backlog.look();
    const [row] = await database.read<HeadRow & { target: bigint | null }>(TARGET);
    const head = row as HeadRow & { target: bigint | null };
    const { target } = head;
    if (target === null) {
      look.done(NONE);
      return headOf(head);
    }
    // After a lost answer the next pass takes what is left, or finds nothing.
    const attempt = () => pass(LOCK);
    for (;;) {
      const result = await resolved(platform, settings.resolveTimeoutMs, attempt, attempt);
      const { isFull, lastId, head: grown } = result;
      if (grown && (!isFull || lastId >= target)) return grown;
    }
  }

  async function tend(): Promise<void> {
    try {
      let isFull = true;
      while (isFull) ({ isFull } = await pass(TRY_LOCK));
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
  /** Undefined when another process holds the lock. */
  readonly head?: TreeHead;
  readonly isFull: boolean;
  readonly lastId: bigint;
  readonly rest: Rest;
  /** Whether an index block can be made of the entries. */
  readonly isBlock: boolean;
}

async function placeBatch(session: Session, lock: Statement): Promise<Pass> {
  const [row] = await session.run<HeadRow>(lock);
  if (row === undefined) {
    return { isFull: false, lastId: 0n, rest: await restOf(session), isBlock: false };
  }
  const before = headOf(row);
  const queued = await session.run<QueuedRow>(PICK, [BATCH_MAX]);
  const last = queued.at(-1);
  if (last === undefined) {
    return { head: before, isFull: false, lastId: 0n, rest: NONE, isBlock: false };
  }

  const head = await grow(session, before, queued);
  const isFull = head.size - before.size >= BATCH_MAX || queued.length === BATCH_MAX;
  return {
    head,
    isFull,
    lastId: last.id,
    rest: isFull ? await restOf(session) : NONE,
    isBlock: blocksIn(head) > blocksIn(before),
  };
}

function blocksIn({ size }: TreeHead): number {
  return Math.floor(size / BLOCK_ENTRIES);
}

/** Moves rows of the queue into segments inside the database; their bytes do not come here. */
async function grow(
  session: Session,
  head: TreeHead,
  queued: readonly QueuedRow[],
): Promise<TreeHead> {
  const { firsts, stated, count } = placesOf(head.first + head.size, queued);
  const leaves = queued.flatMap((row) => {
    return Array.from({ length: row.count }, (_, index) => hashAt(row, index));
  });
  const grown = growTiles(head, leaves);
  const { first, size, peaks } = grown.head;
  const [moved] = await session.run<{ count: bigint }>(PLACE, [
    queued.map(({ id }) => id),
    firsts,
    grown.tiles.map(tileNumber),
    grown.tiles.map(({ hashes }) => hashes),
    stated.map(({ until }) => until),
    stated.map(({ place }) => place),
    first + size,
    [...peaks],
  ]);
  if (Number(moved?.count) !== count) {
    throw new Error(`Cannot place ${count} entries: the queue held ${moved?.count} of them`);
  }
  return grown.head;
}

/** Consecutive rows share a segment up to its usual size. */
function placesOf(first: number, queued: readonly QueuedRow[]) {
  const stated: { until: Date; place: number }[] = [];
  const firsts: number[] = [];
  let [next, segment, bytes] = [first, first, 0];
  for (const row of queued) {
    if (bytes > 0 && bytes + row.bytes > PLACED_BYTES_MAX) [segment, bytes] = [next, 0];
    bytes += row.bytes;
    firsts.push(segment);
    for (const [index, until] of (row.retained ?? []).entries()) {
      if (until) stated.push({ until, place: next + index });
    }
    next += row.count;
  }
  return { firsts, stated, count: next - first };
}

/**
 * Begins the next log in its own transaction, with this entry in its first place. Entries queued meanwhile
 * follow it. False when the log differs from the one that was read, or entries wait.
 */
export async function beginOrigin(
  session: Session,
  [from, logId, entry, signed = 0]: Parameters<LogStore['beginOrigin']>,
): Promise<boolean> {
  refuseUnstorable(entry);
  const [row] = await session.run<HeadRow>(LOCK);
  const head = headOf(row as HeadRow);
  const [{ target = null } = {}] = await session.run<{ target?: bigint | null }>(TARGET);
  if (head.first !== from.first || head.size !== from.size || target !== null) return false;

  // No entry follows in the ended log, so its last block is not full.
  await holdIndex(session);
  await closeBlock(session, head);
  const first = nextPlaceAfter(head.first, signed);
  await session.run(ORIGIN, [first, logId]);
  await writeHead(session, await insertEntries(session, { first, size: 0, peaks: [] }, [entry]));
  return true;
}

async function restOf(session: Session): Promise<Rest> {
  const [row] = await session.run<{ waiting: bigint; age_ms: number | null }>(REST);
  return { waiting: Number(row?.waiting), ageMs: row?.age_ms ?? 0 };
}

interface QueuedRow {
  readonly id: bigint;
  readonly count: number;
  readonly hashes: Uint8Array;
  /** Of the leaves and the personal fields. */
  readonly bytes: number;
  readonly retained: (Date | null)[] | null;
}

const LOCK: Statement = {
  name: 'sequencer_lock',
  text: 'SELECT size, peaks FROM head FOR UPDATE',
};

const TRY_LOCK: Statement = {
  name: 'sequencer_try_lock',
  text: 'SELECT size, peaks FROM head FOR UPDATE SKIP LOCKED',
};

/** From one snapshot: when nothing waits, the head covers everything acknowledged. */
const TARGET: Statement = {
  name: 'sequencer_target',
  text: 'SELECT (SELECT max(id) FROM queue) AS target, size, peaks FROM head',
};

/** After the lock, in its own statement, so that it sees the result of the last sequencer. */
export const PICK: Statement = {
  name: 'sequencer_pick',
  text: `SELECT id, count, hashes, bytes, retained FROM (
      SELECT q.*, length(q.leaves) + length(q.personal) AS bytes,
        sum(q.count) OVER (ORDER BY q.id) - q.count AS before
      FROM (SELECT * FROM queue ORDER BY id LIMIT $1) q
    ) next WHERE before < $1 ORDER BY id`,
};

const inOrder = (column: string) => `string_agg(${column}, ''::bytea ORDER BY id)`;

export const PLACE: Statement = {
  name: 'sequencer_place',
  text: `WITH moved AS (
      DELETE FROM queue USING unnest($1::bigint[], $2::bigint[]) AS picked (picked_id, first)
      WHERE id = picked_id RETURNING first, id, count, hashes, leaves, personal
    ), placed AS (
      INSERT INTO segments (first, count, hashes, leaves, personal)
      SELECT first, sum(count), ${['hashes', 'leaves', 'personal'].map(inOrder).join(', ')}
      FROM moved GROUP BY first ORDER BY first
    ), grown AS (
      ${growTilesAt(3)}
    ), stated AS (
      INSERT INTO retentions (retain_until, place)
      SELECT * FROM unnest($5::timestamptz[], $6::bigint[])
    )
    UPDATE head SET size = $7, peaks = $8
    RETURNING (SELECT sum(count) FROM moved) AS count`,
};

const ORIGIN: Statement = {
  name: 'insert_origin',
  text: 'INSERT INTO origins (first, log_id) VALUES ($1, $2)',
};

/** Counts rows up to more than the number of entries at which work is refused. */
const REST: Statement = {
  name: 'sequencer_rest',
  text: `SELECT (SELECT coalesce(sum(count), 0)::bigint FROM (SELECT count FROM queue LIMIT 10000) AS first)
      AS waiting,
    (SELECT extract(epoch FROM clock_timestamp() - queued_at)::float8 * 1000
      FROM queue ORDER BY id LIMIT 1) AS age_ms`,
};
