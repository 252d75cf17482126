/**
 * Upkeep of the index: merges small blocks, and makes damaged ones again, between the commits of calls.
 *
 * Each piece of work is one transition of the group commit. A failure ends the turn of work; the next block begins
 * another. Until then queries read smaller blocks, or the entries.
 *
 * @module
 */

import type { Timer } from '../../../platform.ts';
import { tendIndex } from '../../log/block-index.ts';
import { treeHead } from '../../log/tree.ts';
import type { Connection } from '../connection.ts';
import type { GroupCommit } from '../group-commit.ts';
import { atOnce, rowsOn } from '../sql.ts';

/** In milliseconds: calls that wait go first. */
const PAUSE_MS = 10;

export interface Upkeep {
  /** Looks for work soon. */
  nudge(): void;
  stop(): void;
}

export function createUpkeep(
  connection: Connection,
  commits: Pick<GroupCommit, 'submit'>,
  damaged: Set<number>,
): Upkeep {
  const { platform } = connection;
  const sql = rowsOn(connection);
  let timer: Timer | undefined;
  let isStopped = false;

  const run = async () => {
    timer = undefined;
    const [place] = damaged;
    if (place !== undefined) damaged.delete(place);
    const work = () => atOnce(tendIndex(sql, atOnce(treeHead(sql)), { damaged: place }));
    try {
      if (await commits.submit(work)) nudge();
    } catch {
      // The store is closed or away.
    }
  };
  function nudge(): void {
    if (timer || isStopped) return;
    timer = platform.after(PAUSE_MS, () => void run());
    timer.unref();
  }

  return {
    nudge,
    stop() {
      isStopped = true;
      platform.cancel(timer);
    },
  };
}
