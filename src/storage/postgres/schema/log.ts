/**
 * The tables of the log, as the first migration makes them: queue, log, tree, checkpoints.
 *
 * Entries wait in the queue and get their places one batch at a time: commits overtake each other, so numbers
 * drawn by each writer would leave gaps. The log and the tree only grow: the database itself refuses every
 * other change, except the erasure of an entry's contents.
 *
 * @module
 */

/** The columns of an entry in the queue and in the log, in this order everywhere. */
export const ENTRY_COLUMNS = [
  'entry_id',
  'entry_type',
  'root_principal',
  'actor_key',
  'capability',
  'invocation_id',
  'client_reference_id',
  'task_id',
  'parent_invocation_id',
  'event_class',
  'state',
  'timestamp',
  'retain_until',
  'leaf',
  'personal',
  'leaf_hash',
] as const;

const ENTRY_TABLE_COLUMNS = `
  entry_id text NOT NULL UNIQUE,
  entry_type text NOT NULL,
  root_principal text NOT NULL,
  actor_key text NOT NULL,
  capability text,
  invocation_id text,
  client_reference_id text,
  task_id text,
  parent_invocation_id text,
  event_class text NOT NULL,
  state text NOT NULL,
  timestamp timestamptz(3) NOT NULL,
  retain_until timestamptz(3),
  personal bytea,
  leaf_hash hash_bytes NOT NULL`;

