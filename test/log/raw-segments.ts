/**
 * The log of a SQLite file as an attacker sees it: segments whose lines change behind the guards of the store.
 *
 * @module
 */

import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';

/** One entry of a segment. The first two are lines without their ends. */
export interface RawEntry {
  readonly leaf: string;
  readonly personal: string;
  readonly hash: Uint8Array;
}

/** Does not flush: no test asks what a power failure leaves. */
export function openRaw(file: string): DatabaseSyncInstance {
  const raw = new DatabaseSync(file);
  raw.exec('PRAGMA synchronous = OFF; PRAGMA ignore_check_constraints = ON');
  return raw;
}

/** Drops the triggers, which stop an honest writer, and makes them again after the deed. */
function attack(raw: DatabaseSyncInstance, deed: () => void): void {
  raw.exec('BEGIN');
  const guard = dropGuards(raw);
  deed();
  guard();
  raw.exec('COMMIT');
}

/** Drops the triggers. What it returns makes them again. */
export function dropGuards(raw: DatabaseSyncInstance): () => void {
  const found = raw.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all();
  const triggers = found as { name: string; sql: string }[];
  for (const { name } of triggers) raw.exec(`DROP TRIGGER "${name}"`);
  return () => {
    for (const { sql } of triggers) raw.exec(sql);
  };
}

/** A change of the store in this file that no guard stops. */
export function attackFile(file: string, deed: (raw: DatabaseSyncInstance) => void): void {
  const raw = openRaw(file);
  try {
    attack(raw, () => deed(raw));
  } finally {
    raw.close();
  }
}

interface SegmentRow {
  readonly first: number;
  readonly count: number;
  readonly hashes: Uint8Array;
  readonly leaves: Uint8Array;
  readonly personal: Uint8Array;
}

/** Replaces the entries of the segment that has this place. Its number of entries follows. Only in an attack. */
export function editSegment(
  raw: DatabaseSyncInstance,
  place: number,
  change: (entries: RawEntry[]) => readonly RawEntry[],
): void {
  const row = raw
    .prepare('SELECT * FROM segments WHERE first <= ? ORDER BY first DESC LIMIT 1')
    .get(place) as unknown as SegmentRow;
  const [leaves, personal] = [linesOf(row.leaves), linesOf(row.personal)];
  const before = leaves.map((leaf, index) => ({
    leaf,
    personal: personal[index] ?? '',
    hash: row.hashes.slice(32 * index, 32 * (index + 1)),
  }));
  const after = change(before);
  raw
    .prepare('UPDATE segments SET count = ?, hashes = ?, leaves = ?, personal = ? WHERE first = ?')
    .run(
      after.length,
      Buffer.concat(after.map(({ hash }) => hash)),
      textOf(after.map(({ leaf }) => leaf)),
      textOf(after.map((each) => each.personal)),
      row.first,
    );
}

/** Changes one entry where it is. Only in an attack. */
export function editEntry(
  raw: DatabaseSyncInstance,
  place: number,
  change: (entry: RawEntry) => Partial<RawEntry>,
): void {
  const { first } = raw
    .prepare('SELECT max(first) AS first FROM segments WHERE first <= ?')
    .get(place) as { first: number };
  editSegment(raw, place, (entries) => {
    return entries.map((each, index) =>
      first + index === place ? { ...each, ...change(each) } : each,
    );
  });
}

/** A line with another value of one field; undefined leaves it out. */
export function withField(line: string, field: string, value: unknown): string {
  return JSON.stringify({ ...JSON.parse(line), [field]: value });
}

/** What retention leaves of an entry without its contents. */
export function stubOf(leaf: string): string {
  const { entry_id, entry_type, event_class, state, timestamp } = JSON.parse(leaf);
  return JSON.stringify({ entry_id, entry_type, erased: true, event_class, state, timestamp });
}

function linesOf(bytes: Uint8Array): string[] {
  return Buffer.from(bytes).toString().split('\n').slice(0, -1);
}

function textOf(lines: readonly string[]): Buffer {
  return Buffer.from(lines.map((line) => `${line}\n`).join(''));
}
