/**
 * The logs of one store: one row each, from the place of the first entry on.
 *
 * @module
 */

export const ORIGINS = `
CREATE TABLE origins (
  first bigint PRIMARY KEY CHECK (first >= 0),
  log_id text NOT NULL UNIQUE
);
INSERT INTO origins (first, log_id) SELECT 0, log_id FROM meta;

CREATE TRIGGER origins_changed BEFORE UPDATE OR DELETE ON origins
  FOR EACH ROW EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER origins_truncated BEFORE TRUNCATE ON origins
  FOR EACH STATEMENT EXECUTE FUNCTION writ_refuse_change();
ALTER TABLE origins ENABLE ALWAYS TRIGGER origins_changed, ENABLE ALWAYS TRIGGER origins_truncated;
`;
