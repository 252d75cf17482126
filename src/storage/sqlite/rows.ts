/**
 * Rows as SQLite returns them, and their records.
 *
 * Only this module turns bigints into times, counts or amounts.
 *
 * @module
 */

import { UNREADABLE } from '../port/row-forms.ts';
import * as approvals from '../tables/approvals.ts';
import * as authority from '../tables/authority.ts';
import * as calls from '../tables/calls.ts';
import type { Description } from '../tables/description.ts';
import * as log from '../tables/log.ts';
import * as people from '../tables/people.ts';
import { AS_IS, type Dialect, type Table, tableIn } from '../tables/table.ts';
import type { Connection, Value } from './connection.ts';

/** Lists and objects are JSON text. SQLite returns times and counts as bigints. */
export const SQLITE: Dialect = {
  codecs: {
    text: AS_IS,
    bytes: AS_IS,
    amount: { write: AS_IS.write, read: amountOf },
    integer: { write: AS_IS.write, read: Number },
    long: { write: AS_IS.write, read: Number },
    time: { write: AS_IS.write, read: timeOf },
    list: { write: JSON.stringify, read: listOf },
    json: { write: JSON.stringify, read: jsonOf },
    exact: { write: JSON.stringify, read: JSON.parse },
  },
  chargeColumns: (field) => [`${field}_currency`, `${field}_amount`],
};

export interface SqliteTable<Kept> extends Table<Kept> {
  /** A question mark for each column. */
  readonly slots: string;
  readonly insert: string;
  values(record: Kept): Value[];
}

export function sqliteTable<Kept>(description: Description<Kept>): SqliteTable<Kept> {
  const { values, ...table } = tableIn<Kept>(SQLITE, description);
  const slots = table.columns.map(() => '?').join(', ');
  return {
    ...table,
    slots,
    insert: `INSERT INTO ${table.name} (${table.list()}) VALUES (${slots})`,
    values: values as (record: Kept) => Value[],
  };
}

const described = { ...authority, ...calls, ...approvals, ...people, ...log };

export const TOKENS = sqliteTable(described.TOKENS);
export const BUDGETS = sqliteTable(described.BUDGETS);
export const FREEZES = sqliteTable(described.FREEZES);
export const BINDINGS = sqliteTable(described.BINDINGS);
export const GRANTS = sqliteTable(described.GRANTS);
export const KEYS = sqliteTable(described.KEYS);

export function insert<Kept>(connection: Connection, table: SqliteTable<Kept>, record: Kept): void {
  connection.run(table.insert, ...table.values(record));
}

/** A text that is no JSON was edited: the row is one whose MAC does not match. */
// biome-ignore lint/suspicious/noExplicitAny: what it is, the record's type says.
function jsonOf(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return UNREADABLE;
  }
}

/** A text that is not a list was edited, too. */
export function listOf(text: string): string[] {
  const items = jsonOf(text);
  return Array.isArray(items) ? items : [UNREADABLE as never];
}

/** In JSON amounts are text. */
function amountOf(stored: bigint | string): bigint {
  return BigInt(stored);
}

/** In the JSON of a token's row times are numbers. */
export function timeOf(milliseconds: bigint | number): Date {
  return new Date(Number(milliseconds));
}
