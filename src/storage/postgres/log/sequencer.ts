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

import { appendLeaves } from '../../../domain/log/merkle.ts';
import { firstPlaceOf, leafIndexOf, nextPlaceAfter, nodeFrom } from '../../../domain/log/origin.ts';
import { equalBytes } from '../../../domain/wire/hash.ts';
import type { Platform, Timer } from '../../../platform.ts';
import type { LogStore, TreeHead } from '../../port/store.ts';
import { createBatcher } from '../batch.ts';
import { resolved } from '../calls/resolve.ts';
import type { Database, Session, Statement } from '../connection.ts';
import { isStoreFailure } from '../failure.ts';
import type { PostgresSettings } from '../options.ts';
import { ENTRY_COLUMNS } from '../schema/log.ts';
import { createBacklog, type Rest } from './backlog.ts';
import { enqueueFrom, entryValues } from './entries.ts';

/** Entries in one commit. Larger batches are hardly faster, and hold the lock longer. */
const BATCH_MAX = 1_000;

/** After our own write: long enough to collect more, short enough to go unnoticed. */
const SOON_MS = 20;

export interface Sequencer extends Pick<LogStore, 'sequence' | 'backlog'> {
  /** Reports that entries of this process have become durable. */
  wrote(count: number): void;
  stop(): Promise<void>;
}

