/**
 * The form of a backup: JSON lines, compressed with gzip.
 *
 * The first line is the header. Each table has a line with its name and columns, then a line for each row: an
 * array of values. The last line has the number of rows of each table and the SHA-256 of all bytes before it.
 * The digest finds damage, not forgery: signatures and MACs inside the rows find that (decision 23).
 *
 * A reader holds one line and one slice of rows, whatever the file has.
 *
 * @module
 */

import { createHash } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { createGunzip, createGzip } from 'node:zlib';
import { fromBase64 } from '../../domain/wire/base64.ts';
import { isObject, readJson } from '../../domain/wire/json.ts';
import { BASELINE_VERSION } from '../port/versions.ts';
import { CopyFault } from './log-check.ts';
import {
  COPIED_TABLES,
  type CopiedColumn,
  type CopiedRow,
  type CopiedTable,
  type CopiedValue,
} from './tables.ts';

export const BACKUP_FORMAT = 'writ-backup/1';

/** Bytes of one line. The largest row has a result of a call, of which the service stores one mebibyte. */
const LINE_BYTES_MAX = 16 * 1024 * 1024;

/** A line is flat: an array or an object in an object. Keys: columns of a header, or tables of the last line. */
const LINE_LIMITS = { bytes: LINE_BYTES_MAX, depth: 3, keys: 1_000 };

/** Rows and characters that a reader passes on at once. */
const SLICE_ROWS = 500;
const SLICE_CHARACTERS = 4 * 1024 * 1024;

/** The versions of both databases that a program knows. */
export interface SchemaVersions {
  readonly sqlite: number;
  readonly postgres: number;
}

export interface BackupHeader {
  readonly format: typeof BACKUP_FORMAT;
  readonly created_at: string;
  /** The version of the program that made the backup. */
  readonly product: string;
  readonly schema: SchemaVersions;
  readonly kind: keyof SchemaVersions;
  /** Of the first log of the store. */
  readonly log_id: string;
  readonly row_seal: string | null;
  readonly head: BackupHead;
}

/** The tree of the current log. Entries that have no place yet are not counted. */
export interface BackupHead {
  /** The place after the last entry. */
  readonly place: number;
  readonly entries: number;
  /** In hexadecimal digits. */
  readonly root: string;
  /** The number of the last checkpoint in the store; 0 if there is none. */
  readonly checkpoint: number;
}

interface TableSlice {
  readonly table: CopiedTable;
  readonly rows: readonly CopiedRow[];
}

export type BackupPart =
  | { readonly header: BackupHeader }
  | TableSlice
  | { readonly counts: Readonly<Record<string, number>> };

export interface BackupFile {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** The length of the file. */
  readonly size: number;
}

/** The bytes of a file with these parts. */
export function compressed(slices: AsyncIterable<readonly string[]>): AsyncIterable<Uint8Array> {
  const gzip = createGzip({ level: LEVEL });
  // The caller reads the result and gets every error from it.
  return pipeline(Readable.from(digested(slices)), gzip, () => undefined);
}

/** Of gzip: less CPU than the default, for a file that is a few hundredths larger. */
const LEVEL = 2;

/** Adds the last line. `slices` have the counts as their last line, without the digest. */
async function* digested(slices: AsyncIterable<readonly string[]>): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  for await (const lines of slices) {
    // A character has at most three bytes, so only a long line is measured.
    const long = lines.find(
      (line) => 3 * line.length > LINE_BYTES_MAX && sizeOf(line) > LINE_BYTES_MAX,
    );
    if (long !== undefined) {
      throw new CopyFault(`a row has ${sizeOf(long)} bytes, a backup holds ${LINE_BYTES_MAX}`);
    }
    const bytes = Buffer.from(`${lines.join('\n')}\n`);
    hash.update(bytes);
    yield bytes;
  }
  yield Buffer.from(`${JSON.stringify({ sha256: hash.digest('hex') })}\n`);
}

/** With the end of the line. */
function sizeOf(line: string): number {
  return Buffer.byteLength(line) + 1;
}

/**
 * Reads a file. Throws `CopyFault` where it is not what `compressed` wrote: the parts that were read before are
 * then void, because only the last line proves them.
 */
