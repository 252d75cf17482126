/**
 * Reads the log: entries and leaves.
 *
 * Only entries with a place can be read, so a query first waits until everything acknowledged has one, unless
 * it asks only for earlier places. A search reads in one snapshot, because blocks are merged meanwhile.
 *
 * @module
 */

import type { Steps } from '../../../steps.ts';
import { BLOCK_ENTRIES } from '../../log/blocks.ts';
import { erase } from '../../log/erase.ts';
import * as search from '../../log/search.ts';
import { nodes } from '../../log/tree.ts';
import type { LogStore } from '../../port/store.ts';
import type { SqlReader } from '../../sql/sql.ts';
import type { Database } from '../connection.ts';
import { logStory, rowsStory, snapshotStory } from '../sql.ts';
import type { RecentEntries } from './recent.ts';
import { beginOrigin, type Sequencer } from './sequencer.ts';
import type { Upkeep } from './upkeep.ts';

type Log = Pick<
  LogStore,
  'queryEntries' | 'scanEntries' | 'findLeaf' | 'nodes' | 'erase' | 'beginOrigin' | 'sequence'
>;

/** Entries that no block has, above which a search calls for upkeep. */
const UNINDEXED_MAX = 2 * BLOCK_ENTRIES;

export interface LogParts {
  readonly sequencer: Sequencer;
  readonly sight: search.LogSight;
  readonly upkeep: Upkeep;
  readonly recent: RecentEntries;
}

export function createLog(database: Database, { sequencer, sight, upkeep }: LogParts): Log {
  const { sequence } = sequencer;
  let placed = 0;
  async function searched<Result>(story: (sql: SqlReader) => Steps<Result>): Promise<Result> {
    const result = await snapshotStory(database, story);
    if (sight.unindexed > UNINDEXED_MAX || sight.damaged.size > 0) upkeep.nudge();
    return result;
  }
  return {
    sequence,

    async queryEntries(query) {
      const { before = Number.POSITIVE_INFINITY } = query;
      if (before > placed) {
        const { first, size } = await sequence();
        placed = first + size;
      }
      return searched((sql) => search.queryEntries(sql, sight, query));
    },

    async scanEntries(from, limit) {
      await sequence();
      return logStory(database, (sql) => search.scanEntries(sql, from, limit));
    },

    async findLeaf(by) {
      await sequence();
      return searched((sql) => search.findLeaf(sql, sight, by));
    },

    nodes: (ids) => logStory(database, (sql) => nodes(sql, ids)),

    async erase(policy) {
      const reached = await rowsStory(database, (sql) => erase(sql, policy));
      if (reached > 0) search.forgetKept(sight);
      return reached;
    },

    async beginOrigin(...next) {
      await sequence();
      return rowsStory(database, (sql) => beginOrigin(sql, next));
    },
  };
}
