/**
 * Statements, written once and rendered for each database.
 *
 * A statement is PostgreSQL's SQL. A driver translates the few signs that its database writes differently (parameters, casts,
 * lists, row locks); a part that needs another text, such as the hint of an index, is named with `either`. Names and
 * kinds of columns come from `storage/tables`. Renders text only: it builds no query.
 *
 * @module
 */

import type { Description } from '../tables/description.ts';
import { type Dialect, type Row, tableIn } from '../tables/table.ts';

/** The columns of a result, and of the lists of rows in it. */
export interface Shape<Result> {
  readonly fields: Description<Result>['fields'];
  /** Fields that have rows as JSON (`rowsOf`). */
  readonly lists?: Readonly<Record<string, AnyShape>>;
  /** The columns of the key of a row that is read later (`unread`). */
  readonly key?: readonly string[];
}

/** A shape whose type no longer matters. */
export type AnyShape = Pick<Shape<object>, 'fields' | 'lists' | 'key'>;

/** A row that is read when it is shown: one that was edited by hand may not be readable. */
export interface Unread<Result> {
  readonly key: string;
  read(): Result;
}

/** How one database writes what a statement says. */
export interface SqlDialect extends Dialect {
  readonly name: 'sqlite' | 'postgres';
  /** From the SQL of PostgreSQL. */
  translate(text: string): string;
  /** The rows of a group as JSON. */
  list(columns: readonly string[], alias: string, order: string): string;
}

/** A part of a statement. */
export type Fragment = string | ((dialect: SqlDialect) => string);

export interface Statement<Result> {
  /** PostgreSQL prepares it under this name. */
  readonly name: string;
  readonly shape: Shape<Result>;
  readonly text: Fragment;
}

/** Inserts records of a table. */
export interface Insertion<Kept, Key = Fragment | undefined> {
  readonly name: string;
  readonly table: Description<Kept>;
  /** The key of which `insertNew` leaves the row that is there, and `put` replaces its other columns. */
  readonly key: Key;
}

/** Replaces the row that `where` selects, with all columns of the table. */
export interface Replacement<Kept> {
  readonly name: string;
  readonly table: Description<Kept>;
  readonly where: Fragment;
}

/** What PostgreSQL locks until the transaction ends. SQLite has one writer and needs none. */
export interface Lock {
  readonly name: string;
  readonly text: string;
}

/** `` statement('load_grant', GRANTS)`SELECT ${columns(GRANTS)} FROM grants WHERE grant_id = $1` `` */
export function statement<Result = unknown>(name: string, shape: Shape<Result> = NOTHING as never) {
  return (texts: TemplateStringsArray, ...parts: readonly Fragment[]): Statement<Result> => ({
    name,
    shape,
    text: fragment(texts, ...parts),
  });
}

export const NOTHING: Shape<object> = { fields: {} };

/** After every time. */
export const LAST_TIME: Fragment = either({
  sqlite: '9e15',
  postgres: "'infinity'::timestamptz",
});

export function fragment(texts: TemplateStringsArray, ...parts: readonly Fragment[]): Fragment {
  return (dialect) =>
    texts.map((text, index) => `${text}${rendered(parts[index] ?? '', dialect)}`).join('');
}

/** The text for each database; one that is not named has none. */
export function either(texts: { readonly [Name in SqlDialect['name']]?: Fragment }): Fragment {
  return (dialect) => rendered(texts[dialect.name] ?? '', dialect);
}

/** Compares with what a query finds. PostgreSQL finds it first, so that it reads the rows by their index. */
export function among(query: Fragment): Fragment {
  return either({ sqlite: fragment`IN (${query})`, postgres: fragment`= ANY (ARRAY(${query}))` });
}

/** The two lists `$1` and `$2` side by side, as columns `one` and `other`. */
export function pairsOf(one: string, other: string): Fragment {
  return either({
    sqlite: `(SELECT a.value AS one, b.value AS other
      FROM json_each($1) a JOIN json_each($2) b ON b.key = a.key)`,
    postgres: `(SELECT * FROM unnest($1::${one}[], $2::${other}[]) AS p (one, other))`,
  });
}

export const GREATEST = either({ sqlite: 'max', postgres: 'greatest' });
export const LEAST = either({ sqlite: 'min', postgres: 'least' });

/** The columns of a shape, of the table that `alias` names. */
export function columns<Result>({ fields }: Shape<Result>, alias?: string): Fragment {
  return (dialect) => tableIn(dialect, { name: '', fields }).list(alias);
}

/** The rows of the group as a field of `lists`: `(SELECT ${rowsOf(VOTES, 'v', 'v.place')} FROM approvals v …)`. */
export function rowsOf<Result>(shape: Shape<Result>, alias: string, order: string): Fragment {
  return (dialect) => {
    const own = tableIn(dialect, { name: '', fields: shape.fields }).columns;
    return dialect.list([...own, ...Object.keys(shape.lists ?? {})], alias, order);
  };
}

