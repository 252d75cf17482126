/**
 * What the log has in PostgreSQL alone: the queue, the batches of appended entries, and what keeps the log append-only.
 *
 * Entries wait in the queue and get their indexes one batch at a time: commits overtake each other, so numbers
 * drawn by each writer would leave gaps. The log and the tree only grow: the database itself refuses every
 * other change, except the erasure of an entry's contents. Compression of bytes costs more than it saves: salts and
 * hashes are most of them.
 *
 * @module
 */

export const LOG = `
-- Rows live for milliseconds: what they leave behind is cleared by count, not by share.
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

-- Batches of appended entries whose answer may be lost. A void one was claimed before its entries
-- were queued, so that they never will be.
CREATE TABLE handed (
  batch uuid PRIMARY KEY,
  is_void boolean NOT NULL DEFAULT false,
  at timestamptz(3) NOT NULL DEFAULT clock_timestamp()
);

ALTER TABLE segments ALTER COLUMN hashes SET STORAGE EXTERNAL,
  ALTER COLUMN leaves SET STORAGE EXTERNAL, ALTER COLUMN personal SET STORAGE EXTERNAL;
ALTER TABLE tiles ALTER COLUMN hashes SET STORAGE EXTERNAL;
ALTER TABLE buckets ALTER COLUMN data SET STORAGE EXTERNAL;
INSERT INTO head (size, peaks) VALUES (0, '{}');

CREATE FUNCTION writ_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'Cannot % "%": it only grows', lower(TG_OP), TG_TABLE_NAME
    USING ERRCODE = 'integrity_constraint_violation';
END $$;

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

CREATE TRIGGER origins_changed BEFORE UPDATE OR DELETE ON origins
  FOR EACH ROW EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER origins_truncated BEFORE TRUNCATE ON origins
  FOR EACH STATEMENT EXECUTE FUNCTION writ_refuse_change();
ALTER TABLE origins ENABLE ALWAYS TRIGGER origins_changed, ENABLE ALWAYS TRIGGER origins_truncated;
`;
