/**
 * Fills a new PostgreSQL store from a backup, in one transaction: a crash leaves no store.
 *
 * @module
 */

import type { Loader } from '../../backup/backup.ts';
import type { BackupHeader } from '../../backup/file.ts';
import { CopyFault } from '../../backup/log-check.ts';
import { type CopiedRow, type CopiedTable, TOKENS } from '../../backup/tables.ts';
import { openDatabase, type Session } from '../connection.ts';
import { settingsOf } from '../options.ts';
import { lockMigrations, makeStore, runSteps, SCHEMA_VERSION } from '../schema/migrations.ts';
import { writingOf } from './columns.ts';

/** A step over a large table takes minutes. */
const SILENCE_MS = 30 * 60_000;

/** Runs `work` with a loader of a new store in this database, and completes the store when it returns. */
export async function loadPostgres<Result>(
  url: string,
  work: (open: (header: BackupHeader) => Promise<Loader>) => Promise<Result>,
): Promise<Result> {
  const database = openDatabase(url, settingsOf({}), 1);
  try {
    return await database.transaction(async (given) => {
      const session = patient(given);
      await lockMigrations(session);
      let version = SCHEMA_VERSION;
      const result = await work(async ({ schema, log_id, row_seal }) => {
        version = schema.postgres;
        await makeStore(session, version, log_id);
        await session.run({ name: '', text: 'UPDATE meta SET row_seal = $1' }, [row_seal]);
        return loaderOn(session);
      });
      for (const table of ['deliveries', 'steps']) await session.run(countOn(table));
      await runSteps(session, version, SCHEMA_VERSION);
      return result;
    });
  } catch (error) {
    throw rowFailure(error);
  } finally {
    await database.close();
  }
}

/** The driver gives up on a server that is silent; a batch of rows may take longer than usual. */
function patient(session: Session): Session {
  return {
    run: (statement, values) => session.run({ ...statement, silenceMs: SILENCE_MS }, values),
  };
}

function loaderOn(session: Session): Loader {
  let latest: number | undefined;
  return {
    async insert(table, rows) {
      await insertRows(session, table, rows);
      if (table.name === TOKENS.name) await insertFamilies(session, table, rows);
    },
    async insertEntries(entries, table, nodes) {
      const time = table.columns.findIndex(({ name }) => name === 'timestamp');
      const extended = entries.map((row) => {
        latest = Math.max(latest ?? Number.MIN_SAFE_INTEGER, row[time] as number);
        return [...row, latest];
      });
      const { taken, text } = writingOf(table, [{ name: 'latest', kind: 'time' }]);
      const places = [...taken, table.columns.length];
      await session.run({ name: '', text }, parametersOf(extended, places));
      await session.run(NODES, [
        nodes.map(({ level }) => level),
        nodes.map(({ index }) => index),
        nodes.map(({ hash }) => hash),
      ]);
    },
    async setHead({ place, peaks, latest: last }) {
      await session.run(HEAD, [place, [...peaks], last ?? null]);
    },
  };
}

async function insertRows(
  session: Session,
  table: CopiedTable,
  rows: readonly CopiedRow[],
): Promise<void> {
  if (rows.length === 0) return;
  const { taken, text } = writingOf(table);
  await session.run({ name: '', text }, parametersOf(rows, taken));
}

/** How many children a token has is in a table of its own. */
async function insertFamilies(
  session: Session,
  table: CopiedTable,
  rows: readonly CopiedRow[],
): Promise<void> {
  const id = table.columns.findIndex(({ name }) => name === 'token_id');
  const children = table.columns.findIndex(({ name }) => name === 'children');
  const parents = rows.filter((row) => row[children] !== 0);
  await session.run(FAMILIES, [parents.map((row) => row[id]), parents.map((row) => row[children])]);
}

/** One list of texts for each column. */
function parametersOf(rows: readonly CopiedRow[], places: readonly number[]): unknown[] {
  return places.map((place) =>
    rows.map((row) => (row[place] === null ? null : String(row[place]))),
  );
}

const NODES = {
  name: '',
  text: 'INSERT INTO nodes (level, index, hash) SELECT * FROM unnest($1::integer[], $2::bigint[], $3::bytea[])',
};

const FAMILIES = {
  name: '',
  text: 'INSERT INTO families (token_id, children) SELECT * FROM unnest($1::text[], $2::integer[])',
};

const HEAD = {
  name: '',
  text: `UPDATE head SET size = $1, peaks = $2,
    latest = coalesce(to_timestamp($3::bigint / 1000.0), '-infinity')`,
};

/** The next row gets the number after the greatest one. */
function countOn(table: string) {
  return {
    name: '',
    text: `SELECT setval(pg_get_serial_sequence('${table}', 'place'), max(place)) FROM ${table} HAVING max(place) IS NOT NULL`,
  };
}

/** SQLSTATE classes: data that does not fit its type, a broken constraint, a wrong column. */
const ROW_FAULTS = /^(?:22|23|42)/;

function rowFailure(error: unknown): unknown {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code, message } = cause as Error & { code?: string };
    if (code === undefined || !ROW_FAULTS.test(code)) continue;
    return new CopyFault(`the rows do not fit together: ${message}`, { cause: error });
  }
  return error;
}
