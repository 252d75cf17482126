/**
 * Reads one state of a SQLite store, on a connection of its own.
 *
 * A read transaction sees one state while others write. Until it ends, SQLite cannot empty the write-ahead log,
 * so that the log grows by what is written meanwhile. The process that made it grow moves it into the file.
 *
 * @module
 */

import { existsSync } from 'node:fs';
import { wait } from '../../../steps.ts';
import {
  checkedStoreRow,
  type Snapshot,
  type StoreRow,
  snapshotFacts,
} from '../../backup/backup.ts';
import { copiedRow, readingOf } from '../../backup/columns.ts';
import { type CopiedRow, LOG } from '../../backup/tables.ts';
import { segmentsFrom } from '../../log/segments.ts';
import { treeHead } from '../../log/tree.ts';
import { type Connection, failureOf, IN_MEMORY, openConnection, rollBack } from '../connection.ts';
import { moveLog } from '../log/fold.ts';
import { noStoreIn, unfitFile, unmadeFile } from '../schema/migrations.ts';
import { atOnce, readerOn } from '../sql.ts';
import { COLUMNS } from './columns.ts';

/** Rows that are held at once. The largest have one mebibyte. */
const SLICE_ROWS = 50;

export async function openSqliteSnapshot(path: string): Promise<Snapshot> {
  if (path === IN_MEMORY) throw new Error('Cannot open the store: a store in memory has no file');
  if (!existsSync(path)) throw new Error(`Cannot open the store: ${noStoreIn(path)}`);
  const opened = () => openConnection(path, (file) => unfitFile(file) ?? unmadeFile(file, path));
  const connection = opened();
  let mover: Connection | undefined;
  try {
    mover = opened();
    connection.script('BEGIN');
    return snapshotOn(connection, mover);
  } catch (error) {
    connection.close();
    mover?.close();
    throw failureOf(error);
  }
}

function snapshotOn(connection: Connection, mover: Connection): Snapshot {
  const sql = readerOn(connection);
  const head = atOnce(treeHead(sql));
  const row = checkedStoreRow(connection.get<StoreRow>(STORE));
  return {
    kind: 'sqlite',
    ...snapshotFacts(row, head),
    segments: (table) => (table === LOG ? segmentsFrom(sql, 0).next : () => wait(undefined)),
    async *rows(table) {
      let slice: CopiedRow[] = [];
      for (const row of connection.each<object>(readingOf(COLUMNS, table))) {
        slice.push(copiedRow(table, row));
        if (slice.length < SLICE_ROWS) continue;
        yield slice;
        slice = [];
      }
      if (slice.length > 0) yield slice;
    },
    close: async () => end(connection, mover),
  };
}

/**
 * Moving a log of hundreds of megabytes takes seconds, and without this the next commit of a service would do it. The
 * write lock keeps such a commit away until this process has begun.
 */
function end(connection: Connection, mover: Connection): void {
  try {
    mover.script('BEGIN IMMEDIATE');
  } catch {
    // Another process has written for seconds. Its own commit moves the log.
  }
  connection.close();
  rollBack(mover);
  moveLog(mover);
  mover.close();
}

const STORE = `SELECT log_id, row_seal, (SELECT log_id FROM origins WHERE first = 0) AS first_id,
  (SELECT coalesce(max(sequence), 0) FROM checkpoints) AS checkpoint FROM store`;
