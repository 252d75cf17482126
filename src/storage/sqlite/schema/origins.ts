/**
 * The logs of one store: one row each, from the place of the first entry on.
 *
 * @module
 */

export const ORIGINS = `
  CREATE TABLE origins (
    first  INTEGER PRIMARY KEY CHECK (first >= 0),
    log_id TEXT NOT NULL UNIQUE
  ) STRICT;
  INSERT INTO origins (first, log_id) SELECT 0, log_id FROM store;

  CREATE TRIGGER origins_are_final BEFORE UPDATE ON origins
  BEGIN SELECT raise(ABORT, 'the log is append-only'); END;

  CREATE TRIGGER origins_are_kept BEFORE DELETE ON origins
  BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
`;
