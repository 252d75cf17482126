/**
 * The mark in a file of its own, which processes of one machine may share.
 *
 * A small SQLite file: its locks end with the process that holds them and its commits are flushed, so
 * a process may be killed at any point.
 *
 * @module
 */

import type { MarkPlace } from '../mark.ts';
import { type Connection, failureOf, openConnection } from './connection.ts';

export function openSqliteMark(path: string): MarkPlace {
  const connection = openConnection(path, (file) => otherFile(file, path));
  connection.script(TABLE);
  return {
    read: async (logId) => {
      return attempt(
        () => connection.get<MarkRow>('SELECT mark FROM log_marks WHERE log_id = ?', logId)?.mark,
      );
    },
    replace: async (logId, from, to) => {
      return attempt(() => replaced(connection, [logId, from, to]) === 1);
    },
    close: async () => connection.close(),
  };
}

interface MarkRow {
  readonly mark: string;
}

const TABLE = `CREATE TABLE IF NOT EXISTS log_marks (
  log_id TEXT NOT NULL PRIMARY KEY,
  mark   TEXT NOT NULL
) STRICT`;

/** A mark in the store itself would be restored with it, and could say nothing. */
function otherFile(connection: Connection, path: string): string | undefined {
  const others = connection.all<{ name: string }>(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'log_marks' LIMIT 1`,
  );
  return others.length === 0 ? undefined : `"${path}" holds more than marks; name another file`;
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