export async function* readBackup(
  { bytes, size }: BackupFile,
  known: SchemaVersions,
): AsyncGenerator<BackupPart> {
  const gunzip = createGunzip();
  const unpacked = pipeline(Readable.from(bytes), gunzip, () => undefined);
  const hash = createHash('sha256');
  const state: ReadState = {
    ...{ known, line: 1, rows: [], characters: 0, passed: 0, counted: {} },
  };
  let isEnded = false;
  for await (const line of linesOf(unpacked)) {
    if (isEnded) throw new CopyFault('the file goes on after its last line');
    const json = jsonOf(line, state.line);
    if (isObject(json) && Object.hasOwn(json, 'sha256')) {
      const digest = hash.digest('hex');
      if (json.sha256 !== digest) throw new CopyFault('its digest is not that of its contents');
      isEnded = true;
      continue;
    }
    hash.update(line).update('\n');
    const part = readPart(state, json, line.length);
    state.line += 1;
    if (part) yield part;
  }
  if (!isEnded) throw new CopyFault('the file is cut: its last line is missing');
  if (gunzip.bytesWritten !== size) throw new CopyFault('the file goes on after its contents');
  yield { counts: countsOf(state) };
}

/** Where a reader stands in a file. */
interface ReadState {
  readonly known: SchemaVersions;
  line: number;
  header?: BackupHeader;
  /** The table whose rows follow, with the columns that the file has. */
  table?: CopiedTable;
  rows: CopiedRow[];
  characters: number;
  /** How many tables of `COPIED_TABLES` cannot come any more. */
  passed: number;
  readonly counted: Record<string, number>;
  counts?: Record<string, unknown>;
}

function readPart(state: ReadState, json: unknown, length: number): BackupPart | undefined {
  if (!state.header) {
    state.header = headerOf(json);
    refuseUnreadable(state.header, state.known);
    return { header: state.header };
  }
  if (!state.counts && Array.isArray(json)) return readRow(state, json, length);
  if (state.counts || !isObject(json)) {
    throw new CopyFault(`line ${state.line} is neither a table nor a row`);
  }
  const before = takeSlice(state);
  if (isObject(json.rows)) state.counts = json.rows;
  else beginTable(state, json);
  return before;
}

/** A file of an older version lacks what later versions added. */
function isCurrent({ header, known }: ReadState): boolean {
  return header !== undefined && header.schema[header.kind] === known[header.kind];
}

function beginTable(state: ReadState, { table: name, columns: names }: Record<string, unknown>) {
  const table = COPIED_TABLES.slice(state.passed).find((each) => each.name === name);
  if (!table) throw new CopyFault(`line ${state.line} has an unknown table: ${shown(name)}`);
  if (!Array.isArray(names)) throw new CopyFault(`line ${state.line} has no list of columns`);
  const columns = table.columns.filter((column) => names.includes(column.name));
  const unknown = names.find((each, index) => each !== columns[index]?.name);
  if (unknown !== undefined) {
    throw new CopyFault(`table "${table.name}" has an unknown column: ${shown(unknown)}`);
  }
  const missing = table.columns.find((column) => !columns.includes(column));
  if (missing && isCurrent(state)) {
    throw new CopyFault(`table "${table.name}" lacks the column "${missing.name}"`);
  }
  state.passed = COPIED_TABLES.indexOf(table) + 1;
  state.table = { name: table.name, columns };
  state.counted[table.name] = 0;
}

function readRow(state: ReadState, row: unknown[], length: number): TableSlice | undefined {
  const { table, line, counted, rows } = state;
  if (!table) throw new CopyFault(`line ${line} is a row of no table`);
  const fault = rowFault(table, row);
  if (fault !== undefined) throw new CopyFault(`line ${line}, table "${table.name}": ${fault}`);
  counted[table.name] = (counted[table.name] ?? 0) + 1;
  rows.push(row as CopiedValue[]);
  state.characters += length;
  const isFull = rows.length === SLICE_ROWS || state.characters > SLICE_CHARACTERS;
  return isFull ? takeSlice(state) : undefined;
}

function takeSlice(state: ReadState): TableSlice | undefined {
  const { table, rows } = state;
  if (!table || rows.length === 0) return undefined;
  state.rows = [];
  state.characters = 0;
  return { table, rows };
}

/** Compares the rows that were read with the numbers at the end of the file. */
function countsOf(state: ReadState): Readonly<Record<string, number>> {
  const { counts, counted } = state;
  if (!counts) throw new CopyFault('the file is cut: it has no number of rows');
  for (const { name } of COPIED_TABLES) {
    if (isCurrent(state) && counted[name] === undefined) {
      throw new CopyFault(`the table "${name}" is missing`);
    }
    if ((counts[name] ?? 0) === (counted[name] ?? 0)) continue;
    throw new CopyFault(
      `table "${name}" has ${counted[name] ?? 0} rows, the last line says ${shown(counts[name])}`,
    );
  }
  return counted;
}

