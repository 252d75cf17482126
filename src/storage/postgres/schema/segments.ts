/**
 * The log in segments: one row a batch, tiles of the tree, index blocks, one row of the queue a statement.
 * Replaces one row an entry.
 *
 * The entries of a store of an earlier version are moved in slices, each in its own transaction. The old
 * tables stay whole until the tree over the moved entries is the tree that the old head has.
 *
 * @module
 */

import type { TreeHead } from '../../port/store.ts';
import type { Moved } from '../../port/versions.ts';
import type { Row } from '../../tables/table.ts';
import type { Session } from '../connection.ts';
import { type HeadRow, headOf, insertPlaced } from '../log/placed.ts';
import { storedEntryOf } from '../rows.ts';

/** The tables of the log that earlier steps made and this one drops. */
export const DROPPED: ReadonlySet<string> = new Set(['log', 'nodes']);

/** Compression of bytes costs more than it saves: salts and hashes are most of them. */
const SEGMENT_TABLES = `
CREATE TABLE segments (
  first bigint PRIMARY KEY CHECK (first >= 0),
  count integer NOT NULL CHECK (count > 0),
  hashes bytea NOT NULL CHECK (length(hashes) = 32 * count),
  leaves bytea NOT NULL,
  personal bytea NOT NULL
);
ALTER TABLE segments ALTER COLUMN hashes SET STORAGE EXTERNAL,
  ALTER COLUMN leaves SET STORAGE EXTERNAL, ALTER COLUMN personal SET STORAGE EXTERNAL;

CREATE TABLE tiles (
  id bigint PRIMARY KEY,
  hashes bytea NOT NULL CHECK (length(hashes) % 32 = 0 AND length(hashes) <= 8192)
);
ALTER TABLE tiles ALTER COLUMN hashes SET STORAGE EXTERNAL;

CREATE TABLE blocks (
  first bigint PRIMARY KEY CHECK (first >= 0),
  count integer NOT NULL CHECK (count > 0),
  newest bigint NOT NULL,
  latest bigint NOT NULL,
  buckets bytea NOT NULL
);

CREATE TABLE buckets (
  id bigint PRIMARY KEY,
  data bytea NOT NULL
);
ALTER TABLE buckets ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE retentions (
  retain_until timestamptz(3) NOT NULL,
  place bigint NOT NULL,
  PRIMARY KEY (retain_until, place)
);

-- Batches of appended entries whose answer may be lost. A void one was claimed before its entries
-- were queued, so that they never will be.
CREATE TABLE handed (
  batch uuid PRIMARY KEY,
  is_void boolean NOT NULL DEFAULT false,
  at timestamptz(3) NOT NULL DEFAULT clock_timestamp()
);

CREATE FUNCTION writ_refuse_gain() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.first, NEW.count, NEW.hashes) IS DISTINCT FROM (OLD.first, OLD.count, OLD.hashes)
    OR length(NEW.leaves) > length(OLD.leaves) OR length(NEW.personal) > length(OLD.personal)
    OR length(NEW.leaves) + length(NEW.personal) = length(OLD.leaves) + length(OLD.personal) THEN
    RAISE EXCEPTION 'Cannot update "segments": entries from % on may only be erased', OLD.first
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE FUNCTION writ_refuse_between() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.first < (SELECT s.first + s.count FROM segments s ORDER BY s.first DESC LIMIT 1) THEN
    RAISE EXCEPTION 'Cannot insert into "segments": it only grows at its end'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE FUNCTION writ_refuse_other_tile() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.id <> OLD.id OR substring(NEW.hashes FROM 1 FOR length(OLD.hashes)) <> OLD.hashes THEN
    RAISE EXCEPTION 'Cannot update "tiles": it only grows'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER segments_altered BEFORE UPDATE ON segments
  FOR EACH ROW EXECUTE FUNCTION writ_refuse_gain();
CREATE TRIGGER segments_inserted BEFORE INSERT ON segments
  FOR EACH ROW EXECUTE FUNCTION writ_refuse_between();
CREATE TRIGGER segments_deleted BEFORE DELETE ON segments
  FOR EACH ROW EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER segments_truncated BEFORE TRUNCATE ON segments
  FOR EACH STATEMENT EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER tiles_altered BEFORE UPDATE ON tiles
  FOR EACH ROW EXECUTE FUNCTION writ_refuse_other_tile();
CREATE TRIGGER tiles_deleted BEFORE DELETE ON tiles
  FOR EACH ROW EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER tiles_truncated BEFORE TRUNCATE ON tiles
  FOR EACH STATEMENT EXECUTE FUNCTION writ_refuse_change();
ALTER TABLE segments ENABLE ALWAYS TRIGGER segments_altered,
  ENABLE ALWAYS TRIGGER segments_inserted, ENABLE ALWAYS TRIGGER segments_deleted,
  ENABLE ALWAYS TRIGGER segments_truncated;
ALTER TABLE tiles ENABLE ALWAYS TRIGGER tiles_altered, ENABLE ALWAYS TRIGGER tiles_deleted,
  ENABLE ALWAYS TRIGGER tiles_truncated;
`;

/** How far the entries were moved. Dropped with the old tables. */
const MOVED = `
CREATE TABLE moved (
  size bigint NOT NULL,
  peaks bytea[] NOT NULL,
  moved bigint NOT NULL,
  entries bigint NOT NULL
);
INSERT INTO moved (size, peaks, moved, entries) SELECT 0, '{}', 0, count(*) FROM log;

-- A process of the version before could still erase an entry that was moved.
CREATE TRIGGER log_moving BEFORE UPDATE ON log
  FOR EACH STATEMENT EXECUTE FUNCTION writ_refuse_change();
`;