export function startSequencer(database: Database, settings: PostgresSettings): Sequencer {
  const { platform } = settings;
  const backlog = createBacklog(platform.monotonic);
  let soon: Timer | undefined;
  let tending: Promise<void> | undefined;

  async function pass(lock: Statement): Promise<Pass> {
    const look = backlog.look();
    const result = await database.transaction((session) => placeBatch(session, lock));
    for (const id of result.conflicts) {
      settings.onWarning(`Entry "${id}" was queued twice with different contents`);
    }
    look.done(result.rest);
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
  readonly conflicts: readonly string[];
}

async function placeBatch(session: Session, lock: Statement): Promise<Pass> {
  const [row] = await session.run<HeadRow>(lock);
  if (row === undefined) {
    return { isFull: false, lastId: 0n, rest: await restOf(session), conflicts: [] };
  }
  const queued = await session.run<QueuedRow>(PICK, [BATCH_MAX]);
  const last = queued.at(-1);
  if (last === undefined) {
    return { head: headOf(row), isFull: false, lastId: 0n, rest: NONE, conflicts: [] };
  }

  const isFull = queued.length === BATCH_MAX;
  const head = await grow(session, headOf(row), queued);
  const conflicts = queued.filter(({ leaf_hash, placed_hash }) => {
    return placed_hash !== null && !equalBytes(leaf_hash, placed_hash);
  });
  return {
    head,
    isFull,
    lastId: last.id,
    rest: isFull ? await restOf(session) : NONE,
    conflicts: conflicts.map(({ entry_id }) => entry_id),
  };
}

/** Entries that already have a place were queued again after a lost answer; they only leave the queue. */
async function grow(
  session: Session,
  head: TreeHead,
  queued: readonly QueuedRow[],
): Promise<TreeHead> {
  const fresh = queued.filter(({ placed_hash }) => placed_hash === null);
  const repeated = queued.filter(({ placed_hash }) => placed_hash !== null);
  const hashes = fresh.map(({ leaf_hash }) => leaf_hash);
  const { first } = head;
  const { size, peaks, nodes: grown } = appendLeaves(head.size, head.peaks, hashes);
  const nodes = grown.map((node) => nodeFrom(first, node));
  const [moved] = await session.run<{ count: bigint }>(PLACE, [
    fresh.map(({ id }) => id),
    repeated.map(({ id }) => id),
    first + head.size,
    nodes.map(({ level }) => level),
    nodes.map(({ index }) => index),
    grown.map(({ hash }) => hash),
    first + size,
    peaks,
  ]);
  if (Number(moved?.count) !== fresh.length) {
    throw new Error(`Cannot place ${fresh.length} entries: the queue held ${moved?.count} of them`);
  }
  return { first, size, peaks };
}

/**
 * Begins the next log in its own transaction, with this entry in its first place. Entries queued meanwhile
 * follow it. False when the log differs from the one that was read, or entries wait.
 */
export async function beginOrigin(
  session: Session,
  [from, logId, entry, signed = 0]: Parameters<LogStore['beginOrigin']>,
): Promise<boolean> {
  const [row] = await session.run<HeadRow>(LOCK);
  const head = headOf(row as HeadRow);
  const [{ target = null } = {}] = await session.run<{ target?: bigint | null }>(TARGET);
  if (head.first !== from.first || head.size !== from.size || target !== null) return false;

  const first = nextPlaceAfter(head.first, signed);
  await session.run(ORIGIN, [first, logId]);
  const [queued] = await session.run<{ id: bigint }>(ENQUEUE_FIRST, entryValues(entry));
  const { entry_id, leaf_hash } = entry;
  const one = { id: (queued as { id: bigint }).id, entry_id, leaf_hash, placed_hash: null };
  await grow(session, { first, size: 0, peaks: [] }, [one]);
  return true;
}

async function restOf(session: Session): Promise<Rest> {
  const [row] = await session.run<{ waiting: bigint; age_ms: number | null }>(REST);
  return { waiting: Number(row?.waiting), ageMs: row?.age_ms ?? 0 };
}

export interface HeadRow {
  /** The place of the next entry. */
  readonly size: bigint;
  readonly peaks: Uint8Array[];
}

interface QueuedRow {
  readonly id: bigint;
  readonly entry_id: string;
  readonly leaf_hash: Uint8Array;
  readonly placed_hash: Uint8Array | null;
}

export function headOf({ size, peaks }: HeadRow): TreeHead {
  const next = Number(size);
  return { first: firstPlaceOf(next), size: leafIndexOf(next), peaks };
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
const PICK: Statement = {
  name: 'sequencer_pick',
  text: `SELECT q.id, q.entry_id, q.leaf_hash,
      (SELECT l.leaf_hash FROM log l WHERE l.entry_id = q.entry_id) AS placed_hash
    FROM queue q ORDER BY q.id LIMIT $1`,
};

const NAMES = ENTRY_COLUMNS.join(', ');

const PLACE: Statement = {
  name: 'sequencer_place',
  text: `WITH moved AS (
      DELETE FROM queue USING unnest($1::bigint[]) WITH ORDINALITY AS picked (picked_id, place)
      WHERE id = picked_id RETURNING place, ${NAMES}
    ), repeated AS (
      DELETE FROM queue WHERE id = ANY ($2::bigint[])
    ), placed AS (
      INSERT INTO log (sequence, latest, ${NAMES})
      SELECT $3::bigint + place - 1,
        greatest((SELECT latest FROM head), max(timestamp) OVER (ORDER BY place)), ${NAMES}
      FROM moved ORDER BY place
    ), grown AS (
      INSERT INTO nodes (level, index, hash)
      SELECT * FROM unnest($4::integer[], $5::bigint[], $6::bytea[])
    )
    UPDATE head SET size = $7, peaks = $8,
      latest = greatest(latest, (SELECT max(timestamp) FROM moved))
    RETURNING (SELECT count(*) FROM moved) AS count`,
};

const ORIGIN: Statement = {
  name: 'insert_origin',
  text: 'INSERT INTO origins (first, log_id) VALUES ($1, $2)',
};

const ENQUEUE_FIRST: Statement = {
  name: 'enqueue_first',
  text: `${enqueueFrom(1, '')} RETURNING id`,
};

/** Counts up to the number at which work is refused. */
const REST: Statement = {
  name: 'sequencer_rest',
  text: `SELECT (SELECT count(*) FROM (SELECT FROM queue LIMIT 10000) AS first) AS waiting,
    (SELECT extract(epoch FROM clock_timestamp() - queued_at)::float8 * 1000
      FROM queue ORDER BY id LIMIT 1) AS age_ms`,
};
