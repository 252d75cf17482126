/**
 * Moves the write-ahead log into the file and empties it, so that the file alone is the store.
 *
 * @module
 */

import { StoreUnavailable } from '../../port/store.ts';
import { BUSY_TIMEOUT_MS, type Connection, failureOf } from '../connection.ts';

/**
 * Waits at most `patienceMs` for other readers. False when that was not enough, or the disk failed: committed
 * data then stays in the log and is read from there.
 */
export function foldLog(connection: Connection, patienceMs: number): boolean {
  try {
    connection.run(`PRAGMA busy_timeout = ${patienceMs}`);
    const row = connection.get<{ busy: bigint }>('PRAGMA wal_checkpoint(TRUNCATE)');
    connection.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    return row?.busy === 0n;
  } catch (error) {
    if (!(failureOf(error) instanceof StoreUnavailable)) throw error;
    return false;
  }
}
