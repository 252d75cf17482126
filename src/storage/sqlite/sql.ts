/**
 * Stories on SQLite: every statement answers at once, so a story runs whole in the transaction of its batch.
 *
 * @module
 */

import { type Steps, wait } from '../../steps.ts';
import type { SqlReader, SqlRows, Value } from '../sql/sql.ts';
import {
  type Fragment,
  type Insertion,
  parametersIn,
  type Replacement,
  readerIn,
  type SqlDialect,
  type Statement,
  textIn,
  updateBeside,
} from '../sql/statement.ts';
import type { Row } from '../tables/table.ts';
import type { Value as Bound, Connection } from './connection.ts';
import { SQLITE, type SqliteTable, sqliteTable } from './rows.ts';

const DIALECT: SqlDialect = {
  ...SQLITE,
  name: 'sqlite',
  translate: (text) =>
    text
      .replaceAll(/::\w+(?:\[\])?/g, '')
      .replaceAll(/ FOR (?:NO KEY )?UPDATE(?: SKIP LOCKED)?/g, '')
      .replaceAll(/= ANY \((\$\d+)\)/g, 'IN (SELECT value FROM json_each($1))')
      .replaceAll(/\$(\d+)/g, '?$1'),
  list: (columns, alias, order) => {
    const fields = columns.map((column) => `'${column}', ${alias}.${column}`).join(', ');
    return `json_group_array(json_object(${fields}) ORDER BY ${order})`;
  },
};

/** The text of a statement in SQLite. */
export function sqliteText({ text }: { readonly text: Fragment }): string {
  return textIn(DIALECT, text);
}

export function readerOn(connection: Connection): SqlReader {
  return {
    one(statement, ...values) {
      const { text, read } = prepared(statement);
      const row = connection.get<Row>(text, ...bound(values));
      return wait(row && read(row));
    },
    all(statement, ...values) {
      const { text, read } = prepared(statement);
      return wait(connection.all<Row>(text, ...bound(values)).map(read));
    },
  };
}

export function rowsOn(connection: Connection): SqlRows {
  return {
    ...readerOn(connection),
    run(statement, ...values) {
      const { text } = prepared(statement);
      return wait(text === '' ? undefined : connection.run(text, ...bound(values)));
    },
    insert(insertion, records) {
      const { insert, values } = tableOf(insertion);
      for (const record of records) connection.run(insert, ...values(record));
      return DONE;
    },
    insertNew(insertion, record) {
      const { insertNew, values } = tableOf(insertion);
      return wait(connection.change(insertNew, ...values(record)) > 0);
    },
    put(insertion, records) {
      const { put, values } = tableOf(insertion);
      for (const record of records) connection.run(put, ...values(record));
      return DONE;
    },
    replace(replacement, record, ...values) {
      const { text, values: valuesOf } = replacing(replacement);
      return wait(connection.change(text, ...bound(values), ...valuesOf(record)) > 0);
    },
    lock: () => DONE,
  };
}

const DONE = wait(undefined);

/** The result of a story, in which nothing waits. */
export function atOnce<Result>(story: Steps<Result>): Result {
  const { done, value } = story.next();
  if (!done) throw new Error('Cannot run a story on SQLite: it waits');
  return value;
}

function bound(values: readonly Value[]): Bound[] {
  return values.map((value) => (isList(value) ? JSON.stringify(value.map(itemOf)) : value));
}

function isList(value: Value): value is readonly (string | number | Date)[] {
  return Array.isArray(value);
}

/** A time is a number, as it is in a column. */
function itemOf(item: string | number | Date): string | number {
  return item instanceof Date ? item.getTime() : item;
}

interface Prepared<Result> {
  readonly text: string;
  read(row: Row): Result;
}

const STATEMENTS = new Map<object, Prepared<unknown>>();

function prepared<Result>(statement: Statement<Result>): Prepared<Result> {
  let found = STATEMENTS.get(statement) as Prepared<Result> | undefined;
  if (!found) {
    found = { text: sqliteText(statement), read: readerIn(DIALECT, statement.shape) };
    STATEMENTS.set(statement, found);
  }
  return found;
}

interface Inserting<Kept> extends SqliteTable<Kept> {
  readonly insertNew: string;
  readonly put: string;
}

const TABLES = new Map<object, unknown>();

function tableOf<Kept>(insertion: Insertion<Kept>): Inserting<Kept> {
  let found = TABLES.get(insertion) as Inserting<Kept> | undefined;
  if (!found) {
    const table = sqliteTable(insertion.table);
    const key = sqliteText({ text: insertion.key ?? '' });
    const once = `${table.insert} ON CONFLICT ${key}`;
    const put = `${once} ${updateBeside(key, table.columns)}`;
    found = { ...table, insertNew: `${once} DO NOTHING`, put };
    TABLES.set(insertion, found);
  }
  return found;
}

interface Replacing<Kept> extends SqliteTable<Kept> {
  /** The parameters of the condition come before those of the record. */
  readonly text: string;
}

function replacing<Kept>(replacement: Replacement<Kept>): Replacing<Kept> {
  let found = TABLES.get(replacement) as Replacing<Kept> | undefined;
  if (!found) {
    const table = sqliteTable(replacement.table);
    const where = sqliteText({ text: replacement.where });
    const first = parametersIn(where) + 1;
    const slots = table.columns.map((_, index) => `?${first + index}`).join(', ');
    const text = `UPDATE ${table.name} SET (${table.list()}) = (${slots}) WHERE ${where}`;
    found = { ...table, text };
    TABLES.set(replacement, found);
  }
  return found;
}
