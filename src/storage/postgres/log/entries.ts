/**
 * Queues entries for the log: alone, or in the statement of the transition they record.
 *
 * One row of the queue has all entries of a statement, as lines, so that the database joins rows into segments
 * without a trip of the bytes through the process.
 *
 * @module
 */

import type { EntryRecord } from '../../../domain/log/entry.ts';
import { refuseUnstorable, type Segment, segmentsOf } from '../../log/segment.ts';
import type { BindingRecord } from '../../port/records.ts';
import { createBatcher } from '../batch.ts';
import type { Database, Session, Statement } from '../connection.ts';
import { isStoreFailure } from '../failure.ts';
import { BINDINGS, integers } from '../rows.ts';
import type { RecentEntries } from './recent.ts';
import type { Repeats } from './repeats.ts';

/** Calls whose entries share one commit. Entries are small; the bound limits the statement's size. */
const APPEND_BATCH = { sizeMax: 128, tripsMax: 4 };

/** In bytes of leaves and personal fields: a row of the queue becomes one segment. */
const ROW_BYTES_MAX = 262_144;

const QUEUE_COLUMNS = 'count, hashes, leaves, personal, retained';

/** The number of parameters of `enqueueFrom`. */
export const ROW_VALUES = 5;

/** Inserts the row whose values begin at this parameter, for every row that `from` selects. */
export function enqueueFrom(first: number, from: string): string {
  const types = ['integer', 'bytea', 'bytea', 'bytea', 'timestamptz[]'];
  const values = types.map((type, place) => `$${first + place}::${type}`);
  return `INSERT INTO queue (${QUEUE_COLUMNS}) SELECT ${values.join(', ')} ${from}`;
}

/** All entries in one row. */
export function rowValues(entries: readonly EntryRecord[]): unknown[] {
  for (const entry of entries) refuseUnstorable(entry);
  const [row] = segmentsOf(0, entries, Number.POSITIVE_INFINITY);
  const { count, hashes, leaves, personal } = row as Segment;
  return [count, hashes, leaves, personal, retainedIn(entries)];
}

/** Null where no entry states a retention, as hardly any does. */
function retainedIn(entries: readonly EntryRecord[]): (Date | null)[] | null {
  if (entries.every(({ retain_until }) => retain_until === undefined)) return null;
  return entries.map(({ retain_until }) => retain_until ?? null);
}

/**
 * Inserts those entries, of the values that begin at this parameter, that `on` joins by their `place` and
 * selects. The bytes are cut out of the joined ones.
 */
export function enqueueSomeFrom(first: number, on: string): string {
  const [hashes, leaves, personal] = [0, 1, 2].map((place) => `$${first + place}::bytea`);
  const bounds = [3, 4, 5, 6].map((place) => `$${first + place}::integer[]`).join(', ');
  const inOrder = (bytes: string) => `string_agg(${bytes}, ''::bytea ORDER BY place)`;
  return `INSERT INTO queue (${QUEUE_COLUMNS})
    SELECT count(*), ${inOrder(`substring(${hashes} FROM 32 * place::integer - 31 FOR 32)`)},
      ${inOrder(`substring(${leaves} FROM leaf_at + 1 FOR leaf_bytes)`)},
      ${inOrder(`substring(${personal} FROM personal_at + 1 FOR personal_bytes)`)},
      CASE WHEN count(retain_until) > 0 THEN array_agg(retain_until ORDER BY place) END
    FROM (
      SELECT e.*, sum(leaf_bytes + personal_bytes) OVER (ORDER BY e.place) / ${ROW_BYTES_MAX} AS part
      FROM unnest(${bounds}, $${first + 7}::timestamptz[]) WITH ORDINALITY
        AS e (leaf_at, leaf_bytes, personal_at, personal_bytes, retain_until, place)
      ${on}
    ) chosen GROUP BY part ORDER BY part`;
}

export function someValues(entries: readonly EntryRecord[]): unknown[] {
  const [, hashes, leaves, personal, retained] = rowValues(entries);
  const ofLeaves = bounds(entries.map(({ leaf }) => leaf.length + 1));
  const ofPersonal = bounds(entries.map((entry) => entry.personal.length + 1));
  return [
    ...[hashes, leaves, personal, ofLeaves.at, ofLeaves.bytes, ofPersonal.at, ofPersonal.bytes],
    retained ?? entries.map(() => null),
  ];
}

