/**
 * The mark in its own SQLite file, which processes of one machine may share.
 *
 * SQLite's locks end with their process and its commits are flushed, so a process may be killed at any point.
 * Each access detects a file that was removed or replaced, and no longer uses the old one.
 *
 * @module
 */

import { statSync } from 'node:fs';
import type { MarkPlace } from '../../port/mark.ts';
import { StoreUnavailable } from '../../port/store.ts';
import { type Connection, failureOf, openConnection } from '../connection.ts';

export function openSqliteMark(path: string): MarkPlace {
  let opened = openFile(path);
  /** Undefined when the file no longer exists. */
  const current = (): Connection | undefined => {
    const now = fileAt(path);
    if (now !== undefined && now !== opened.file) {
      opened.connection.close();
      opened = openFile(path);
    }
    return now === undefined ? undefined : opened.connection;
  };
  return {
    read: async (logId) => {
      return attempt(
        () => current()?.get<MarkRow>('SELECT mark FROM log_marks WHERE log_id = ?', logId)?.mark,
      );
    },
    replace: async (logId, from, to) => {
      const connection = attempt(current);
      if (!connection) throw new StoreUnavailable(`Cannot write the mark: "${path}" is gone`);
      return attempt(() => replaced(connection, [logId, from, to]) === 1);
    },
    close: async () => opened.connection.close(),
  };
}

interface OpenFile {
  readonly connection: Connection;
  readonly file: string | undefined;
}

function openFile(path: string): OpenFile {
  const connection = openConnection(path, (file) => otherFile(file, path));
  connection.script(TABLE);
  return { connection, file: fileAt(path) };
}

/** Identifies the file itself, independent of its name. */
function fileAt(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev} ${found.ino}`;
}

interface MarkRow {
  readonly mark: string;
}

const TABLE = `CREATE TABLE IF NOT EXISTS log_marks (
  log_id TEXT NOT NULL PRIMARY KEY,
  mark   TEXT NOT NULL
) STRICT`;

/** A mark in the store itself would be restored with it, and could not show the restore. */
function otherFile(connection: Connection, path: string): string | undefined {
  const others = connection.all<{ name: string }>(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'log_marks' LIMIT 1`,
  );
  return others.length === 0
    ? undefined
    : `"${path}" contains other tables than marks; name another file`;
}

function replaced(
  connection: Connection,
  [logId, from, to]: [string, string | undefined, string],
): number {
  return from === undefined
    ? connection.change('INSERT INTO log_marks VALUES (?, ?) ON CONFLICT DO NOTHING', logId, to)
    : connection.change(
        'UPDATE log_marks SET mark = ? WHERE log_id = ? AND mark = ?',
        to,
        logId,
        from,
      );
}

function attempt<Result>(step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    throw failureOf(error);
  }
}
