/**
 * The log in segments: one row a commit, tiles of the tree, index blocks. Replaces one row an entry.
 *
 * The entries of a store of an earlier version are moved in slices, each in its own transaction. The old
 * tables stay whole until the tree over the moved entries is the tree that the old head has.
 *
 * @module
 */

import type { StoredEntry } from '../../../domain/log/entry.ts';
import { firstPlaceOf, leafIndexOf } from '../../../domain/log/origin.ts';
import { entryFaults } from '../../fsck/entry.ts';
import type { TreeHead } from '../../port/store.ts';
import type { Moved } from '../../port/versions.ts';
import type { Connection } from '../connection.ts';
import { insertPlaced } from '../log/placed.ts';
import { peaksIn } from '../log/tree.ts';
import { entryOf, type Stored } from '../rows.ts';

const SEGMENTS = `
  CREATE TABLE segments (
    first    INTEGER PRIMARY KEY CHECK (first >= 0),
    count    INTEGER NOT NULL CHECK (count > 0),
    hashes   BLOB NOT NULL CHECK (length(hashes) = 32 * count),
    leaves   BLOB NOT NULL,
    personal BLOB NOT NULL
  ) STRICT;

  CREATE TABLE tiles (
    id     INTEGER PRIMARY KEY,
    hashes BLOB NOT NULL CHECK (length(hashes) % 32 = 0 AND length(hashes) <= 8192)
  ) STRICT;

  CREATE TABLE blocks (
    first   INTEGER PRIMARY KEY CHECK (first >= 0),
    count   INTEGER NOT NULL CHECK (count > 0),
    newest  INTEGER NOT NULL,
    latest  INTEGER NOT NULL,
    buckets BLOB NOT NULL
  ) STRICT;

  CREATE TABLE buckets (
    id   INTEGER PRIMARY KEY,
    data BLOB NOT NULL
  ) STRICT;

  CREATE TABLE retentions (
    retain_until INTEGER NOT NULL,
    place        INTEGER NOT NULL,
    PRIMARY KEY (retain_until, place)
  ) STRICT, WITHOUT ROWID;

  CREATE TRIGGER segments_are_kept BEFORE DELETE ON segments
  BEGIN SELECT raise(ABORT, 'the log is append-only'); END;

  CREATE TRIGGER segments_only_lose BEFORE UPDATE ON segments
  WHEN (NEW.first, NEW.count, NEW.hashes) IS NOT (OLD.first, OLD.count, OLD.hashes)
    OR length(NEW.leaves) > length(OLD.leaves) OR length(NEW.personal) > length(OLD.personal)
    OR length(NEW.leaves) + length(NEW.personal) = length(OLD.leaves) + length(OLD.personal)
  BEGIN SELECT raise(ABORT, 'the log is append-only'); END;

  CREATE TRIGGER segments_follow BEFORE INSERT ON segments
  WHEN NEW.first < (SELECT first + count FROM segments ORDER BY first DESC LIMIT 1)
  BEGIN SELECT raise(ABORT, 'the log is append-only'); END;

  CREATE TRIGGER tiles_only_grow BEFORE UPDATE ON tiles
  WHEN NEW.id <> OLD.id OR substr(NEW.hashes, 1, length(OLD.hashes)) IS NOT OLD.hashes
  BEGIN SELECT raise(ABORT, 'the log is append-only'); END;

  CREATE TRIGGER tiles_are_kept BEFORE DELETE ON tiles
  BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
`;

/** Entries that one slice moves. */
const SLICE = 4_096;

/** How far the entries were moved. Dropped with the old tables. */
const MOVED = `
  CREATE TABLE moved (
    size    INTEGER NOT NULL,
    peaks   BLOB NOT NULL,
    count   INTEGER NOT NULL,
    entries INTEGER NOT NULL
  ) STRICT;
  INSERT INTO moved (size, peaks, count, entries) SELECT 0, x'', 0, count(*) FROM log;
`;

const OLD = `
  DROP TABLE log;
  DROP TABLE nodes;
  DROP TABLE marks;
  DROP TABLE moved;
`;

/** Moves the next entries. Undefined when none is left. Only inside a transaction. */
export function moveLog(connection: Connection): Moved | undefined {
  const isBegun = connection.get("SELECT 1 FROM sqlite_schema WHERE name = 'moved'");
  if (!isBegun) connection.script(`${SEGMENTS}${MOVED}`);
  const begun = headIn(connection, 'moved');
  const entries = connection
    .all<Stored<StoredEntry>>(
      'SELECT * FROM log WHERE sequence >= ? ORDER BY sequence LIMIT ?',
      begun.first + begun.size,
      SLICE,
    )
    .map(entryOf);
  for (const entry of entries) refuseDamaged(entry);
  const head = insertPlaced(connection, begun, entries);
  const peaks = Buffer.concat(head.peaks);
  connection.run(KEEP_MOVED, head.first + head.size, peaks, entries.length);
  if (entries.length === SLICE) return movedIn(connection);
  refuseOther(head, headIn(connection, 'head'));
  connection.script(OLD);
  return undefined;
}

const KEEP_MOVED = 'UPDATE moved SET size = ?, peaks = ?, count = count + ?';

/** Columns are not moved, so what they say against the leaf would be lost. */
function refuseDamaged(entry: StoredEntry): void {
  const [fault] = entryFaults(entry);
  if (fault === undefined) return;
  throw new Error(`Cannot move the log: entry ${entry.sequence}: ${fault}; ${REMEDY}`);
}

const REMEDY = 'run "writ fsck" of the version before';

function movedIn(connection: Connection): Moved {
  const row = connection.get<{ moved: bigint; entries: bigint }>(
    // Counted once, when the move begins: to count again in each slice would read the log for each.
    'SELECT count AS moved, max(count, entries) AS entries FROM moved',
  );
  return { moved: Number(row?.moved), entries: Number(row?.entries) };
}

function headIn(connection: Connection, table: 'head' | 'moved'): TreeHead {
  const row = connection.get<{ size: bigint; peaks: Uint8Array }>(
    `SELECT size, peaks FROM ${table}`,
  );
  const place = Number(row?.size);
  return {
    first: firstPlaceOf(place),
    size: leafIndexOf(place),
    peaks: peaksIn(row?.peaks ?? new Uint8Array()),
  };
}

/** The old tables stay where the tree over their entries is another than their head says. */
function refuseOther(moved: TreeHead, head: TreeHead): void {
  const isSame = moved.first === head.first && moved.size === head.size;
  if (isSame && Buffer.concat(moved.peaks).equals(Buffer.concat(head.peaks))) return;
  const [found, said] = [moved.first + moved.size, head.first + head.size];
  throw new Error(
    `Cannot move the log: its entries end at ${found} and are not the tree of its head, which ends at ${said}; ${REMEDY}`,
  );
}
