/**
 * Backups in memory for tests: made of a store with rows, changed line by line, restored into empty places.
 *
 * @module
 */

import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { isObject } from '../../src/domain/wire/json.ts';
import { backupOf } from '../../src/storage/backup/backup.ts';
import { COPIED_TABLES } from '../../src/storage/backup/tables.ts';
import { entriesOf, type Segment } from '../../src/storage/log/segment.ts';
import { openSnapshot, openStore, restoreStore, SCHEMA_VERSIONS } from '../../src/storage/open.ts';
import type { Store } from '../../src/storage/port/store.ts';
import { openConnection } from '../../src/storage/sqlite/connection.ts';
import { fillLedger } from '../log/small-ledger.ts';
import { entry } from './fixtures.ts';
import { freshDatabase, runSql } from './postgres.ts';
import { newFile } from './store-places.ts';

export const PLACES = {
  SQLite: async () => `sqlite:${newFile()}`,
  PostgreSQL: async () => (await freshDatabase()).url,
} satisfies Readonly<Record<string, () => Promise<string>>>;

/** The bytes of a backup of the store at this address. */
export async function backup(url: string): Promise<Buffer> {
  const snapshot = await openSnapshot(url);
  try {
    const options = { now: new Date(0), product: 'test', schema: SCHEMA_VERSIONS };
    const chunks: Uint8Array[] = [];
    for await (const chunk of backupOf(snapshot, { ...options, onProgress: () => undefined })) {
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } finally {
    await snapshot.close();
  }
}

export function fileOf(bytes: Buffer) {
  async function* pieces() {
    // Odd pieces: a line ends anywhere in them.
    for (let at = 0; at < bytes.length; at += 777) yield bytes.subarray(at, at + 777);
  }
  return { bytes: pieces(), size: bytes.length };
}

export const restore = (url: string, bytes: Buffer) => restoreStore(url, () => fileOf(bytes));

/** A store with rows of most tables, and with erased entries. */
export async function filled(url: string, isRecovered = false) {
  const store = await openStore(url);
  const ids = await fillLedger(store);
  await store.append(Array.from({ length: 30 }, () => entry()));
  await store.sequence();
  await store.erase({ what: 'personal', until: new Date('2040-01-01'), limit: 5 });
  if (isRecovered) await beginAgain(store);
  await store.close();
  return ids;
}

async function beginAgain(store: Store): Promise<void> {
  await store.beginOrigin(await store.sequence(), '6b1c7e0a-0000-4000-8000-000000000000', entry());
  await store.append(Array.from({ length: 3 }, () => entry()));
  await store.sequence();
}

/** What a restore computes from the entries. */
const COMPUTED = {
  sqlite: ['tiles', 'head', 'blocks', 'buckets', 'retentions'],
  postgres: ['tiles', 'head', 'blocks', 'buckets', 'retentions', 'families'],
} as const;

/** Every row of every table of a store, as the database prints it, and every entry of its log. */
export async function dump(url: string): Promise<Record<string, string[]>> {
  const copied = COPIED_TABLES.map(({ name }) => name);
  const tables: Record<string, string[]> = {};
  if (url.startsWith('sqlite:')) {
    const connection = openConnection(url.slice('sqlite:'.length));
    const segments = connection.all<SegmentRow>('SELECT * FROM segments ORDER BY first');
    const entries = segments.map(segmentOf).flatMap(entriesOf);
    tables.log = entries.map((entry) => JSON.stringify(entry, printed));
    for (const name of [...copied, ...COMPUTED.sqlite]) {
      // The log of a restored store has other segments.
      if (name === 'queue' || name === 'log') continue;
      const rows = connection.all<object>(`SELECT * FROM ${name}`);
      tables[name] = rows.map((row) => JSON.stringify(row, printed)).sort();
    }
    connection.close();
    return tables;
  }
  const segments = await runSql<SegmentRow>(url, 'SELECT * FROM segments ORDER BY first');
  tables.log = segments
    .map(segmentOf)
    .flatMap(entriesOf)
    .map((entry) => JSON.stringify(entry, printed));
  for (const name of [...copied, ...COMPUTED.postgres]) {
    // The log of a restored store has other segments.
    if (name === 'log') continue;
    const rows = await runSql<{ row: string }>(
      url,
      `SELECT to_jsonb(t)::text AS row FROM ${name} t`,
    );
    tables[name] = rows.map(({ row }) => row).sort();
  }
  return tables;
}

type SegmentRow = Record<keyof Segment, never>;

function segmentOf({ first, count, ...bytes }: SegmentRow): Segment {
  return { first: Number(first), count: Number(count), ...bytes };
}

function printed(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  // A Buffer turns itself into an object before it gets here.
  if (isObject(value) && value.type === 'Buffer') {
    return Buffer.from(value.data as number[]).toString('hex');
  }
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
}

export async function tablesOf(url: string): Promise<string[]> {
  if (url.startsWith('sqlite:')) {
    const connection = openConnection(url.slice('sqlite:'.length));
    const rows = connection.all<{ name: string }>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_'",
    );
    connection.close();
    return rows.map(({ name }) => name);
  }
  const rows = await runSql<{ name: string }>(
    url,
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema`,
  );
  return rows.map(({ name }) => name);
}

/** Changes the lines of a backup, and gives it a digest that fits. */
export function edited(bytes: Buffer, change: (lines: string[]) => string[]): Buffer {
  const lines = gunzipSync(bytes).toString().trimEnd().split('\n').slice(0, -1);
  const text = change(lines)
    .map((line) => `${line}\n`)
    .join('');
  const sha256 = createHash('sha256').update(text).digest('hex');
  return gzipSync(`${text}${JSON.stringify({ sha256 })}\n`);
}
