/**
 * Moves the write-ahead log into the file.
 *
 * Never waits for readers: a checkpoint that waits holds the write lock, and every writer of the file waits with it.
 *
 * @module
 */

import { StoreUnavailable } from '../../port/store.ts';
import { BUSY_TIMEOUT_MS, type Connection, failureOf } from '../connection.ts';

/** Others write while pages are moved, so there are more to move: fewer each time. */
const ROUNDS_MAX = 3;

/** Pages that another process moves with its next commit in about a millisecond. */
const PAGES_FEW = 256n;

/** Moves what readers allow, while others write. */
export function moveLog(connection: Connection): void {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const pages = checkpoint(connection, 'PASSIVE');
    if (pages?.busy !== 0n || pages.log - pages.checkpointed <= PAGES_FEW) return;
  }
}

/**
 * Moves all and empties the log, so that the file alone is the store. False when another connection reads or writes, or
 * the disk failed: committed data then stays in the log and is read from there.
 */
export function foldLog(connection: Connection): boolean {
  moveLog(connection);
  return checkpoint(connection, 'TRUNCATE')?.busy === 0n;
}

interface Pages {
  readonly busy: bigint;
  readonly log: bigint;
  readonly checkpointed: bigint;
}

/** Undefined when the disk failed. */
function checkpoint(connection: Connection, mode: 'PASSIVE' | 'TRUNCATE'): Pages | undefined {
  try {
    connection.run('PRAGMA busy_timeout = 0');
    try {
      return connection.get<Pages>(`PRAGMA wal_checkpoint(${mode})`);
    } finally {
      connection.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    }
  } catch (error) {
    if (!(failureOf(error) instanceof StoreUnavailable)) throw error;
    return undefined;
  }
}
