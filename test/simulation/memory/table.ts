/**
 * Tables of the simulated store: maps by key that can undo what one transition did to them.
 *
 * A row is never changed in place: a transition puts another row under its key. So undoing needs only the row
 * that was there before.
 *
 * @module
 */

/** What the running transition did, the last act at the end. */
export interface Journal {
  /** Remembers how one act is undone. */
  note(undo: () => void): void;
  /** Runs one transition: whole, or not at all when it throws. */
  run<Result>(transition: () => Result): Result;
}

export interface Table<Row> {
  readonly size: number;
  get(key: string): Row | undefined;
  values(): Iterable<Row>;
  entries(): Iterable<[key: string, row: Row]>;
  /** Throws when the key is taken. */
  insert(key: string, row: Row): void;
  /** Inserts the row, or puts it in place of the one with the key. */
  put(key: string, row: Row): void;
  /** Whether there was one. */
  remove(key: string): boolean;
}

export function createJournal(): Journal {
  const undoing: (() => void)[] = [];
  let isRunning = false;
  return {
    note: (undo) => void undoing.push(undo),
    run(transition) {
      if (isRunning) throw new Error('Cannot begin a transition: another one is running');
      isRunning = true;
      try {
        return transition();
      } catch (error) {
        while (undoing.length > 0) undoing.pop()?.();
        throw error;
      } finally {
        undoing.length = 0;
        isRunning = false;
      }
    },
  };
}

export function createTable<Row>(name: string, journal: Journal): Table<Row> {
  const rows = new Map<string, Row>();
  const restore = (key: string, before: Row | undefined) => {
    if (before === undefined) rows.delete(key);
    else rows.set(key, before);
  };
  const put = (key: string, row: Row) => {
    const before = rows.get(key);
    journal.note(() => restore(key, before));
    rows.set(key, row);
  };
  return {
    get size() {
      return rows.size;
    },
    get: (key) => rows.get(key),
    values: () => rows.values(),
    entries: () => rows.entries(),
    insert(key, row) {
      if (rows.has(key)) throw new Error(`Cannot insert into ${name}: "${key}" is taken`);
      put(key, row);
    },
    put,
    remove(key) {
      const before = rows.get(key);
      if (before === undefined) return false;
      journal.note(() => restore(key, before));
      return rows.delete(key);
    },
  };
}

/** One text for several parts of a key. No part of a key contains the separator. */
export function keyText(...parts: readonly string[]): string {
  return parts.join('\u0001');
}

/** Orders texts as the databases do, by code and not by language. */
export function textOrder(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

/** Orders by time, and rows of one time by their ids. */
export function timeOrder(one: Date, other: Date, ids: readonly [string, string]): number {
  return one.getTime() - other.getTime() || textOrder(...ids);
}
