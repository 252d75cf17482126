/**
 * Upkeep of the index: makes blocks of new entries, merges small ones, makes damaged ones again, and deletes
 * batches whose outcome is known to all.
 *
 * Each piece of work is one transaction under the lock of the index. One process works at a time; another one
 * that finds the lock taken leaves the work to it. Until it is done, queries read smaller blocks, or the entries.
 *
 * @module
 */

import { run as runSteps } from '../../../steps.ts';
import { INDEX_LOCK, tendIndex } from '../../log/block-index.ts';
import { treeHead } from '../../log/tree.ts';
import type { Database, Session, Statement } from '../connection.ts';
import { isStoreFailure } from '../failure.ts';
import type { PostgresSettings } from '../options.ts';
import { rowsOn } from '../sql.ts';
import { recentColumns } from './columns.ts';
import type { RecentEntries } from './recent.ts';

/** In milliseconds, after a failure: a damaged segment must not keep the database busy. */
const PAUSE_MS = 10_000;

/** Batches that one transaction deletes. */
const HANDED_MAX = 1_000;

export interface Upkeep {
  /** Looks for work, unless it is being done. */
  nudge(): void;
  stop(): Promise<void>;
}

export interface UpkeepParts {
  /** A place in each block that must be made again. */
  readonly damaged: Set<number>;
  readonly recent: RecentEntries;
}

export function createUpkeep(
  database: Database,
  { platform, onWarning }: Pick<PostgresSettings, 'platform' | 'onWarning'>,
  parts: UpkeepParts,
): Upkeep {
  let running: Promise<void> | undefined;
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let isStopped = false;
  let isAsked = false;

  async function run(): Promise<void> {
    try {
      for (let isBusy = true; !isStopped && (isBusy || isAsked); ) {
        // What is asked for from now on may come too late for this piece of work.
        isAsked = false;
        isBusy = await database.transaction((session) => work(session, parts));
      }
    } catch (error) {
      pausedUntil = platform.monotonic() + PAUSE_MS;
      // The next block tries again. A store that is away is reported by its callers.
      if (!isStoreFailure(error)) onWarning(`Cannot index entries: ${String(error)}`);
    } finally {
      running = undefined;
    }
  }

  return {
    nudge() {
      isAsked = true;
      if (isStopped || running || platform.monotonic() < pausedUntil) return;
      running = run();
    },
    async stop() {
      isStopped = true;
      await running;
    },
  };
}

/** One piece of work. False when none is left, or another process does it. */
async function work(session: Session, { damaged, recent }: UpkeepParts): Promise<boolean> {
  const [lock] = await session.run<{ held: boolean }>(TRY_INDEX, [INDEX_LOCK]);
  if (!lock?.held) return false;
  // First, and committed alone: an index that cannot be made must not keep batches for ever.
  if ((await session.run(FORGET, [HANDED_MAX])).length > 0) return true;
  const sql = rowsOn(session);
  const head = await runSteps(treeHead(sql));
  const [place] = damaged;
  if (place !== undefined) damaged.delete(place);
  const columnsOf = (_: unknown, from: number, end: number) =>
    recentColumns(sql, recent, { from, end });
  return runSteps(tendIndex(sql, head, { damaged: place, columnsOf }));
}

const TRY_INDEX: Statement = {
  name: 'try_index',
  text: 'SELECT pg_try_advisory_xact_lock($1) AS held',
};

/** In the order of the batches, which is about the order of their times. */
const FORGET: Statement = {
  name: 'forget_handed',
  text: `DELETE FROM handed WHERE batch IN (SELECT batch FROM handed ORDER BY batch LIMIT $1)
      AND at < clock_timestamp() - interval '1 hour'
    RETURNING batch`,
};
