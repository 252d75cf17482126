/**
 * One SQLite connection: how it is opened, and how values are bound and read.
 *
 * Knows no table. A resolved write must survive a power cut, so the file must have a write-ahead log that is
 * flushed on each commit; otherwise it is not opened. Text that SQLite would cut or alter is refused in
 * queries and in records: a cut id would match another row.
 *
 * Every integer is read as a bigint, so that no amount is out of range.
 *
 * @module
 */

import { closeSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import {
  DatabaseSync,
  type DatabaseSyncInstance,
  type StatementSyncInstance,
} from '@photostructure/sqlite';
import { isWellFormed } from '../../domain/wire/json.ts';
import { makeFolder } from '../../folder.ts';
import { type Platform, system } from '../../platform.ts';
import { StoreUnavailable } from '../port/store.ts';
import { isWalSafe } from './schema/version.ts';

export const IN_MEMORY = ':memory:';

/**
 * Milliseconds to wait for another process that writes the same file. The wait blocks this process too; a
 * batch takes a few milliseconds, so only a stopped process causes the whole wait.
 */
export const BUSY_TIMEOUT_MS = 5_000;

/**
 * In KiB. Ids and hashes are random, so each entry changes pages all over its indexes: the pages of some
 * hundred thousand entries fit; beyond that the operating system's cache helps.
 */
const CACHE_KIB = 32_768;

/** In pages of 4 KiB: how long the log grows before a checkpoint, which writes busy pages only once. */
const LOG_PAGES = 4_096;

/**
 * In bytes: what is left of a write-ahead log that grew beside a long reader, such as a backup. Four times its usual
 * length, so that it is not cut and made longer again in ordinary work.
 */
const LOG_BYTES_KEPT = 4 * LOG_PAGES * 4_096;

export type Value = string | number | bigint | boolean | Date | Uint8Array | null | undefined;

export interface Connection {
  readonly platform: Platform;
  /** Executes a statement and returns nothing. */
  run(sql: string, ...values: Value[]): void;
  /** Executes a conditional statement. Returns how many rows met its condition. */
  change(sql: string, ...values: Value[]): number;
  get<Row>(sql: string, ...values: Value[]): Row | undefined;
  all<Row>(sql: string, ...values: Value[]): Row[];
  /** The rows one by one, for a connection that has no other statement of this text under way. */
  each<Row>(sql: string): Iterable<Row>;
  /** Executes a script that takes no values. */
  script(sql: string): void;
  /** False after SQLite itself has rolled back, as it does when the disk fails. */
  inTransaction(): boolean;
  close(): void;
}

/**
 * Returns why a file must not be changed, or undefined. Called in one snapshot and before the first setting,
 * because turning on the log writes into the file.
 */
export type Objection = (connection: Connection) => string | undefined;

/** Opens the file, creating it and its folder when they are missing. */
export function openConnection(
  path: string,
  objection: Objection = () => undefined,
  platform: Platform = system,
): Connection {
  const database = opening(path, () => openDatabase(path));
  try {
    const connection = connectionOn(database, platform);
    const reason = opening(path, () => fromSnapshot(connection, objection));
    if (reason !== undefined) throw new Error(`Cannot open the store: ${reason}`);
    opening(path, () => configure(database, path === IN_MEMORY));
    return connection;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Translates a failure of the store itself into `StoreUnavailable`. Any other error, such as a broken
 * constraint, is a defect and is returned unchanged.
 */
export function failureOf(error: unknown): unknown {
  if (error instanceof StoreUnavailable) return error;
  if (!UNAVAILABLE_CODES.has(primaryCode(error)) && !isClosed(error)) return error;
  return new StoreUnavailable(`Cannot use the store: it ${reasonOf(error)}`, { cause: error });
}

/** True when nothing of a failed commit can reappear after a crash. */
export function isUndone(error: unknown): boolean {
  const { errcode } = error as { errcode?: number };
  return errcode === IOERR_WRITE || UNDONE_CODES.has(primaryCode(error));
}

/** Rolls back a failed transaction, unless SQLite has already done so. */
export function rollBack(connection: Connection): void {
  try {
    if (connection.inTransaction()) connection.run('ROLLBACK');
  } catch {
    // The connection is lost: the caller reports the failure that led here, and the next BEGIN fails too.
  }
}

/** One step of opening: every failure in it is one of the file or the disk. */
function opening<Result>(path: string, step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    throw new StoreUnavailable(`Cannot open the store: "${path}" ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

/** Another process may be creating the store: version and tables must come from one snapshot. */
function fromSnapshot(connection: Connection, objection: Objection): string | undefined {
  connection.script('BEGIN');
  const reason = objection(connection);
  connection.script('COMMIT');
  return reason;
}

/**
 * Two rules of the driver, which has no call that finalises a statement:
 *
 * - `close()` of a database with living statements only hides it. SQLite keeps an open read transaction until the
 *   garbage collector has taken the last statement; meanwhile no checkpoint can empty the write-ahead log. So
 *   rows under way and the transaction are ended before `close()`, as `connectionOn` does.
 * - A statement has a bare pointer to its database, and an iterator one to its statement. Using one whose owner was
 *   collected crashes the process. So each is reachable from the same closure as its owner.
 */
function openDatabase(path: string): DatabaseSyncInstance {
  const options = { timeout: BUSY_TIMEOUT_MS, readBigInts: true, defensive: true };
  if (path === IN_MEMORY) return new DatabaseSync(IN_MEMORY, options);

  // Absolute, so that SQLite does not read the name as a URI with options.
  const file = resolve(path);
  makeFolder(dirname(file));
  makePrivate(file);
  return new DatabaseSync(file, options);
}

/** SQLite gives its log the permissions of the file, so this protects both. */
function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

function configure(database: DatabaseSyncInstance, isInMemory: boolean): void {
  if (!isInMemory) startWriteAheadLog(database);
  // After the log is on, because turning it on may change the meaning of FULL; macOS flushes only with
  // fullfsync. secure_delete overwrites erased data. Other work frees few pages, so it costs little.
  database.exec(`
    PRAGMA synchronous = FULL;
    PRAGMA fullfsync = ON;
    PRAGMA checkpoint_fullfsync = ON;
    PRAGMA foreign_keys = ON;
    PRAGMA recursive_triggers = ON;
    PRAGMA trusted_schema = OFF;
    PRAGMA cell_size_check = ON;
    PRAGMA secure_delete = ON;
    PRAGMA cache_size = -${CACHE_KIB};
    PRAGMA wal_autocheckpoint = ${LOG_PAGES};
    PRAGMA journal_size_limit = ${LOG_BYTES_KEPT};
  `);
}

function startWriteAheadLog(database: DatabaseSyncInstance): void {
  const { version } = database.prepare('SELECT sqlite_version() AS version').get();
  if (!isWalSafe(version)) {
    throw new StoreUnavailable(
      `Cannot open the store: SQLite ${version} can damage a write-ahead log, 3.51.3 does not`,
    );
  }
  const mode = database.prepare('PRAGMA journal_mode = WAL').get().journal_mode;
  if (mode !== 'wal') {
    throw new StoreUnavailable(`Cannot open the store: its journal is "${mode}", not "wal"`);
  }
}

function connectionOn(database: DatabaseSyncInstance, platform: Platform): Connection {
  // Bounded: texts are constants, and queries combine a fixed set of conditions.
  const statements = new Map<string, StatementSyncInstance>();
  const prepared = (sql: string) => {
    let statement = statements.get(sql);
    if (!statement) {
      statement = database.prepare(sql);
      statements.set(sql, statement);
    }
    return statement;
  };
  const reading = new Set<ReturnType<StatementSyncInstance['iterate']>>();
  const connection: Connection = {
    platform,
    // `get` makes no result object, which is half of the cost of a small statement.
    run: (sql, ...values) => void prepared(sql).get(...bound(values)),
    change: (sql, ...values) => Number(prepared(sql).run(...bound(values)).changes),
    get: (sql, ...values) => prepared(sql).get(...bound(values)),
    all: (sql, ...values) => prepared(sql).all(...bound(values)),
    *each(sql) {
      const rows = prepared(sql).iterate();
      reading.add(rows);
      try {
        for (let row = rows.next(); !row.done; row = rows.next()) yield row.value;
      } finally {
        if (reading.delete(rows)) rows.return?.();
      }
    },
    script: (sql) => database.exec(sql),
    inTransaction: () => database.isTransaction,
    close: () => {
      for (const rows of reading) rows.return?.();
      reading.clear();
      rollBack(connection);
      statements.clear();
      database.close();
    },
  };
  return connection;
}

/** Converts in place: the array is the caller's rest parameter and has no other owner. */
function bound(values: Value[]): Value[] {
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (typeof value === 'string') refuseAltered(value);
    else if (value === undefined) values[i] = null;
    else if (typeof value === 'boolean') values[i] = value ? 1 : 0;
    else if (value instanceof Date) values[i] = millisecondsOf(value);
  }
  return values;
}

/** SQLite cuts text at U+0000, and half of a surrogate pair does not survive UTF-8. */
function refuseAltered(text: string): void {
  if (!text.includes('\0') && isWellFormed(text)) return;
  throw new Error(
    `Cannot store the text ${JSON.stringify(text.slice(0, 64))}: SQLite would alter it`,
  );
}

function millisecondsOf(time: Date): number {
  const milliseconds = time.getTime();
  if (Number.isNaN(milliseconds)) throw new Error('Cannot store a time: it is not a valid time');
  return milliseconds;
}

/** Primary result codes of SQLite that mean a failure of the store, not of the statement. */
const REASONS = new Map<number | undefined, string>([
  [5, 'is locked by another process'],
  [6, 'is locked'],
  [7, 'is out of memory'],
  [8, 'is read-only'],
  [9, 'was interrupted'],
  [10, 'cannot be read or written'],
  [11, 'is damaged'],
  [13, 'is full'],
  [14, 'cannot be opened'],
  [15, 'is locked by another process'],
  [26, 'is not a database'],
]);
const UNAVAILABLE_CODES: ReadonlySet<number | undefined> = new Set(REASONS.keys());

/** Busy, read-only, full, constraint: SQLite detects each before the commit frame is complete. */
const UNDONE_CODES: ReadonlySet<number | undefined> = new Set([5, 8, 13, 19]);

/** The extended code of a failed write. Other I/O failures may come after the last write. */
const IOERR_WRITE = 778;

function reasonOf(error: unknown): string {
  if (isClosed(error)) return 'is closed';
  const reason = REASONS.get(primaryCode(error));
  return reason ?? `cannot be opened: ${(error as Error).message}`;
}

/** The low byte of an extended result code. */
function primaryCode(error: unknown): number | undefined {
  const { errcode } = error as { errcode?: number };
  return errcode === undefined ? undefined : errcode % 256;
}

function isClosed(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_INVALID_STATE';
}