export const LOG_TABLES = `
CREATE TABLE queue (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  queued_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  leaf bytea NOT NULL, ${ENTRY_TABLE_COLUMNS}
)
-- Rows live for milliseconds: what they leave behind is cleared by count, not by share.
WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

-- 'latest' is the greatest timestamp up to this place. It only grows with the place, so that "since"
-- becomes a lower bound of the place, found in an index, though timestamps themselves are unordered.
CREATE TABLE log (
  sequence bigint PRIMARY KEY CHECK (sequence >= 0),
  latest timestamptz(3) NOT NULL,
  leaf bytea, ${ENTRY_TABLE_COLUMNS}
);
-- Operators ask the log, everybody else a trail: a page of either is read from the index that has all
-- columns of the question. An invocation has one trail, so it needs one index.
CREATE INDEX log_by_type ON log (entry_type, sequence);
CREATE INDEX log_by_invocation ON log (invocation_id, entry_type, sequence)
  WHERE invocation_id IS NOT NULL;
CREATE INDEX log_by_capability ON log (capability, entry_type, sequence)
  WHERE capability IS NOT NULL;
CREATE INDEX log_by_reference ON log (client_reference_id, entry_type, sequence)
  WHERE client_reference_id IS NOT NULL;
CREATE INDEX log_by_task ON log (task_id, entry_type, sequence) WHERE task_id IS NOT NULL;
CREATE INDEX log_by_parent ON log (parent_invocation_id, entry_type, sequence)
  WHERE parent_invocation_id IS NOT NULL;
CREATE INDEX trail_by_type ON log (root_principal, entry_type, sequence);
CREATE INDEX trail_by_capability ON log (root_principal, capability, entry_type, sequence)
  WHERE capability IS NOT NULL;
CREATE INDEX trail_by_reference ON log (root_principal, client_reference_id, entry_type, sequence)
  WHERE client_reference_id IS NOT NULL;
CREATE INDEX trail_by_task ON log (root_principal, task_id, entry_type, sequence)
  WHERE task_id IS NOT NULL;
CREATE INDEX trail_by_parent ON log (root_principal, parent_invocation_id, entry_type, sequence)
  WHERE parent_invocation_id IS NOT NULL;
CREATE INDEX log_by_leaf_hash ON log (leaf_hash);
CREATE INDEX log_by_latest ON log (latest, sequence);
CREATE INDEX log_by_retention ON log (retain_until)
  WHERE retain_until IS NOT NULL AND leaf IS NOT NULL;

-- What a policy of retention asks of entries below 'below' is done.
CREATE TABLE erasures (
  policy text PRIMARY KEY,
  below bigint NOT NULL CHECK (below >= 0)
);

CREATE TABLE nodes (
  level integer NOT NULL CHECK (level >= 0),
  index bigint NOT NULL CHECK (index >= 0),
  hash hash_bytes NOT NULL,
  PRIMARY KEY (level, index)
);

-- Whoever holds this row's lock is the sequencer.
CREATE TABLE head (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  size bigint NOT NULL CHECK (size >= 0),
  peaks bytea[] NOT NULL,
  latest timestamptz(3) NOT NULL
) WITH (fillfactor = 10);
INSERT INTO head (size, peaks, latest) VALUES (0, '{}', '-infinity');

CREATE TABLE checkpoints (
  sequence bigint PRIMARY KEY CHECK (sequence > 0),
  checkpoint_id text NOT NULL UNIQUE,
  size bigint NOT NULL CHECK (size >= 0),
  root hash_bytes NOT NULL,
  created_at timestamptz(3) NOT NULL,
  signature text NOT NULL,
  note text NOT NULL
);

CREATE TABLE cosignatures (
  checkpoint_id text NOT NULL REFERENCES checkpoints (checkpoint_id),
  line text COLLATE "C" NOT NULL,
  PRIMARY KEY (checkpoint_id, line)
);

CREATE FUNCTION writ_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'Cannot % "%": it only grows', lower(TG_OP), TG_TABLE_NAME
    USING ERRCODE = 'integrity_constraint_violation';
END $$;

-- An id that has its place would never get another: its entry would be lost without a word.
CREATE FUNCTION writ_refuse_known() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM log l WHERE l.entry_id = NEW.entry_id) THEN
    RAISE EXCEPTION 'Cannot queue entry "%": the log has it', NEW.entry_id
      USING ERRCODE = 'unique_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER queue_known BEFORE INSERT ON queue
  FOR EACH ROW EXECUTE FUNCTION writ_refuse_known();

-- What tells of people may be erased, or all contents: the leaf, and what describes it. Whatever is
-- not erased stays as it was.
CREATE FUNCTION writ_refuse_alteration() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  erased log := NEW;
BEGIN
  IF NEW.personal IS NULL THEN
    erased.personal := OLD.personal;
    erased.client_reference_id := coalesce(NEW.client_reference_id, OLD.client_reference_id);
    erased.task_id := coalesce(NEW.task_id, OLD.task_id);
    erased.actor_key := coalesce(nullif(NEW.actor_key, ''), OLD.actor_key);
    erased.root_principal := coalesce(nullif(NEW.root_principal, ''), OLD.root_principal);
  END IF;
  IF NEW.personal IS NULL AND NEW.leaf IS NULL THEN
    erased.leaf := OLD.leaf;
    erased.capability := coalesce(NEW.capability, OLD.capability);
    erased.invocation_id := coalesce(NEW.invocation_id, OLD.invocation_id);
    erased.parent_invocation_id := coalesce(NEW.parent_invocation_id, OLD.parent_invocation_id);
  END IF;
  IF erased IS DISTINCT FROM OLD THEN
    RAISE EXCEPTION 'Cannot update "log": entry % may only be erased', OLD.sequence
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER log_altered BEFORE UPDATE ON log
  FOR EACH ROW EXECUTE FUNCTION writ_refuse_alteration();
CREATE TRIGGER log_deleted BEFORE DELETE ON log
  FOR EACH ROW EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER log_truncated BEFORE TRUNCATE ON log
  FOR EACH STATEMENT EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER nodes_changed BEFORE UPDATE OR DELETE ON nodes
  FOR EACH ROW EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER nodes_truncated BEFORE TRUNCATE ON nodes
  FOR EACH STATEMENT EXECUTE FUNCTION writ_refuse_change();
ALTER TABLE log ENABLE ALWAYS TRIGGER log_altered, ENABLE ALWAYS TRIGGER log_deleted,
  ENABLE ALWAYS TRIGGER log_truncated;
ALTER TABLE nodes ENABLE ALWAYS TRIGGER nodes_changed, ENABLE ALWAYS TRIGGER nodes_truncated;
`;
