/**
 * Stories on PostgreSQL: a change is one transaction, a read one statement.
 *
 * @module
 */

import { run, type Steps, wait } from '../../steps.ts';
import type { Sql, SqlReader } from '../sql/sql.ts';
import {
  type Fragment,
  type Insertion,
  readerIn,
  type Shape,
  type SqlDialect,
  type Statement as Story,
  textIn,
} from '../sql/statement.ts';
import type { Row } from '../tables/table.ts';
import { endedActor } from './calls/actor.ts';
import type { Database, Session, Statement } from './connection.ts';
import { enqueue } from './log/entries.ts';
import { POSTGRES, type PostgresTable, postgresTable } from './rows.ts';

const DIALECT: SqlDialect = {
  ...POSTGRES,
  name: 'postgres',
  translate: (text) => text,
  list: (_, alias, order) => `jsonb_agg(to_jsonb(${alias}) ORDER BY ${order})`,
};

/** The text of a part of a statement in PostgreSQL. */
export function postgresText(text: Fragment): string {
  return textIn(DIALECT, text);
}

/** Reads rows of statements that are PostgreSQL's own. */
export function rowReader<Result>(shape: Shape<Result>): (row: Row) => Result {
  return readerIn(DIALECT, shape);
}

export function postgresStatement({ name, text }: Pick<Story<object>, 'name' | 'text'>): Statement {
  return { name, text: postgresText(text) };
}

/** The story on the database, each statement alone. */
export async function readStory<Result>(
  database: Database,
  story: (sql: SqlReader) => Steps<Result>,
): Promise<Result> {
  return run(story(readerOn(database.read)));
}

/** The story in a transaction, and again after a deadlock. */
export function changeStory<Result>(
  database: Database,
  story: (sql: Sql) => Steps<Result>,
): Promise<Result> {
  return database.transaction(async (session) => run(story(sqlOn(session))));
}

function readerOn(query: Session['run']): SqlReader {
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

function sqlOn(session: Session): Sql {
  return {
    ...readerOn(session.run),
    *run(statement, ...values) {
      yield* wait(session.run(prepared(statement).sent, values));
    },
    *insert(insertion, records) {
      const { table, insert } = tableOf(insertion);
      if (records.length > 0) yield* wait(session.run(insert, [table.rows(records)]));
    },
    *insertNew(insertion, record) {
      const { table, insertNew } = tableOf(insertion);
      return (yield* wait(session.run(insertNew, [table.rows([record])]))).length > 0;
    },
    *lock(lock, key) {
      yield* wait(session.run(lock, [key]));
    },
    *append(entry) {
      yield* wait(enqueue(session, entry));
    },
    *endedActor(actor, now) {
      return yield* wait(endedActor(session, actor, now));
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

interface Inserting<Kept> {
  readonly table: PostgresTable<Kept>;
  readonly insert: Statement;
  readonly insertNew: Statement;
}

const TABLES = new Map<object, unknown>();

function tableOf<Kept>(insertion: Insertion<Kept>): Inserting<Kept> {
  let found = TABLES.get(insertion) as Inserting<Kept> | undefined;
  if (!found) {
    const { name, key = '' } = insertion;
    const table = postgresTable(insertion.table);
    const text = table.insert(1);
    const once = `${text} ON CONFLICT ${postgresText(key)} DO NOTHING RETURNING 1 AS one`;
    found = { table, insert: { name, text }, insertNew: { name, text: once } };
    TABLES.set(insertion, found);
  }
  return found;
}
