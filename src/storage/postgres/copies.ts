/**
 * Which copy of the database answers: notices when connections begin to lead to another one.
 *
 * A promoted standby, a server that was set back, and a database that was restored under the same name all answer at
 * the address of the one before, and may lack what it had. Each new connection asks the server who it is: its
 * system, its timeline, the database, and how far its write-ahead log has come. A pooler keeps its own connections
 * to servers, so the question is also repeated. When the answer is another one, connections to the copy before are
 * ended, the watcher compares the new copy, and until it is done no change that could be meant for the copy before is
 * sent.
 *
 * A server that does not let its role ask is not watched.
 *
 * @module
 */

import pg from 'pg';
import { StoreUnavailable } from '../port/store.ts';

/** A connection, as far as this file needs it. */
interface Connected {
  query<Row extends pg.QueryResultRow>(text: string): Promise<{ readonly rows: Row[] }>;
}

interface Copy {
  readonly system: string;
  /** Empty while the server is a standby. */
  readonly timeline: string;
  readonly database: string;
  /** How many bytes of its log the server has made durable. */
  readonly position: bigint;
}

/** Compares the new copy. Changes wait until it settles, however it does. */
type Watcher = () => Promise<unknown>;

export interface Copies {
  /** Asks over this connection which copy it leads to. Rejects when the connection is lost. */
  look(client: Connected): Promise<void>;
  /** False for a connection to an earlier copy. */
  isCurrent(client: Connected): boolean;
  /** Throws `StoreUnavailable` while a new copy is being compared. */
  refuseUncompared(): void;
  /** Returns what removes the watcher. */
  watch(watcher: Watcher): () => void;
}

/** `pending` resolves when all changes have ended that are under way now. */
export function createCopies(pending: () => Promise<unknown>): Copies {
  const seenIn = new WeakMap<Connected, number>();
  let known: Copy | undefined;
  let changes = 0;
  let comparing = 0;
  const watchers = new Set<Watcher>();

  function changed(): void {
    changes += 1;
    if (watchers.size === 0) return;
    comparing += 1;
    // Changes that began before are refused as long as any of them is left.
    const waited = [pending(), ...[...watchers].map((compare) => compare())];
    void Promise.allSettled(waited).then(() => {
      comparing -= 1;
    });
  }

  return {
    async look(client) {
      // Read before the question: another connection may hear of a later position meanwhile.
      const before = known;
      const found = await copyAt(client);
      if (found && known && isOther(known, found, before)) {
        changed();
        // Also a position that is further back: a server that was set back stays behind the old one for hours.
        known = found;
      } else if (found) known = later(known, found);
      seenIn.set(client, changes);
    },
    isCurrent: (client) => seenIn.get(client) === changes,
    refuseUncompared() {
      if (comparing === 0) return;
      throw new StoreUnavailable(
        'Cannot write: the address leads to another copy of the database, which is being compared with what was signed',
      );
    },
    watch(watcher) {
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
  };
}

function isOther(known: Copy, found: Copy, before: Copy | undefined): boolean {
  if (!isSame(known, found)) return true;
  // A server that was set back to an earlier state of itself.
  return before !== undefined && isSame(before, found) && found.position < before.position;
}

function isSame(one: Copy, other: Copy): boolean {
  const { system, timeline, database } = one;
  return system === other.system && timeline === other.timeline && database === other.database;
}

function later(known: Copy | undefined, found: Copy): Copy {
  return known && isSame(known, found) && known.position > found.position ? known : found;
}

async function copyAt(client: Connected): Promise<Copy | undefined> {
  try {
    const { rows } =
      await client.query<Record<'system' | 'timeline' | 'database' | 'position', string>>(WHO);
    const [row] = rows;
    return row && { ...row, position: BigInt(row.position) };
  } catch (error) {
    if (error instanceof pg.DatabaseError && NOT_TOLD.includes(error.code ?? '')) return undefined;
    throw error;
  }
}

/** The role may not ask, or this kind of server has no such function. */
const NOT_TOLD = ['42501', '42883', '0A000'];

/** The name of a file of the log begins with the timeline, eight digits long. A standby has no current one. */
const WHO = `SELECT (SELECT system_identifier::text FROM pg_control_system()) AS system,
  CASE WHEN pg_is_in_recovery() THEN ''
    ELSE left(pg_walfile_name(pg_current_wal_flush_lsn()), 8) END AS timeline,
  (SELECT oid::text FROM pg_database WHERE datname = current_database()) AS database,
  CASE WHEN pg_is_in_recovery() THEN '0'
    ELSE pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::text END AS position`;