/** A table with the columns beside its record. */
export function whole<Kept, Beside>({ fields, beside }: Description<Kept>): Shape<Kept & Beside> {
  return { fields: { ...fields, ...beside } as never };
}

/** A shape with lists of rows. */
export function withLists<Kept, Lists extends Readonly<Record<string, AnyShape>>>(
  { fields }: Shape<Kept>,
  lists: Lists,
): Shape<Kept & RowsOf<Lists>> & { readonly lists: Lists } {
  return { fields: fields as never, lists };
}

/** The same rows, each read alone. Their key is what these columns have, as one text. */
export function unread<Result>(
  shape: Shape<Result>,
  ...key: readonly string[]
): Shape<Unread<Result>> {
  return { ...(shape as AnyShape), key } as Shape<never>;
}

type RowsOf<Lists> = {
  readonly [Field in keyof Lists]: Lists[Field] extends Shape<infer Item> ? readonly Item[] : never;
};

/** Some columns of a table. */
export function part<Kept, Field extends keyof Kept>(
  { fields }: Shape<Kept>,
  ...names: readonly Field[]
): Shape<Pick<Kept, Field>> {
  const chosen = names.map((name) => [name, fields[name]]);
  return { fields: Object.fromEntries(chosen) };
}

export function insertion<Kept, Key extends Fragment | undefined = undefined>(
  name: string,
  table: Description<Kept>,
  key?: Key,
): Insertion<Kept, Key> {
  return { name, table, key: key as Key };
}

export function replacement<Kept>(
  name: string,
  table: Description<Kept>,
  where: Fragment,
): Replacement<Kept> {
  return { name, table, where };
}

/** The parameters that a text has. */
export function parametersIn(text: string): number {
  return Math.max(0, ...[...text.matchAll(/[$?](\d+)/g)].map(([, number]) => Number(number)));
}

/** What replaces the row with this key in the SQL of both databases: the columns of the key stay. */
export function updateBeside(key: string, columns: readonly string[]): string {
  const own = new Set(key.match(/\w+/g));
  const others = columns.filter((column) => !own.has(column));
  if (others.length === 0) return 'DO NOTHING';
  return `DO UPDATE SET ${others.map((column) => `${column} = excluded.${column}`).join(', ')}`;
}

/** A lock on a text. `number` is one that no other program locks in this database. */
export function lockOnText(name: string, number: number): Lock {
  return { name, text: `SELECT pg_advisory_xact_lock(${number}, hashtext($1))` };
}

export function lockOnRow({ name, table, key }: Record<'name' | 'table' | 'key', string>): Lock {
  return { name, text: `SELECT FROM ${table} WHERE ${key} = $1 FOR UPDATE` };
}

/** Readers go on; those that change the table wait for each other. */
export function lockOnTable(name: string, table: string): Lock {
  return { name, text: `LOCK TABLE ${table} IN SHARE ROW EXCLUSIVE MODE` };
}

function rendered(text: Fragment, dialect: SqlDialect): string {
  return typeof text === 'string' ? text : text(dialect);
}

/** The text of a statement, or of a part of one, in the SQL of a database. */
export function textIn(dialect: SqlDialect, text: Fragment): string {
  return dialect.translate(rendered(text, dialect));
}

/** Reads a row of a result. */
export function readerIn<Result>(dialect: SqlDialect, shape: Shape<Result>): (row: Row) => Result {
  const read = wholeReaderIn(dialect, shape);
  const { key } = shape;
  if (!key) return read;
  const keyOf = (row: Row) =>
    key
      .map((column) => row[column])
      .join(' ')
      .trimEnd();
  const later = (row: Row): Unread<Result> => ({ key: keyOf(row), read: () => read(row) });
  return later as (row: Row) => never;
}

function wholeReaderIn<Result>(
  dialect: SqlDialect,
  { fields, lists = {} }: Shape<Result>,
): (row: Row) => Result {
  const { read } = tableIn<Result>(dialect, { name: '', fields });
  const inner = Object.entries(lists).map(([field, shape]) => {
    return { field, readOne: readerIn(dialect, shape) };
  });
  if (inner.length === 0) return read;
  return (row) => {
    const found: Record<string, unknown> = read(row) as Row;
    for (const { field, readOne } of inner) found[field] = listIn(row[field]).map(readOne);
    return found as Result;
  };
}

/** SQLite returns JSON as text; PostgreSQL returns null for no rows. */
function listIn(value: unknown): readonly Row[] {
  return (typeof value === 'string' ? JSON.parse(value) : (value ?? [])) as readonly Row[];
}
