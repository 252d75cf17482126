/**
 * The port between a story and a database. A *story* is one transition or read of the store, written once for both databases.
 *
 * A story is a generator over `Sql` in `storage/stories`; `stories.ts` there names it as a read, as a change, or as a change
 * of one statement (`SqlWriter`). SQLite runs a change in its group commit, under one write lock, so what it read still
 * holds. PostgreSQL runs it in a transaction, and again after a deadlock. Both may run a story twice, so it changes nothing
 * outside `Sql`.
 *
 * To write one:
 *
 * - A statement stands below its story (`statement.ts`), as SQL of PostgreSQL with `$1`. Its shape says how rows are read:
 *   a table of `storage/tables`, or `part` of one. Where an index or a planner wants another text, `either` has both.
 * - Each statement is one trip to PostgreSQL. What is read together is one statement: rows of another table come as a
 *   list in the row (`rowsOf`). A change that must find a row has RETURNING, and `one` says whether it found it.
 * - PostgreSQL sees what others commit between two statements. Take the lock in one statement (`lock`, or FOR UPDATE), and
 *   read in the next: FOR UPDATE returns the locked row as it is now, but rows of another table, a list too, as they were
 *   before it waited. `postgres/schema/functions.ts` has the order of locks: the gate of a token tree (`endedActor`) comes
 *   before texts and rows.
 * - `append` follows every lock that orders its entry, so that the log has the entries in the order of the locks. After
 *   `insertRoot` and `insertChild`, which append, a story changes only rows that are new or that it has locked.
 * - A story that returns commits what it changed, also when it returns a refusal; only a throw undoes it.
 * - A list is a read: a story over `SqlReader` with one statement.
 *
 * @module
 */

import type { EntryRecord } from '../../domain/log/entry.ts';
import type { Steps } from '../../steps.ts';
import type { ActorEnded, TokenRecord } from '../port/records.ts';
import type { ChildBounds, TokenStore } from '../port/token-store.ts';
import type { Fragment, Insertion, Lock, Replacement, Statement } from './statement.ts';

/** A list is a parameter for `= ANY ($1)`. */
export type Value =
  | string
  | number
  | bigint
  | boolean
  | Date
  | Uint8Array
  | readonly (string | number | Date)[]
  | null
  | undefined;

export interface SqlReader {
  one<Result>(statement: Statement<Result>, ...values: Value[]): Steps<Result | undefined>;
  all<Result>(statement: Statement<Result>, ...values: Value[]): Steps<Result[]>;
}

/** For a change of one statement. PostgreSQL commits it by itself, in one trip. */
export interface SqlWriter extends SqlReader {
  /** Executes a statement and returns nothing. */
  run(statement: Statement<unknown>, ...values: Value[]): Steps<void>;
  /** Stores the record in place of the row that `values` select. False when they select none. */
  replace<Kept>(replacement: Replacement<Kept>, record: Kept, ...values: Value[]): Steps<boolean>;
}

/** For a change without an entry, of one statement or several. The parts of the log are stories over it. */
export interface SqlRows extends SqlWriter {
  insert<Kept>(insertion: Insertion<Kept>, records: readonly Kept[]): Steps<void>;
  /** False when a row with the key of the insertion is there. */
  insertNew<Kept>(insertion: Insertion<Kept, Fragment>, record: Kept): Steps<boolean>;
  /** Inserts the records, each in place of the row with the key of the insertion. */
  put<Kept>(insertion: Insertion<Kept, Fragment>, records: readonly Kept[]): Steps<void>;
  /** The key is that of the row or the text that is locked. */
  lock(lock: Lock, key?: string): Steps<void>;
}

export interface Sql extends SqlRows {
  /** The clock of the store. */
  now(): Date;
  /** Appends an entry to the log, with the change that it records. */
  append(entry: EntryRecord): Steps<void>;
  /** Whether the token of the caller has ended. A change asks this before it takes another lock. */
  endedActor(actor: string | undefined, now: Date): Steps<ActorEnded | undefined>;
  /** The same, for a change that revokes a token: until it ends, no admission and no delegation of the tree runs. */
  closeGate(tokenId: string, actor: string | undefined, now: Date): Steps<ActorEnded | undefined>;
  /** Shares the gate of the token's tree: no token of it is revoked until the change ends. */
  joinGate(tokenId: string | undefined): Steps<void>;
  /** With the entry of the issuance; the same for a child. */
  insertRoot(token: TokenRecord, entry: EntryRecord): Steps<void>;
  insertChild(
    token: TokenRecord,
    entry: EntryRecord,
    bounds: ChildBounds,
  ): Steps<Awaited<ReturnType<TokenStore['insertChild']>>>;
}

// biome-ignore lint/suspicious/noExplicitAny: each story has parameters of its own.
type Story<Port> = (sql: Port, ...args: any[]) => Steps<unknown>;

/** The stories as methods of the store. */
export type Methods<Stories> = {
  readonly [Name in keyof Stories]: Stories[Name] extends (
    sql: never,
    ...args: infer Args
  ) => Steps<infer Result>
    ? (...args: Args) => Promise<Result>
    : never;
};

/** `perform` runs the story with this name on the database. */
export function methodsOf<Port, Stories extends Readonly<Record<string, Story<Port>>>>(
  stories: Stories,
  perform: (story: (sql: Port) => Steps<unknown>, name: string) => Promise<unknown>,
): Methods<Stories> {
  const methods = Object.entries(stories).map(([name, story]) => {
    return [name, (...args: unknown[]) => perform((sql) => story(sql, ...args), name)];
  });
  return Object.fromEntries(methods);
}
