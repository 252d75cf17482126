/**
 * Backup and restore: copies every row of one snapshot into a file, and a file into a new store.
 *
 * Knows no database: a `Snapshot` reads one, a `Loader` fills one. Both directions grow the tree from the leaf
 * hashes, so that a damaged log is found before a file or a store with it exists.
 *
 * @module
 */

import type { StoredEntry } from '../../domain/log/entry.ts';
import { foldPeaks } from '../../domain/log/merkle.ts';
import { firstPlaceOf, leafIndexOf } from '../../domain/log/origin.ts';
import { countText } from '../../domain/values/count-text.ts';
import { fromBase64 } from '../../domain/wire/base64.ts';
import { toHex } from '../../domain/wire/hash.ts';
import { run, type Steps } from '../../steps.ts';
import { DamagedSegment, entriesOf, type Segment } from '../log/segment.ts';
import { copiedRow, storedEntry } from './columns.ts';
import {
  BACKUP_FORMAT,
  type BackupHead,
  type BackupHeader,
  type BackupPart,
  compressed,
  type SchemaVersions,
} from './file.ts';
import {
  CopyFault,
  createLogCheck,
  type GrownTree,
  type LogCheck,
  type PlacedLeaf,
} from './log-check.ts';
import {
  CHECKPOINTS,
  COPIED_TABLES,
  type CopiedRow,
  type CopiedTable,
  LOG,
  ORIGINS,
  QUEUE,
} from './tables.ts';

/** One state of a store. Other processes may change the store while it is read. */
export interface Snapshot {
  readonly kind: keyof SchemaVersions;
  readonly logId: string;
  readonly rowSeal: string | null;
  readonly head: BackupHead;
  /** The log, or the entries without a place in the order in which they get one: the next segment of it. */
  segments(table: typeof LOG | typeof QUEUE): () => Steps<Segment | undefined>;
  /** The rows of another table in slices. */
  rows(table: CopiedTable): AsyncIterable<readonly CopiedRow[]>;
  close(): Promise<void>;
}

/** What both databases say of themselves. */
export interface StoreRow {
  readonly log_id: string;
  /** The first in the list of logs. */
  readonly first_id: string | null;
  readonly row_seal: string | null;
  readonly checkpoint: bigint | string;
}

/** Throws when the store does not know which log is its first. */
export function checkedStoreRow<Row extends StoreRow>(row: Row | undefined): Row {
  if (row && row.log_id === row.first_id) return row;
  throw new CopyFault('the store and its list of logs name different first logs; see "writ fsck"');
}

/** What a snapshot says of its log, from the row of its store and its head. */
export function snapshotFacts(
  row: StoreRow,
  { first, size, peaks }: { first: number; size: number; peaks: Parameters<typeof foldPeaks>[0] },
): Pick<Snapshot, 'logId' | 'rowSeal' | 'head'> {
  return {
    logId: row.log_id,
    rowSeal: row.row_seal,
    head: {
      place: first + size,
      entries: size,
      root: toHex(foldPeaks(peaks)),
      checkpoint: Number(row.checkpoint),
    },
  };
}

/** Fills a new store. All of it becomes visible at once, or nothing. */
export interface Loader {
  insert(table: CopiedTable, rows: readonly CopiedRow[]): Promise<void>;
  /** Entries with their places. */
  insertEntries(entries: readonly StoredEntry[]): Promise<void>;
  setHead(tree: GrownTree): Promise<void>;
}

export interface BackupOptions {
  readonly now: Date;
  readonly product: string;
  readonly schema: SchemaVersions;
  /** Called after each slice with the number of rows so far. */
  readonly onProgress: (rows: number, table: string) => void;
}

/** The bytes of a backup file. Throws `CopyFault` when the log in the store is damaged. */
export function backupOf(snapshot: Snapshot, options: BackupOptions): AsyncIterable<Uint8Array> {
  return compressed(linesOf(snapshot, options));
}

async function* linesOf(
  snapshot: Snapshot,
  { now, product, schema, onProgress }: BackupOptions,
): AsyncGenerator<readonly string[]> {
  const { kind, logId, rowSeal, head } = snapshot;
  const header: BackupHeader = {
    ...{ format: BACKUP_FORMAT, created_at: now.toISOString(), product, schema, kind },
    ...{ log_id: logId, row_seal: rowSeal, head },
  };
  yield [JSON.stringify(header)];
  const check = createLogCheck();
  const rows: Record<string, number> = {};
  let count = 0;
  for (const table of COPIED_TABLES) {
    const { name, columns } = table;
    let written = 0;
    yield [JSON.stringify({ table: name, columns: columns.map((column) => column.name) })];
    for await (const slice of readableRows(snapshot, table)) {
      checkRows(check, table, slice);
      yield slice.map((row) => JSON.stringify(row));
      written += slice.length;
      count += slice.length;
      onProgress(count, name);
    }
    rows[name] = written;
    if (table === LOG) checkHead(check, head);
  }
  yield [JSON.stringify({ rows })];
}

async function* readableRows(
  snapshot: Snapshot,
  table: CopiedTable,
): AsyncGenerator<readonly CopiedRow[]> {
  try {
    if (table !== LOG && table !== QUEUE) return yield* snapshot.rows(table);
    const next = snapshot.segments(table);
    for (let segment = await run(next()); segment; segment = await run(next())) {
      yield entriesOf(segment).map((entry) => copiedRow(table, entry));
    }
  } catch (error) {
    if (!(error instanceof DamagedSegment)) throw error;
    const damage = `the log is damaged: ${error.places} cannot be read; see "writ fsck"`;
    throw new CopyFault(damage, { cause: error });
  }
}

