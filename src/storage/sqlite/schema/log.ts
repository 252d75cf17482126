/**
 * Tables of the log: one row a commit, the tree over the leaf hashes, index blocks, retention, checkpoints, origins.
 *
 * Triggers refuse every change but growth, and the erasure of contents.
 *
 * @module
 */

/** `below` is the index up to which a retention policy has erased. */
export const LOG = `
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

  CREATE TABLE head (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    size  INTEGER NOT NULL CHECK (size >= 0),
    peaks BLOB NOT NULL CHECK (length(peaks) % 32 = 0)
  ) STRICT;
  INSERT INTO head (id, size, peaks) VALUES (1, 0, x'');

  CREATE TABLE erasures (
    policy TEXT NOT NULL PRIMARY KEY,
    below  INTEGER NOT NULL CHECK (below >= 0)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE checkpoints (
    sequence      INTEGER PRIMARY KEY CHECK (sequence > 0),
    checkpoint_id TEXT NOT NULL UNIQUE,
    size          INTEGER NOT NULL CHECK (size >= 0),
    root          BLOB NOT NULL CHECK (length(root) = 32),
    created_at    INTEGER NOT NULL,
    signature     TEXT NOT NULL,
    note          TEXT NOT NULL
  ) STRICT;

  CREATE TABLE cosignatures (
    checkpoint_id TEXT NOT NULL REFERENCES checkpoints (checkpoint_id),
    line          TEXT NOT NULL,
    PRIMARY KEY (checkpoint_id, line)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE origins (
    first  INTEGER PRIMARY KEY CHECK (first >= 0),
    log_id TEXT NOT NULL UNIQUE
  ) STRICT;

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

  CREATE TRIGGER head_only_grows BEFORE UPDATE ON head WHEN NEW.size < OLD.size
  BEGIN SELECT raise(ABORT, 'the tree is append-only'); END;

  CREATE TRIGGER head_is_kept BEFORE DELETE ON head
  BEGIN SELECT raise(ABORT, 'the tree is append-only'); END;

  CREATE TRIGGER checkpoints_are_final BEFORE UPDATE ON checkpoints
  BEGIN SELECT raise(ABORT, 'checkpoints are append-only'); END;

  CREATE TRIGGER checkpoints_are_kept BEFORE DELETE ON checkpoints
  BEGIN SELECT raise(ABORT, 'checkpoints are append-only'); END;

  CREATE TRIGGER origins_are_final BEFORE UPDATE ON origins
  BEGIN SELECT raise(ABORT, 'the log is append-only'); END;

  CREATE TRIGGER origins_are_kept BEFORE DELETE ON origins
  BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
`;
