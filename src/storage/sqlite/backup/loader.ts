/**
 * Fills a new SQLite store from a backup, in one transaction: a crash leaves no store.
 *
 * @module
 */

import { type Loader, unfitRows } from '../../backup/backup.ts';
import { bytesOf, targetsOf } from '../../backup/columns.ts';
import type { BackupHeader } from '../../backup/file.ts';
import { CopyFault } from '../../backup/log-check.ts';
import type { CopiedColumn, CopiedRow, CopiedTable, CopiedValue } from '../../backup/tables.ts';
import { insertPlaced } from '../../log/placed.ts';
import { writeHead } from '../../log/tree.ts';
import type { TreeHead } from '../../port/store.ts';
import {
  type Connection,
  failureOf,
  IN_MEMORY,
  openConnection,
  rollBack,
  type Value,
} from '../connection.ts';
import { foldLog } from '../log/fold.ts';
import {
  lastVersion,
  makeStore,
  type Step,
  unfitFile,
  upgrade,
  usedFile,
} from '../schema/migrations.ts';
import { atOnce, rowsOn } from '../sql.ts';
import { COLUMNS } from './columns.ts';

/** Runs `work` with a loader of a new store in this file, and completes the store when it returns. */
export async function loadSqlite<Result>(
  path: string,
  work: (open: (header: BackupHeader) => Promise<Loader>) => Promise<Result>,
  steps?: readonly Step[],
): Promise<Result> {
  if (path === IN_MEMORY) throw new Error('Cannot open the store: a store in memory has no file');
  const connection = openConnection(path, (file) => unfitFile(file) ?? usedFile(file, path));
  try {
    connection.script('BEGIN IMMEDIATE');
    // Another process may have made a store since the file was opened.
    const used = usedFile(connection, path);
    if (used !== undefined) throw new Error(`Cannot open the store: ${used}`);
    const result = await work(async (header) => {
      makeStoreOf(connection, header, steps);
      return loaderOn(connection);
    });
    upgrade(connection, lastVersion(steps), steps);
    connection.script('COMMIT');
    foldLog(connection);
    return result;
  } catch (error) {
    rollBack(connection);
    throw rowFailure(failureOf(error));
  } finally {
    connection.close();
  }
}

/** The schema of the file's version: later steps run when its rows are there. */
function makeStoreOf(
  connection: Connection,
  { schema, log_id, row_seal }: BackupHeader,
  steps: readonly Step[] | undefined,
): void {
  connection.script('PRAGMA defer_foreign_keys = ON');
  makeStore(connection, log_id);
  upgrade(connection, schema.sqlite, steps);
  connection.run('UPDATE store SET row_seal = ?', row_seal);
}

function loaderOn(connection: Connection): Loader {
  const insert = createInsert(connection);
  const sql = rowsOn(connection);
  let tree: TreeHead = { first: 0, size: 0, peaks: [] };
  return {
    insert: async (table, rows) => insert(table, rows),
    async insertEntries(entries) {
      tree = atOnce(insertPlaced(sql, tree, entries));
    },
    async setHead({ place, peaks }) {
      atOnce(writeHead(sql, { first: 0, size: place, peaks }));
    },
  };
}

function createInsert(connection: Connection) {
  return (table: CopiedTable, rows: readonly CopiedRow[]): void => {
    const targets = targetsOf(COLUMNS, table);
    const list = targets.map(({ name }) => `"${name}"`).join(', ');
    const slots = targets.map(() => '?').join(', ');
    const sql = `INSERT INTO ${table.name} (${list}) VALUES (${slots})`;
    for (const row of rows) {
      const given = table.name === 'intents' ? intentRow(table, row) : row;
      if (given === undefined) continue;
      connection.run(sql, ...targets.map(({ column, index }) => storedOf(column, given[index])));
    }
  };
}

/**
 * PostgreSQL has zero where SQLite has nothing. It also remembers admissions that did not happen, for processes
 * that wait for their answer: none of those uses this store.
 */
function intentRow(table: CopiedTable, row: CopiedRow): CopiedValue[] | undefined {
  const at = (name: string) => table.columns.findIndex((column) => column.name === name);
  const [state, reserved, consumed, leased] = [
    at('state'),
    at('reserved'),
    at('consumed'),
    at('leased'),
  ];
  if (row[state] === 'aborted') return undefined;
  const changed = [...row];
  if (row[reserved] !== row[at('charge_amount')]) changed[reserved] = null;
  if (row[state] !== 'settled') changed[consumed] = null;
  changed[leased] = countOf(row[leased]);
  return changed;
}

function countOf(list: CopiedValue | undefined): number {
  const items = JSON.parse(String(list));
  if (!Array.isArray(items)) throw new CopyFault('the leases of a call are not a list');
  return items.length;
}

function storedOf({ kind }: CopiedColumn, value: CopiedValue | undefined): Value {
  if (value === null || value === undefined) return null;
  if (kind === 'amount') return BigInt(value as string);
  if (kind === 'bytes') return bytesOf(value);
  return value;
}

/** A constraint of the schema names what is wrong with the rows. */
function rowFailure(error: unknown): unknown {
  const { errcode, message } = error as { errcode?: number; message?: string };
  if (errcode === undefined || errcode % 256 !== CONSTRAINT) return error;
  return unfitRows(message, error);
}

/** The primary result code of a broken constraint. */
const CONSTRAINT = 19;