/** Entries of the old queue that one row of the new one gets. */
const QUEUED_TOGETHER = 64;

/**
 * Rows live for milliseconds: what they leave behind is cleared by count, not by share. An entry that was
 * queued again after a lost answer has its place already.
 */
const NEW_QUEUE = `
CREATE TABLE waiting AS
  SELECT part, count(*)::integer AS count, string_agg(leaf_hash::bytea, ''::bytea ORDER BY id) AS hashes,
    string_agg(leaf || '\\x0a'::bytea, ''::bytea ORDER BY id) AS leaves,
    string_agg(coalesce(personal, ''::bytea) || '\\x0a'::bytea, ''::bytea ORDER BY id) AS personal,
    CASE WHEN count(retain_until) > 0 THEN array_agg(retain_until ORDER BY id) END AS retained
  FROM (SELECT q.*, (row_number() OVER (ORDER BY q.id) - 1) / ${QUEUED_TOGETHER} AS part FROM queue q
    WHERE NOT EXISTS (SELECT FROM log l WHERE l.entry_id = q.entry_id)) AS every
  GROUP BY part;
DROP TABLE queue;

CREATE TABLE queue (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  queued_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  count integer NOT NULL CHECK (count > 0),
  hashes bytea NOT NULL CHECK (length(hashes) = 32 * count),
  leaves bytea NOT NULL,
  personal bytea NOT NULL,
  retained timestamptz(3)[] CHECK (cardinality(retained) = count)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
ALTER TABLE queue ALTER COLUMN hashes SET STORAGE EXTERNAL,
  ALTER COLUMN leaves SET STORAGE EXTERNAL, ALTER COLUMN personal SET STORAGE EXTERNAL;
INSERT INTO queue (count, hashes, leaves, personal, retained)
  SELECT count, hashes, leaves, personal, retained FROM waiting ORDER BY part;
DROP TABLE waiting;
`;

const DROP_OLD = `
DROP TABLE log;
DROP TABLE nodes;
DROP TABLE moved;
DROP FUNCTION writ_refuse_known();
DROP FUNCTION writ_refuse_alteration();
ALTER TABLE head DROP COLUMN latest;
`;

/** What the step makes, for those that look for tables and indexes by name. */
export const SEGMENTS = `${SEGMENT_TABLES}${NEW_QUEUE}`;

/** Entries that one slice moves: those of one index block. */
const SLICE = 1_024;

/** Moves the next entries. Undefined when none is left. Only inside a transaction. */
export async function moveLog(session: Session): Promise<Moved | undefined> {
  const [begun] = await session.run<{ is_begun: boolean }>(IS_BEGUN);
  if (!begun?.is_begun) await session.run({ name: '', text: `${SEGMENT_TABLES}${MOVED}` });
  const from = await headIn(session, 'moved');
  const next = () => session.run<Row>(NEXT, [from.first + from.size, SLICE]);
  let rows = await next();
  if (rows.length < SLICE) {
    // A process of the version before may have started meanwhile. What it has written is moved too.
    await session.run(HOLD_OLD);
    rows = await next();
  }
  const moved = await insertPlaced(session, from, rows.map(storedEntryOf));
  const reached = [moved.first + moved.size, [...moved.peaks], rows.length];
  const [sums] = await session.run<{ moved: bigint; entries: bigint }>(REACHED, reached);
  if (rows.length === SLICE) {
    return { moved: Number(sums?.moved), entries: Number(sums?.entries) };
  }
  refuseOther(moved, await headIn(session, 'head'));
  await session.run({ name: '', text: `${NEW_QUEUE}${DROP_OLD}` });
  return undefined;
}

async function headIn(session: Session, table: 'head' | 'moved'): Promise<TreeHead> {
  const text = `SELECT size, peaks FROM ${table}`;
  const [row] = await session.run<HeadRow>({ name: '', text });
  if (row === undefined) throw new Error(`Cannot move the log: its table "${table}" is empty`);
  return headOf(row);
}

/** The old tables stay where the tree over their entries is another than their head says. */
function refuseOther(moved: TreeHead, head: TreeHead): void {
  const isSame = moved.first === head.first && moved.size === head.size;
  if (isSame && Buffer.concat(moved.peaks).equals(Buffer.concat(head.peaks))) return;
  const [found, said] = [moved.first + moved.size, head.first + head.size];
  throw new Error(
    `Cannot move the log: its entries end at ${found} and are not the tree of its head, which ends at ${said}; run "writ fsck" of the version before`,
  );
}

const IS_BEGUN = { name: '', text: `SELECT to_regclass('moved') IS NOT NULL AS is_begun` };

const NEXT = {
  name: '',
  text: 'SELECT * FROM log WHERE sequence >= $1 ORDER BY sequence LIMIT $2',
};

/** Waits for open transactions and keeps out later ones. In the order in which the old sequencer locks. */
const HOLD_OLD = { name: '', text: 'LOCK TABLE head, queue, log IN ACCESS EXCLUSIVE MODE' };

const REACHED = {
  name: '',
  text: 'UPDATE moved SET size = $1, peaks = $2, moved = moved + $3 RETURNING moved, entries',
};
