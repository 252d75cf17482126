/**
 * A described table in the form that one database needs: columns, the values of a record, the record of a
 * row.
 *
 * `tableIn` reads the description once; a record or a row then takes one function call for each column.
 *
 * @module
 */

import type { Charge } from '../port/records.ts';
import { type Columns, type Kind, readColumn } from './description.ts';

/** How one database stores a value that is not absent. */
export interface Codec {
  write(value: never): unknown;
  read(stored: never): unknown;
}

export const AS_IS: Codec = { write: (value) => value, read: (stored) => stored };

/** Every other kind is stored in one column. */
type StoredKind = Exclude<Kind, 'charge' | 'flag'>;

export interface Dialect {
  readonly codecs: Readonly<Record<StoredKind, Codec>>;
  chargeColumns(field: string): readonly [currency: string, amount: string];
}

/** A row as a driver or JSON gives it. */
export type Row = Readonly<Record<string, unknown>>;

export interface Table<Kept> {
  readonly name: string;
  readonly columns: readonly string[];
  /** The columns as a list in SQL, of the table that `alias` names. */
  list(alias?: string): string;
  /** In the order of the columns; null where a field is absent. */
  values(record: Kept): unknown[];
  /** Ignores other columns of the row. */
  read(row: Row): Kept;
}

export function tableIn<Kept>(
  dialect: Dialect,
  { name, fields }: { readonly name: string; readonly fields: Columns },
): Table<Kept> {
  const described = Object.entries(fields).map(([field, text]) => {
    const { kind } = readColumn(text);
    if (kind === 'charge') return chargeIn(dialect, field);
    return columnIn(dialect.codecs[kind as StoredKind], field);
  });
  const columns = described.flatMap((each) => each.columns);
  const writers = described.flatMap((each) => each.write);
  return {
    name,
    columns,
    list: (alias) => columns.map((column) => (alias ? `${alias}.${column}` : column)).join(', '),
    values: (record) => writers.map((write) => write(record as Row)),
    read(row) {
      const record: Record<string, unknown> = {};
      for (const { field, read } of described) record[field] = read(row);
      return record as Kept;
    },
  };
}

/** One field: its columns, what is written to each, and how it is read from the row. */
interface Described {
  readonly field: string;
  readonly columns: readonly string[];
  readonly write: readonly ((record: Row) => unknown)[];
  read(row: Row): unknown;
}

function columnIn({ write, read }: Codec, field: string): Described {
  return {
    field,
    columns: [field],
    write: [(record) => (isAbsent(record[field]) ? null : write(record[field] as never))],
    read: (row) => (isAbsent(row[field]) ? undefined : read(row[field] as never)),
  };
}

function chargeIn({ codecs, chargeColumns }: Dialect, field: string): Described {
  const [currency, amount] = chargeColumns(field);
  const write = (part: keyof Charge, codec: Codec) => (record: Row) => {
    const charge = record[field] as Charge | undefined;
    return charge ? codec.write(charge[part] as never) : null;
  };
  return {
    field,
    columns: [currency, amount],
    write: [write('currency', codecs.text), write('amount', codecs.amount)],
    read: (row) =>
      isAbsent(row[currency]) || isAbsent(row[amount])
        ? undefined
        : { currency: row[currency], amount: codecs.amount.read(row[amount] as never) },
  };
}

function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}
