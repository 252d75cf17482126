/**
 * Opens the store that an address names.
 *
 * @module
 */

import { existsSync } from 'node:fs';
import type { Platform } from '../platform.ts';
import { type Loader, type RestoredFacts, restoreParts, type Snapshot } from './backup/backup.ts';
import {
  type BackupFile,
  type BackupHeader,
  readBackup,
  type SchemaVersions,
} from './backup/file.ts';
import { type MarkPlace, type MarkStore, markIn } from './port/mark.ts';
import type { Store } from './port/store.ts';
import type { OnStep } from './port/versions.ts';
import { lastVersion as lastPostgres } from './postgres/schema/migrations.ts';
import { loadSqlite } from './sqlite/backup/loader.ts';
import { openSqliteSnapshot } from './sqlite/backup/snapshot.ts';
import { IN_MEMORY } from './sqlite/connection.ts';
import { openSqliteMark } from './sqlite/log/mark.ts';
import { lastVersion as lastSqlite } from './sqlite/schema/migrations.ts';
import { openSqlite } from './sqlite/store.ts';

export interface StoreOptions {
  /** Clock, timers and random bytes of the adapter; default: those of Node. */
  readonly platform?: Platform | undefined;
  /** Replaces the store's own clock. */
  readonly clock?: (() => Date) | undefined;
  /** False: refuses a missing or older store, and writes nothing. A store in memory is always new. */
  readonly create?: boolean | undefined;
  /** Called after each step that brings an older store to the current version. */
  readonly onStep?: OnStep | undefined;
  /** Receives what an operator should know and no caller can act on. */
  readonly onWarning?: ((message: string) => void) | undefined;
}

/** `memory:`, `sqlite:<file>`, or the address of a PostgreSQL database. */
export async function openStore(url: string, options: StoreOptions = {}): Promise<Store> {
  const { platform, clock } = options;
  if (url === 'memory:') return openSqlite(IN_MEMORY, { platform, clock });
  if (isPostgres(url)) {
    // Loaded on demand: a SQLite store does not wait for this driver.
    const { openPostgres } = await import('./postgres/store.ts');
    return openPostgres(url, options);
  }
  if (isSqlite(url)) return openSqlite(fileOf(url), options);
  throw unknownAddress(url);
}

/** The versions of the schema that this program writes. */
export const SCHEMA_VERSIONS: SchemaVersions = {
  sqlite: lastSqlite(),
  postgres: lastPostgres(),
};

/** One state of a store, for a backup. Refuses a store that is missing or of another version. */
export async function openSnapshot(url: string): Promise<Snapshot> {
  if (isSqlite(url)) return openSqliteSnapshot(fileOf(url));
  if (isPostgres(url)) {
    const { openPostgresSnapshot } = await import('./postgres/backup/snapshot.ts');
    return openPostgresSnapshot(url);
  }
  throw unknownAddress(url, '"sqlite:<file>" or "postgres://…"');
}

/** Reads and checks a backup. Writes nothing. */
export function checkBackup(file: BackupFile, onProgress?: OnProgress): Promise<RestoredFacts> {
  return restoreParts(readBackup(file, SCHEMA_VERSIONS), async () => undefined, onProgress);
}

/**
 * Makes a new store from a backup: all of it, or nothing. Refuses a place that has a store. `open` gives the file
 * from its beginning, and may be called again.
 */
export async function restoreStore(
  url: string,
  open: () => BackupFile,
  onProgress?: OnProgress,
): Promise<RestoredFacts> {
  const filled = (loaderFor: (header: BackupHeader) => Promise<Loader>) =>
    restoreParts(readBackup(open(), SCHEMA_VERSIONS), loaderFor, onProgress);
  if (isSqlite(url)) return loadSqlite(fileOf(url), filled);
  if (isPostgres(url)) {
    const { loadPostgres } = await import('./postgres/backup/loader.ts');
    return loadPostgres(url, filled);
  }
  throw unknownAddress(url, '"sqlite:<file>" or "postgres://…"');
}

type OnProgress = (rows: number, table: string) => void;

function isPostgres(url: string): boolean {
  return /^postgres(ql)?:\/\//.test(url);
}

function isSqlite(url: string): boolean {
  return /^sqlite:./.test(url);
}

function fileOf(url: string): string {
  return url.slice('sqlite:'.length);
}

function unknownAddress(
  url: string,
  known = '"memory:", "sqlite:<file>" or "postgres://…"',
): Error {
  // The address may contain a password after its scheme, so the message shows only the scheme.
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(url)?.[0] ?? '';
  return new Error(`Cannot open the store: "${scheme}" is not ${known}`);
}

/**
 * `sqlite:<file>`, or the address of a PostgreSQL database. Without `create`, a place that is not there has no mark,
 * and nothing is made there.
 */
export async function openMark(url: string, { create = true } = {}): Promise<MarkStore> {
  if (url.startsWith('sqlite:')) {
    const isThere = create || existsSync(fileOf(url));
    return markIn(isThere ? openSqliteMark(fileOf(url)) : NO_MARK);
  }
  const { openPostgresMark } = await import('./postgres/log/mark.ts');
  return markIn((await openPostgresMark(url, create)) ?? NO_MARK);
}

const NO_MARK: MarkPlace = {
  read: async () => undefined,
  replace: async () => {
    throw new Error('Cannot write the mark: it was opened for reading');
  },
  close: async () => undefined,
};
