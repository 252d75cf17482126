/**
 * Appends entries once, also when an answer is lost.
 *
 * Each attempt hands over its entries under a batch of its own, which it claims in its transaction. A repetition
 * of the attempt claims the same batch, and so waits for the first one and does nothing if that committed. When
 * the store gives up, this process remembers the batch of each entry: a later repetition makes the batch void,
 * or learns that it committed. All repetitions come from the process that appended first, because ids of
 * entries are random.
 *
 * @module
 */

import type { EntryRecord } from '../../../domain/log/entry.ts';
import { equalBytes } from '../../../domain/wire/hash.ts';
import { newUuid, type Platform } from '../../../platform.ts';
import type { Steps } from '../../../steps.ts';
import { findEntry, type LogSight } from '../../log/search.ts';
import { type LogStore, OutcomeUnknown } from '../../port/store.ts';
import type { SqlReader } from '../../sql/sql.ts';
import { resolved } from '../calls/resolve.ts';
import type { Database, Statement } from '../connection.ts';
import { snapshotStory } from '../sql.ts';

/** Entries whose batches are remembered, and for how long: less than the database keeps batches. */
const REMEMBERED_MAX = 16_384;
const REMEMBERED_MS = 50 * 60_000;

export interface Repeats {
  /** Runs a change that claims this batch, and repeats it when its answer is lost. */
  attempt(
    entries: readonly EntryRecord[],
    change: (batch: string) => Promise<unknown>,
  ): Promise<void>;
  /** Those of the entries that no earlier attempt has stored or still can store. */
  unstored(entries: readonly EntryRecord[]): Promise<EntryRecord[]>;
}

interface Handed {
  readonly batch: string;
  /** On the monotonic clock. */
  readonly at: number;
}

interface RepeatParts {
  readonly database: Database;
  readonly sight: LogSight;
  readonly sequence: LogStore['sequence'];
  readonly resolveTimeoutMs: number;
}

export function createRepeats(parts: RepeatParts): Repeats {
  const { database, resolveTimeoutMs } = parts;
  const { platform } = database;
  // In order of their times.
  const unknown = new Map<string, Handed>();

  function remember(entries: readonly EntryRecord[], batch: string): void {
    const at = platform.monotonic();
    for (const { entry_id } of entries) {
      unknown.delete(entry_id);
      unknown.set(entry_id, { batch, at });
    }
    for (const [entryId, { at: begun }] of unknown) {
      if (unknown.size <= REMEMBERED_MAX && begun > at - REMEMBERED_MS) break;
      unknown.delete(entryId);
    }
  }

  const forget = (entries: readonly EntryRecord[]) => {
    if (unknown.size === 0) return;
    for (const { entry_id } of entries) unknown.delete(entry_id);
  };

  function batchOf({ entry_id }: EntryRecord): string | undefined {
    const handed = unknown.get(entry_id);
    return handed && handed.at > platform.monotonic() - REMEMBERED_MS ? handed.batch : undefined;
  }

  return {
    async attempt(entries, change) {
      const batch = newBatch(platform);
      const once = () => change(batch);
      try {
        await resolved(platform, resolveTimeoutMs, once, once);
        forget(entries);
      } catch (error) {
        if (error instanceof OutcomeUnknown) remember(entries, batch);
        throw error;
      }
    },

    async unstored(entries) {
      const committed = new Set<string>();
      for (const batch of new Set(entries.flatMap((entry) => batchOf(entry) ?? []))) {
        if (!(await isVoid(database, batch))) committed.add(batch);
      }
      // Also those of a void batch: the database may have forgotten that it had committed.
      return absent(
        parts,
        entries.filter((entry) => !committed.has(batchOf(entry) ?? '')),
      );
    },
  };
}

/** In order of their times, so that the oldest ones are deleted without an index of its own. */
function newBatch(platform: Platform): string {
  const time = platform.now().toString(16).padStart(12, '0').slice(-12);
  return `${time.slice(0, 8)}-${time.slice(8)}${newUuid(platform).slice(13)}`;
}

/** True: no attempt with this batch will commit from now on. */
async function isVoid(database: Database, batch: string): Promise<boolean> {
  const [row] = await database.write<{ is_void: boolean }>(MAKE_VOID, [batch]);
  return row?.is_void ?? false;
}

/** The entries that the log does not have. Throws for one whose id another entry has. */
async function absent(
  { database, sight, sequence }: RepeatParts,
  entries: readonly EntryRecord[],
): Promise<EntryRecord[]> {
  if (entries.length === 0) return [];
  await sequence();
  return snapshotStory(database, (sql) => absentIn(sql, sight, entries));
}

function* absentIn(
  sql: SqlReader,
  sight: LogSight,
  entries: readonly EntryRecord[],
): Steps<EntryRecord[]> {
  const absent: EntryRecord[] = [];
  for (const entry of entries) {
    const { entry_id, leaf_hash } = entry;
    const stored = yield* findEntry(sql, sight, { entry_id });
    if (!stored) absent.push(entry);
    else if (!equalBytes(stored.leaf_hash, leaf_hash)) {
      throw new Error(`Cannot append entry "${entry_id}": another entry has this id`);
    }
  }
  return absent;
}

/** Waits for an attempt that is under way. Repeating it gives the same answer. */
const MAKE_VOID: Statement = {
  name: 'make_batch_void',
  text: `INSERT INTO handed (batch, is_void) VALUES ($1, true)
    ON CONFLICT (batch) DO UPDATE SET batch = EXCLUDED.batch RETURNING is_void`,
};
