/**
 * Queues entries for the log: alone, or in the statement of the transition they record.
 *
 * @module
 */

import type { EntryRecord } from '../../../domain/log/entry.ts';
import { equalBytes } from '../../../domain/wire/hash.ts';
import type { BindingRecord } from '../../port/records.ts';
import { OutcomeUnknown } from '../../port/store.ts';
import { createBatcher } from '../batch.ts';
import { resolved } from '../calls/resolve.ts';
import type { Database, Session, Statement } from '../connection.ts';
import { isDuplicate, isStoreFailure } from '../failure.ts';
import { BINDINGS, column } from '../rows.ts';
import { ENTRY_COLUMNS } from '../schema/log.ts';

/** Calls whose entries share one commit. Entries are small; the bound limits the statement's size. */
const APPEND_BATCH = { sizeMax: 128, tripsMax: 4 };

/** A retry sees entries that got their place during the last try; a whole batch gets its places at once. */
const PLACING_TRIES = 5;

const TYPES: Readonly<Record<string, string>> = {
  timestamp: 'timestamptz',
  retain_until: 'timestamptz',
  leaf: 'bytea',
  personal: 'bytea',
  leaf_hash: 'bytea',
};

const typeOf = (name: string): string => TYPES[name] ?? 'text';

const NAMES = ENTRY_COLUMNS.join(', ');

/** Inserts the entry whose values begin at this parameter, for every row that `from` selects. */
export function enqueueFrom(first: number, from: string): string {
  const values = ENTRY_COLUMNS.map((name, place) => `$${first + place}::${typeOf(name)}`);
  return `INSERT INTO queue (${NAMES}) SELECT ${values.join(', ')} ${from}`;
}

/** Inserts those entries, of the columns that begin at this parameter, that `on` joins and selects. */
export function enqueueAllFrom(first: number, on: string): string {
  return `INSERT INTO queue (${NAMES}) SELECT ${NAMES} FROM ${entriesAt(first)} ${on} ORDER BY place`;
}

function entriesAt(first: number): string {
  const arrays = ENTRY_COLUMNS.map((name, place) => `$${first + place}::${typeOf(name)}[]`);
  return `unnest(${arrays.join(', ')}) WITH ORDINALITY AS e (${NAMES}, place)`;
}

/** Many entries, column by column. */
export function entryColumns(entries: readonly EntryRecord[]): unknown[] {
  return ENTRY_COLUMNS.map((name) => column(entries, (entry) => entry[name]));
}

export function entryValues(entry: EntryRecord): unknown[] {
  return ENTRY_COLUMNS.map((name) => entry[name]);
}

/** Queues one entry in the current transaction. */
export async function enqueue(session: Session, entry: EntryRecord): Promise<void> {
  await session.run(ENQUEUE, entryValues(entry));
}

/**
 * Queues entries without another change. Concurrent calls share one commit; the id identifies an entry, so
 * after a lost answer it is queued again.
 */
export function createAppend(
  database: Database,
  resolveTimeoutMs: number,
): (appended: Appended) => Promise<void> {
  const appendAlone = (appended: Appended) => {
    const attempt = () => appendOnce(database, appended);
    return resolved(database.platform, resolveTimeoutMs, attempt, attempt);
  };
  return createBatcher<Appended, void>(database.platform, APPEND_BATCH, async (calls) => {
    try {
      await appendAlone({
        entries: calls.flatMap(({ entries }) => entries),
        bindings: calls.flatMap(({ bindings }) => bindings),
      });
      return calls.map(() => undefined);
    } catch (error) {
      if (isStoreFailure(error) || calls.length === 1) throw error;
      // One of the calls is defective: the others must succeed.
      return calls.map(appendAlone);
    }
  });
}

export interface Appended {
  readonly entries: readonly EntryRecord[];
  readonly bindings: readonly BindingRecord[];
}

async function appendOnce(database: Database, appended: Appended): Promise<void> {
  const { entries } = appended;
  const kept = await untilPlaced(() => database.write<NewEntry>(APPEND, appendValues(appended)));
  if (kept.length === entries.length) return;

  const ids = new Set(kept.map(({ entry_id }) => entry_id));
  const others = entries.filter(({ entry_id }) => !ids.has(entry_id));
  try {
    await refuseOthers(database, others);
  } catch (cause) {
    if (!isStoreFailure(cause)) throw cause;
    // New entries are stored, so `StoreUnavailable` would be wrong.
    throw new OutcomeUnknown('Cannot tell the outcome: repeated entries were not found', { cause });
  }
}

interface NewEntry {
  readonly entry_id: string;
}

/** The statement does not see an entry that gets its place meanwhile; the trigger does, and refuses it. */
export async function untilPlaced<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isDuplicate(error) || tries === PLACING_TRIES) throw error;
    }
  }
}

/** Appends in the current transaction. Resolves with the number of new entries. */
export async function appendIn(session: Session, appended: Appended): Promise<number> {
  return (await session.run<NewEntry>(APPEND, appendValues(appended))).length;
}

function appendValues({ entries, bindings }: Appended): unknown[] {
  return [...entryColumns(entries), BINDINGS.rows(bindings)];
}

/** An existing id with the same leaf is a repetition and accepted; with another leaf it is refused. */
async function refuseOthers(database: Database, entries: readonly EntryRecord[]): Promise<void> {
  const ids = entries.map(({ entry_id }) => entry_id);
  const rows = await database.read<{ entry_id: string; leaf_hash: Uint8Array }>(LEAVES, [ids]);
  const hashes = new Map(rows.map((row) => [row.entry_id, row.leaf_hash]));
  for (const { entry_id, leaf_hash } of entries) {
    const kept = hashes.get(entry_id);
    if (kept && equalBytes(kept, leaf_hash)) continue;
    throw new Error(`Cannot append entry "${entry_id}": another entry has this id`);
  }
}

const ENQUEUE: Statement = { name: 'enqueue', text: enqueueFrom(1, '') };

const UNPLACED = 'WHERE (SELECT l.sequence FROM log l WHERE l.entry_id = e.entry_id) IS NULL';

const APPEND: Statement = {
  name: 'append',
  text: `WITH b AS (${BINDINGS.insert(ENTRY_COLUMNS.length + 1)} ON CONFLICT (binding_id) DO NOTHING)
    ${enqueueAllFrom(1, UNPLACED)} ON CONFLICT (entry_id) DO NOTHING RETURNING entry_id`,
};

const LEAVES: Statement = {
  name: 'leaves',
  text: `SELECT entry_id, leaf_hash FROM queue WHERE entry_id = ANY ($1::text[])
    UNION ALL SELECT entry_id, leaf_hash FROM log WHERE entry_id = ANY ($1::text[])`,
};