/** When a constraint of a schema refuses rows; `message` names what is wrong with them. */
export function unfitRows(message: string | undefined, cause: unknown): CopyFault {
  return new CopyFault(`the rows do not fit together: ${message}`, { cause });
}

/** What a restore knows after it has read a file once. */
export interface RestoredFacts {
  readonly header: BackupHeader;
  /** Entries of the current log, with those that waited for a place. */
  readonly entries: number;
  readonly rows: number;
}

/** Reads the parts of a file and checks all of it. With a loader, inserts it. */
export async function restoreParts(
  parts: AsyncIterable<BackupPart>,
  onHeader: (header: BackupHeader) => Promise<Loader | undefined>,
  onProgress: (rows: number, table: string) => void = () => undefined,
): Promise<RestoredFacts> {
  const check = createLogCheck();
  let header: BackupHeader | undefined;
  let loader: Loader | undefined;
  let isPlaced = false;
  let rows = 0;
  const place = async () => {
    if (!isPlaced) checkHead(check, (header as BackupHeader).head);
    isPlaced = true;
  };
  for await (const part of parts) {
    if ('header' in part) {
      header = part.header;
      loader = await onHeader(header);
      continue;
    }
    if ('counts' in part) break;
    const { table, rows: slice } = part;
    if (table.name !== ORIGINS.name && table.name !== LOG.name) await place();
    await restoreSlice({ check, loader, logId: (header as BackupHeader).log_id }, table, slice);
    rows += slice.length;
    onProgress(rows, table.name);
  }
  if (!header) throw new CopyFault('the file is not a backup: it has no header');
  await place();
  const tree = check.tree();
  await loader?.setHead(tree);
  return { header, entries: leafIndexOf(tree.place), rows };
}

interface Restoring {
  readonly check: LogCheck;
  readonly loader: Loader | undefined;
  readonly logId: string;
}

async function restoreSlice(
  { check, loader, logId }: Restoring,
  table: CopiedTable,
  rows: readonly CopiedRow[],
): Promise<void> {
  if (table.name === LOG.name || table.name === QUEUE.name) {
    const entries = table.name === LOG.name ? rows : placedRows(check, rows);
    const placed = table.name === LOG.name ? table : withPlace(table);
    check.grow(leavesOf(placed, entries));
    await loader?.insertEntries(entries.map((row) => storedEntry(placed, row)));
    return;
  }
  checkRows(check, table, rows);
  if (table.name !== ORIGINS.name) {
    await loader?.insert(table, rows);
    return;
  }
  // A new store has its first log in the list.
  const [first, named] = [indexOf(table, 'first'), indexOf(table, 'log_id')];
  const own = rows.find((row) => row[first] === 0);
  if (own && own[named] !== logId) throw new CopyFault('its list of logs begins with another log');
  await loader?.insert(
    table,
    rows.filter((row) => row !== own),
  );
}

/** Entries without a place get the next ones, in their order, as a running service would do. */
function placedRows(check: LogCheck, rows: readonly CopiedRow[]): CopiedRow[] {
  const { place } = check.tree();
  return rows.map((row, index) => [place + index, ...row]);
}

function withPlace({ columns }: CopiedTable): CopiedTable {
  const sequence = { name: 'sequence', kind: 'integer', isOptional: false } as const;
  return { name: LOG.name, columns: [sequence, ...columns] };
}

/** Checks what the rows of a table say about the log. */
function checkRows(check: LogCheck, table: CopiedTable, rows: readonly CopiedRow[]): void {
  if (table.name === ORIGINS.name) {
    const first = indexOf(table, 'first');
    for (const row of rows) check.origin(row[first] as number);
  }
  if (table.name === LOG.name) check.grow(leavesOf(table, rows));
  if (table.name === CHECKPOINTS.name) {
    const [sequence, size] = [indexOf(table, 'sequence'), indexOf(table, 'size')];
    for (const row of rows) check.checkpoint(row[sequence] as number, row[size] as number);
  }
}

function checkHead(check: LogCheck, { place, entries, root }: BackupHead): void {
  const tree = check.tree();
  const has = { place: tree.place, root: toHex(foldPeaks(tree.peaks)) };
  if (has.place === place && has.root === root && leafIndexOf(place) === entries) return;
  const found = `its head says ${countText(entries, 'entry', 'entries')} with root ${root}, its log has ${has.place - firstPlaceOf(has.place)} with ${has.root}`;
  throw new CopyFault(`the log is damaged: ${found}; see "writ fsck"`);
}

function leavesOf(table: CopiedTable, rows: readonly CopiedRow[]): PlacedLeaf[] {
  const [sequence, hash] = [indexOf(table, 'sequence'), indexOf(table, 'leaf_hash')];
  return rows.map((row) => ({
    sequence: row[sequence] as number,
    hash: fromBase64(row[hash] as string) as Uint8Array,
  }));
}

function indexOf({ name, columns }: CopiedTable, column: string): number {
  const index = columns.findIndex((each) => each.name === column);
  if (index === -1) throw new CopyFault(`table "${name}" has no column "${column}"`);
  return index;
}
