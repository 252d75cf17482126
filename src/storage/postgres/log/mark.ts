/**
 * The mark in a second PostgreSQL database, for replicas on several machines.
 *
 * @module
 */

import type { MarkPlace } from '../../port/mark.ts';
import { openDatabase, type Statement } from '../connection.ts';
import { settingsOf } from '../options.ts';
import { refuseOtherSession } from '../schema/session.ts';

/** Without `create`, `undefined` where the table is missing. */
export async function openPostgresMark(url: string): Promise<MarkPlace>;
export async function openPostgresMark(
  url: string,
  create: boolean,
): Promise<MarkPlace | undefined>;
export async function openPostgresMark(url: string, create = true): Promise<MarkPlace | undefined> {
  // One signature at a time needs one connection.
  const settings = settingsOf({});
  const database = openDatabase(url, settings, 1);
  try {
    await refuseOtherSession(database, settings);
    const isThere = await database.transaction(async (session) => {
      // Processes that start at once would create the table twice, which the server refuses.
      await session.run(LOCK);
      const [found] = await session.run<{ is_store: boolean; has_marks: boolean }>(IS_STORE);
      if (found?.is_store) {
        throw new Error(
          'the database holds a store, and a restore would also restore the mark; name another database',
        );
      }
      if (create) await session.run(TABLE);
      return create || found?.has_marks;
    });
    if (!isThere) {
      await database.close();
      return undefined;
    }
  } catch (error) {
    await database.close();
    throw error;
  }
  return {
    async read(logId) {
      const [row] = await database.read<{ mark: string }>(READ, [logId]);
      return row?.mark;
    },
    async replace(logId, from, to) {
      const rows =
        from === undefined
          ? await database.write(INSERT, [logId, to])
          : await database.write(REPLACE, [logId, from, to]);
      return rows.length === 1;
    },
    close: () => database.close(),
  };
}

/** A number that no other program locks in this database. */
const LOCK: Statement = { name: 'mark_lock', text: 'SELECT pg_advisory_xact_lock(514891215107)' };

const IS_STORE: Statement = {
  name: 'mark_is_store',
  text: `SELECT to_regclass('meta') IS NOT NULL AND to_regclass('head') IS NOT NULL AS is_store,
    to_regclass('writ_marks') IS NOT NULL AS has_marks`,
};

const TABLE: Statement = {
  name: 'mark_table',
  text: 'CREATE TABLE IF NOT EXISTS writ_marks (log_id text PRIMARY KEY, mark text NOT NULL)',
};

const READ: Statement = {
  name: 'mark_read',
  text: 'SELECT mark FROM writ_marks WHERE log_id = $1',
};

const INSERT: Statement = {
  name: 'mark_insert',
  text: `INSERT INTO writ_marks (log_id, mark) VALUES ($1, $2)
    ON CONFLICT DO NOTHING RETURNING log_id`,
};

const REPLACE: Statement = {
  name: 'mark_replace',
  text: 'UPDATE writ_marks SET mark = $3 WHERE log_id = $1 AND mark = $2 RETURNING log_id',
};