function bounds(bytes: readonly number[]): { at: string; bytes: string } {
  let end = 0;
  const at = bytes.map((length) => {
    end += length;
    return end - length;
  });
  return { at: integers(at), bytes: integers(bytes) };
}

/** Queues one entry in the current transaction. */
export async function enqueue(session: Session, entry: EntryRecord): Promise<void> {
  await session.run(ENQUEUE, rowValues([entry]));
}

export interface Appended {
  readonly entries: readonly EntryRecord[];
  readonly bindings: readonly BindingRecord[];
}

/** Queues entries without another change. Concurrent calls share one commit. */
export function createAppend(
  database: Database,
  repeats: Repeats,
  recent: RecentEntries,
): (appended: Appended, isRepeat: boolean) => Promise<void> {
  const appendAlone = (appended: Appended) => {
    return repeats.attempt(appended.entries, (batch) => appendOnce(database, appended, batch));
  };
  const share = createBatcher<Appended, void>(database.platform, APPEND_BATCH, async (calls) => {
    try {
      const entries = calls.flatMap((call) => call.entries);
      await appendAlone({ entries, bindings: calls.flatMap(({ bindings }) => bindings) });
      recent.add(entries);
      return calls.map(() => undefined);
    } catch (error) {
      if (isStoreFailure(error) || calls.length === 1) throw error;
      // One of the calls is defective: the others must succeed.
      return calls.map(appendAlone);
    }
  });
  return async (appended, isRepeat) => {
    if (!isRepeat) return share(appended);
    const entries = await repeats.unstored(appended.entries);
    // The bindings are stored with the entries.
    if (entries.length === 0 && appended.entries.length > 0) return;
    await share({ entries, bindings: appended.bindings });
  };
}

async function appendOnce(database: Database, appended: Appended, batch: string): Promise<void> {
  const { entries, bindings } = appended;
  const bytes = entries.reduce((sum, { leaf, personal }) => sum + leaf.length + personal.length, 0);
  if (bytes > ROW_BYTES_MAX || entries.length === 0) {
    await database.transaction((session) => appendIn(session, appended, batch));
    return;
  }
  await database.write(APPEND, [...rowValues(entries), batch, BINDINGS.rows(bindings)]);
}

/** Appends in the current transaction. False when an earlier attempt with this batch has done it. */
export async function appendIn(
  session: Session,
  { entries, bindings }: Appended,
  batch: string,
): Promise<boolean> {
  const claimed = await session.run(CLAIM, [batch]);
  if (claimed.length === 0) return false;
  if (bindings.length > 0) await session.run(INSERT_BINDINGS, [BINDINGS.rows(bindings)]);
  let at = 0;
  for (const { count } of segmentsOf(0, entries, ROW_BYTES_MAX)) {
    await session.run(ENQUEUE, rowValues(entries.slice(at, at + count)));
    at += count;
  }
  return true;
}

const ENQUEUE: Statement = { name: 'enqueue', text: enqueueFrom(1, '') };

/** Of two attempts with one batch the second waits for the first, and inserts only if that rolled back. */
const HAND = 'INSERT INTO handed (batch) VALUES';
const ONCE = 'ON CONFLICT (batch) DO NOTHING RETURNING batch';

const CLAIM: Statement = { name: 'claim_batch', text: `${HAND} ($1) ${ONCE}` };

const NEW_BINDINGS = 'ON CONFLICT (binding_id) DO NOTHING';

const INSERT_BINDINGS: Statement = {
  name: 'append_bindings',
  text: `${BINDINGS.insert(1)} ${NEW_BINDINGS}`,
};

const APPEND: Statement = {
  name: 'append',
  text: `WITH h AS (${HAND} ($${ROW_VALUES + 1}) ${ONCE}),
      b AS (${BINDINGS.insert(ROW_VALUES + 2)} ${NEW_BINDINGS})
    ${enqueueFrom(1, 'FROM h')}`,
};
