/**
 * Removes erased data from the bytes of the file.
 *
 * SQLite overwrites deleted data in its pages, but the write-ahead log still has the old pages. It is emptied
 * after the last erasure of a turn, or in a later turn when other connections read: waiting would block this
 * process.
 *
 * @module
 */

import { erase, type StoredAs } from '../../log/erase.ts';
import { forgetKept } from '../../log/search.ts';
import { padded } from '../../log/segment.ts';
import type { Erasure, Store } from '../../port/store.ts';
import type { Connection } from '../connection.ts';
import type { GroupCommit } from '../group-commit.ts';
import { atOnce, rowsOn } from '../sql.ts';
import { paddingOf } from './cells.ts';
import { foldLog } from './fold.ts';
import type { WriterSight } from './writer.ts';

export type Eraser = Pick<Store, 'erase' | 'forgetKeys'>;

export function createEraser(
  connection: Connection,
  commits: GroupCommit,
  { sight, forgetKeys }: Pick<Store, 'forgetKeys'> & { readonly sight: WriterSight },
): Eraser {
  const sql = rowsOn(connection);
  const page = connection.get<{ page_size: bigint }>('PRAGMA page_size');
  const storedAs: StoredAs = ({ before, after, place }) =>
    padded(after, place, paddingOf(before, after, Number(page?.page_size)));
  // The process before this one may have died before it emptied the log.
  let hasErased = true;

  const erased = async (policy: Erasure): Promise<number> => {
    try {
      return await commits.submit(() => {
        sight.isErasing = true;
        return atOnce(erase(sql, policy, storedAs));
      });
    } finally {
      sight.isErasing = false;
      forgetKept(sight);
    }
  };

  return {
    async erase(policy) {
      const reached = await erased(policy);
      hasErased ||= reached > 0;
      if (hasErased && reached < policy.limit) hasErased = !foldLog(connection);
      return reached;
    },
    async forgetKeys(now, limit) {
      const count = await forgetKeys(now, limit);
      hasErased ||= count > 0;
      return count;
    },
  };
}
