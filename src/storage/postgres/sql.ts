/**
 * Stories on PostgreSQL: a read is one statement, and so is a write.
 *
 * @module
 */

import { run, type Steps, wait } from '../../steps.ts';
import type { SqlReader, SqlRows, SqlWriter } from '../sql/sql.ts';
import {
  type Fragment,
  type Insertion,
  parametersIn,
  type Replacement,
  readerIn,
  type SqlDialect,
  type Statement as Story,
  textIn,
  updateBeside,
} from '../sql/statement.ts';
import type { Row } from '../tables/table.ts';
import type { Database, Session, Statement } from './connection.ts';
import { POSTGRES, type PostgresTable, postgresTable } from './rows.ts';

const DIALECT: SqlDialect = {
  ...POSTGRES,
  name: 'postgres',
  translate: (text) => text,
  list: (_, alias, order) => `jsonb_agg(to_jsonb(${alias}) ORDER BY ${order})`,
};

/** The text of a part of a statement in PostgreSQL. */
function postgresText(text: Fragment): string {
  return textIn(DIALECT, text);
}

export function postgresStatement({ name, text }: Pick<Story<object>, 'name' | 'text'>): Statement {
  return { name, text: postgresText(text) };
}

/** The story, whose one statement is answered from one snapshot. */
export async function readStory<Result>(
  database: Database,
  story: (sql: SqlReader) => Steps<Result>,
): Promise<Result> {
  return run(story(readerOn(once(database.read))));
}

/** The story, whose one statement commits by itself. */
export async function writeStory<Result>(
  database: Database,
  story: (sql: SqlWriter) => Steps<Result>,
): Promise<Result> {
  return run(story(writerOn(once(database.write))));
}

/** A second statement alone would not see what the first saw, or not happen with it. */
function once(query: Session['run']): Session['run'] {
  let isUsed = false;
  return (statement, values) => {
    if (isUsed) throw new Error(`Cannot run "${statement.name}": the story had its one statement`);
    isUsed = true;
    return query(statement, values);
  };
}

/** The story, each statement alone: it reads rows of the log, which another statement finds again. */
export async function logStory<Result>(
  database: Database,
  story: (sql: SqlReader) => Steps<Result>,
): Promise<Result> {
  return run(story(readerOn(database.read)));
}

/** The story, whose statements see one state of the database. */
export async function snapshotStory<Result>(
  database: Database,
  story: (sql: SqlReader) => Steps<Result>,
): Promise<Result> {
  return database.snapshot(async (session) => run(story(readerOn(session.run))));
}

/** The story in a transaction, and again after a deadlock. */
export async function rowsStory<Result>(
  database: Database,
  story: (sql: SqlRows) => Steps<Result>,
): Promise<Result> {
  return database.transaction(async (session) => run(story(rowsOn(session))));
}

/** `query` executes a statement by itself or in a transaction. */
export function readerOn(query: Session['run']): SqlReader {
  return {
    *one(statement, ...values) {
      const { sent, read } = prepared(statement);
      const [row] = yield* wait(query<Row>(sent, values));
      return row && read(row);
    },
    *all(statement, ...values) {
      const { sent, read } = prepared(statement);
      return (yield* wait(query<Row>(sent, values))).map(read);
    },
  };
}

function writerOn(query: Session['run']): SqlWriter {
  return {
    ...readerOn(query),
    *run(statement, ...values) {
      const { sent } = prepared(statement);
      if (sent.text !== '') yield* wait(query(sent, values));
    },
    *replace(replacement, record, ...values) {
      const { table, sent } = replacing(replacement);
      const row = JSON.stringify(table.row(record));
      return (yield* wait(query(sent, [...values, row]))).length > 0;
    },
  };
}

/** Several statements of one transaction. */
export function rowsOn(session: Session): SqlRows {
  return {
    ...writerOn(session.run),
    *insert(insertion, records) {
      const { table, insert } = tableOf(insertion);
      if (records.length > 0) yield* wait(session.run(insert, [table.rows(records)]));
    },
    *insertNew(insertion, record) {
      const { table, insertNew } = tableOf(insertion);
      return (yield* wait(session.run(insertNew, [table.rows([record])]))).length > 0;
    },
    *put(insertion, records) {
      const { table, put } = tableOf(insertion);
      if (records.length > 0) yield* wait(session.run(put, [table.rows(records)]));
    },
    *lock(lock, key) {
      yield* wait(session.run(lock, key === undefined ? [] : [key]));
    },
  };
}

interface Prepared<Result> {
  readonly sent: Statement;
  read(row: Row): Result;
}

const STATEMENTS = new Map<object, Prepared<unknown>>();

function prepared<Result>(statement: Story<Result>): Prepared<Result> {
  let found = STATEMENTS.get(statement) as Prepared<Result> | undefined;
  if (!found) {
    const read = readerIn(DIALECT, statement.shape);
    found = { sent: postgresStatement(statement), read };
    STATEMENTS.set(statement, found);
  }
  return found;
}

/** Each has a name of its own: the driver refuses one name for two texts. */
interface Inserting<Kept> {
  readonly table: PostgresTable<Kept>;
  readonly insert: Statement;
  readonly insertNew: Statement;
  readonly put: Statement;
}

const TABLES = new Map<object, unknown>();

function tableOf<Kept>(insertion: Insertion<Kept>): Inserting<Kept> {
  let found = TABLES.get(insertion) as Inserting<Kept> | undefined;
  if (!found) {
    const { name, key = '' } = insertion;
    const table = postgresTable(insertion.table);
    const text = table.insert(1);
    const keyed = postgresText(key);
    const once = `${text} ON CONFLICT ${keyed}`;
    found = {
      table,
      insert: { name, text },
      insertNew: { name: `${name}_new`, text: `${once} DO NOTHING RETURNING 1 AS one` },
      put: { name: `${name}_put`, text: `${once} ${updateBeside(keyed, table.columns)}` },
    };
    TABLES.set(insertion, found);
  }
  return found;
}

interface Replacing<Kept> {
  readonly table: PostgresTable<Kept>;
  /** The record is the last parameter. */
  readonly sent: Statement;
}

function replacing<Kept>(replacement: Replacement<Kept>): Replacing<Kept> {
  let found = TABLES.get(replacement) as Replacing<Kept> | undefined;
  if (!found) {
    const { name } = replacement;
    const table = postgresTable(replacement.table);
    const where = postgresText(replacement.where);
    const record = `jsonb_populate_record(NULL::${table.name}, $${parametersIn(where) + 1}::jsonb)`;
    const text = `UPDATE ${table.name} SET (${table.list()}) = (SELECT ${table.list()} FROM ${record})
      WHERE ${where} RETURNING 1 AS one`;
    found = { table, sent: { name, text } };
    TABLES.set(replacement, found);
  }
  return found;
}
