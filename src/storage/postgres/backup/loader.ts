/**
 * Fills a new PostgreSQL store from a backup, in one transaction: a crash leaves no store.
 *
 * @module
 */

import { run } from '../../../steps.ts';
import { type Loader, unfitRows } from '../../backup/backup.ts';
import type { BackupHeader } from '../../backup/file.ts';
import { type CopiedRow, type CopiedTable, TOKENS } from '../../backup/tables.ts';
import { insertPlaced } from '../../log/placed.ts';
import { writeHead } from '../../log/tree.ts';
import type { TreeHead } from '../../port/store.ts';
import { BASELINE_VERSION } from '../../port/versions.ts';
import { openDatabase, type Session } from '../connection.ts';
import { PLACED_BYTES_MAX } from '../log/sequencer.ts';
import { settingsOf } from '../options.ts';
import {
  lastVersion,
  lockMigrations,
  makeStore,
  type Step,
  upgrade,
} from '../schema/migrations.ts';
import { rowsOn } from '../sql.ts';
import { writingOf } from './columns.ts';

/** A step over a large table takes minutes. */
const SILENCE_MS = 30 * 60_000;

/** Runs `work` with a loader of a new store in this database, and completes the store when it returns. */
export async function loadPostgres<Result>(
  url: string,
  work: (open: (header: BackupHeader) => Promise<Loader>) => Promise<Result>,
  steps?: readonly Step[],
): Promise<Result> {
  const database = openDatabase(url, settingsOf({}), 1);
  try {
    return await database.transaction(async (given) => {
      const session = patient(given);
      await lockMigrations(session);
      let version = BASELINE_VERSION;
      const result = await work(async (header) => {
        const { schema, log_id, row_seal } = header;
        version = schema.postgres;
        await makeStore(session, log_id);
        await upgrade(session, BASELINE_VERSION, version, steps);
        await session.run({ name: '', text: 'UPDATE meta SET row_seal = $1' }, [row_seal]);
        return loaderOn(session);
      });
      for (const table of ['deliveries', 'steps']) await session.run(countOn(table));
      await upgrade(session, version, lastVersion(steps), steps);
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
  const sql = rowsOn(session);
  let tree: TreeHead = { first: 0, size: 0, peaks: [] };
  return {
    async insert(table, rows) {
      await insertRows(session, table, rows);
      if (table.name === TOKENS.name) await insertFamilies(session, table, rows);
    },
    async insertEntries(entries) {
      tree = await run(insertPlaced(sql, tree, entries, PLACED_BYTES_MAX));
    },
    async setHead({ place, peaks }) {
      await run(writeHead(sql, { first: 0, size: place, peaks }));
    },
  };
}

async function insertRows(
  session: Session,
  table: CopiedTable,
  rows: readonly CopiedRow[],
): Promise<void> {
  if (rows.length === 0) return;
  const { targets, text } = writingOf(table);
  const lists = targets.map(({ index }) =>
    rows.map((row) => (row[index] === null ? null : String(row[index]))),
  );
  await session.run({ name: '', text }, lists);
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

const FAMILIES = {
  name: '',
  text: 'INSERT INTO families (token_id, children) SELECT * FROM unnest($1::text[], $2::integer[])',
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
    return unfitRows(message, error);
  }
  return error;
}
