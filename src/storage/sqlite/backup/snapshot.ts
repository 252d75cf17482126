/**
 * Reads one state of a SQLite store, on a connection of its own.
 *
 * A read transaction sees one state while others write. Until it ends, SQLite cannot empty the write-ahead log,
 * so that the log grows by what is written meanwhile. The process that made it grow moves it into the file.
 *
 * @module
 */

import { existsSync } from 'node:fs';
import {
  checkedStoreRow,
  type Snapshot,
  type StoreRow,
  snapshotFacts,
} from '../../backup/backup.ts';
import type { CopiedColumn, CopiedRow, CopiedTable, CopiedValue } from '../../backup/tables.ts';
import { entriesOf } from '../../log/segment.ts';
import { type Connection, failureOf, IN_MEMORY, openConnection, rollBack } from '../connection.ts';
import { moveLog } from '../log/fold.ts';
import { segmentsFrom } from '../log/segments.ts';
import { readHead } from '../log/tree.ts';
import { noStoreIn, unfitFile, unmadeFile } from '../schema/migrations.ts';
import { readingOf } from './columns.ts';

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
  const head = readHead(connection);
  const row = checkedStoreRow(connection.get<StoreRow>(STORE));
  return {
    kind: 'sqlite',
    ...snapshotFacts(row, head),
    async *rows(table) {
      if (table.name === 'queue') return;
      if (table.name === 'log') {
        for (const segment of segmentsFrom(connection, 0)) {
          yield entriesOf(segment).map((entry) => rowOf(table, entry as never));
        }
        return;
      }
      let slice: CopiedRow[] = [];
      for (const read of connection.each<Record<string, unknown>>(readingOf(table))) {
        slice.push(rowOf(table, read));
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

function rowOf({ columns }: CopiedTable, read: Record<string, unknown>): CopiedRow {
  return columns.map((column) => copiedValue(column, read[column.name]));
}

function copiedValue({ kind }: CopiedColumn, stored: unknown): CopiedValue {
  if (stored === null || stored === undefined) return null;
  if (kind === 'bytes') return Buffer.from(stored as Uint8Array).toString('base64');
  if (stored instanceof Date) return stored.getTime();
  if (kind === 'integer' || kind === 'time') return Number(stored);
  if (kind === 'flag') return stored === 1n;
  return String(stored);
}
