/**
 * Copied rows and the columns of a database: what a backup reads, and what a restore writes.
 *
 * A database names the columns that are not its own column of the same name.
 *
 * @module
 */

import type { StoredEntry } from '../../domain/log/entry.ts';
import type { CopiedColumn, CopiedKind, CopiedRow, CopiedTable, CopiedValue } from './tables.ts';

/** By table and column, as in `tokens.children`. */
export interface StoredColumns {
  /** Expressions on the row `r`. */
  readonly expressions: Readonly<Record<string, string>>;
  /** The column that takes the value; null: nothing takes it. */
  readonly targets: Readonly<Record<string, string | null>>;
  /** What the driver returns exactly, from an expression of this kind. */
  readonly read?: (kind: CopiedKind, expression: string) => string;
}

/** Parents before children, and rows in the order in which they were inserted where that counts. */
const ORDERS: Readonly<Record<string, readonly string[]>> = {
  origins: ['first'],
  checkpoints: ['sequence'],
  tokens: ['depth', 'token_id'],
  approvals: ['approval_request_id', 'place'],
  deliveries: ['place'],
  steps: ['place'],
};

/** Reads a table as rows of a file (`copiedRow`). */
export function readingOf(
  { expressions, read = (_, expression) => expression }: StoredColumns,
  { name: table, columns }: CopiedTable,
): string {
  const expressionOf = (column: string) => expressions[`${table}.${column}`] ?? `r."${column}"`;
  const list = columns.map(({ name, kind }) => `${read(kind, expressionOf(name))} AS "${name}"`);
  const order = ORDERS[table]?.map(expressionOf).join(', ');
  return `SELECT ${list.join(', ')} FROM ${table} r${order ? ` ORDER BY ${order}` : ''}`;
}

export interface Target {
  readonly column: CopiedColumn;
  /** Of the value in a copied row. */
  readonly index: number;
  /** The column that takes it. */
  readonly name: string;
}

export function targetsOf({ targets }: StoredColumns, { name, columns }: CopiedTable): Target[] {
  return columns.flatMap((column, index) => {
    const target = targets[`${name}.${column.name}`];
    return target === null ? [] : [{ column, index, name: target ?? column.name }];
  });
}

/** From a row of the database, or an entry of the log. */
export function copiedRow({ columns }: CopiedTable, row: object): CopiedRow {
  const values: Readonly<Record<string, unknown>> = { ...row };
  return columns.map(({ name, kind }) => copiedValue(kind, values[name]));
}

function copiedValue(kind: CopiedKind, stored: unknown): CopiedValue {
  if (stored === null || stored === undefined) return null;
  if (stored instanceof Date) return stored.getTime();
  if (stored instanceof Uint8Array) return Buffer.from(stored).toString('base64');
  if (kind === 'integer' || kind === 'time') return Number(stored);
  return kind === 'flag' ? Boolean(stored) : String(stored);
}

export function storedEntry({ columns }: CopiedTable, row: CopiedRow): StoredEntry {
  const values = columns.map(({ name, kind }, index) => [name, entryValue(kind, row[index])]);
  return Object.fromEntries(values);
}

function entryValue(kind: CopiedKind, value: CopiedValue | undefined): unknown {
  if (value === null || value === undefined) return undefined;
  if (kind === 'time') return new Date(Number(value));
  return kind === 'bytes' ? bytesOf(value) : value;
}

export function bytesOf(value: CopiedValue): Uint8Array {
  return new Uint8Array(Buffer.from(String(value), 'base64'));
}
