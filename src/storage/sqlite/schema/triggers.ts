/**
 * Triggers that refuse every change of the log but growth and the erasure of contents, and a token without a chain.
 *
 * @module
 */

export const TRIGGERS = `
  CREATE TRIGGER tokens_have_chains BEFORE INSERT ON tokens WHEN NEW.chain IS NULL
  BEGIN SELECT raise(ABORT, 'a token has a chain'); END;

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