/** Lines of at most `LINE_BYTES_MAX`, without their ends. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let held: Buffer[] = [];
  let length = 0;
  const keep = (piece: Buffer) => {
    length += piece.length;
    if (length > LINE_BYTES_MAX)
      throw new CopyFault(`a line has more than ${LINE_BYTES_MAX} bytes`);
    if (piece.length > 0) held.push(piece);
  };
  try {
    for await (const chunk of chunks) {
      let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      for (let end = rest.indexOf(0x0a); end !== -1; end = rest.indexOf(0x0a)) {
        keep(rest.subarray(0, end));
        rest = rest.subarray(end + 1);
        yield held.length === 1 ? (held[0] as Buffer) : Buffer.concat(held);
        held = [];
        length = 0;
      }
      keep(rest);
    }
  } catch (error) {
    throw unpackFault(error);
  }
  if (length > 0) throw new CopyFault('the file is cut: its last line has no end');
}

/** Only zlib has these codes; other errors, such as one of the disk, are not about the contents. */
function unpackFault(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'Z_BUF_ERROR') return new CopyFault('the file is cut', { cause: error });
  if (!code?.startsWith('Z_')) return error;
  return new CopyFault('the file is damaged or not compressed with gzip', { cause: error });
}

function jsonOf(line: Buffer, number: number): unknown {
  const reading = readJson(line, LINE_LIMITS);
  if ('value' in reading) return reading.value;
  if (number === 1) throw new CopyFault('the file is not a backup: its first line is not JSON');
  throw new CopyFault(`line ${number} is not JSON of a backup`);
}

function headerOf(json: unknown): BackupHeader {
  if (!isObject(json) || typeof json.format !== 'string') {
    throw new CopyFault('the file is not a backup: it has no header');
  }
  if (json.format !== BACKUP_FORMAT) {
    throw new CopyFault(
      `its format is ${shown(json.format)}, this program reads "${BACKUP_FORMAT}"; use the version of the program that made it`,
    );
  }
  const { schema, head } = json;
  const isWhole =
    [json.created_at, json.product].every((text) => typeof text === 'string') &&
    LOG_ID.test(String(json.log_id)) &&
    (json.row_seal === null || typeof json.row_seal === 'string') &&
    (json.kind === 'sqlite' || json.kind === 'postgres') &&
    isObject(schema) &&
    [schema.sqlite, schema.postgres].every(isCount) &&
    isObject(head) &&
    [head.place, head.entries, head.checkpoint].every(isCount) &&
    typeof head.root === 'string';
  if (!isWhole) throw new CopyFault('its header lacks a part');
  return json as unknown as BackupHeader;
}

const LOG_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function refuseUnreadable({ product, schema }: BackupHeader, known: SchemaVersions): void {
  const made = `it was made by version ${shown(product)} of the program with schema ${schema.sqlite} (SQLite) and ${schema.postgres} (PostgreSQL)`;
  if (Math.min(schema.sqlite, schema.postgres) < BASELINE_VERSION) {
    throw new CopyFault(
      `${made}, from before the first release, and this program restores versions from ${BASELINE_VERSION} on; use the program that made it`,
    );
  }
  if (schema.sqlite <= known.sqlite && schema.postgres <= known.postgres) return;
  throw new CopyFault(
    `${made}, this program knows ${known.sqlite} and ${known.postgres}; use that version or a later one`,
  );
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function rowFault({ columns }: CopiedTable, row: readonly unknown[]): string | undefined {
  if (row.length !== columns.length) {
    return `a row has ${row.length} values, expected ${columns.length}`;
  }
  const column = columns.find((each, index) => !isOfKind(each, row[index]));
  return column && `a value of column "${column.name}" is not of the kind "${column.kind}"`;
}

function isOfKind({ kind, isOptional }: CopiedColumn, value: unknown): boolean {
  return value === null ? isOptional : KIND_CHECKS[kind](value);
}

const isText = (value: unknown) => typeof value === 'string';
const AMOUNT = /^-?\d{1,19}$/;

const KIND_CHECKS: Readonly<Record<CopiedColumn['kind'], (value: unknown) => boolean>> = {
  text: isText,
  list: isText,
  json: isText,
  exact: isText,
  integer: Number.isSafeInteger,
  time: Number.isSafeInteger,
  flag: (value) => typeof value === 'boolean',
  amount: (value) => typeof value === 'string' && AMOUNT.test(value),
  bytes: (value) => typeof value === 'string' && fromBase64(value) !== undefined,
};

/** A value of the file in a message: short, whatever the file has. */
function shown(value: unknown): string {
  return `"${String(value).slice(0, 40)}"`;
}
