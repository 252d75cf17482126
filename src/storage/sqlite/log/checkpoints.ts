/**
 * Checkpoints in SQLite, and the election of the process that makes them.
 *
 * @module
 */

import type { CheckpointRecord } from '../../port/records.ts';
import type { LogStore } from '../../port/store.ts';
import type { Row } from '../../tables/table.ts';
import type { Connection } from '../connection.ts';
import { CHECKPOINTS } from '../rows.ts';

/** One statement checks that it is the next of the current log, and inserts it. */
const INSERT = `
  WITH new (${CHECKPOINTS.list()}) AS (VALUES (${CHECKPOINTS.slots}))
  INSERT INTO checkpoints (${CHECKPOINTS.list()})
  SELECT ${CHECKPOINTS.list('new')} FROM new, (SELECT max(first) AS first FROM origins)
  WHERE new.sequence = 1 + max(first, coalesce((SELECT max(sequence) FROM checkpoints), 0))
    AND new.size >= coalesce((SELECT size FROM checkpoints WHERE sequence > first
      ORDER BY sequence DESC LIMIT 1), 0)`;

export function insertCheckpoint(connection: Connection, checkpoint: CheckpointRecord): boolean {
  return connection.change(INSERT, ...CHECKPOINTS.values(checkpoint)) === 1;
}

export function lastCheckpoint(connection: Connection): CheckpointRecord | undefined {
  return listCheckpoints(connection, 1)[0];
}

export function loadCheckpoint(connection: Connection, id: string): CheckpointRecord | undefined {
  const row = connection.get<Row>('SELECT * FROM checkpoints WHERE checkpoint_id = ?', id);
  return row && CHECKPOINTS.read(row);
}

export function listCheckpoints(
  connection: Connection,
  limit: number,
  before: number = Number.MAX_SAFE_INTEGER,
): CheckpointRecord[] {
  const rows = connection.all<Row>(
    'SELECT * FROM checkpoints WHERE sequence < ? ORDER BY sequence DESC LIMIT ?',
    before,
    limit,
  );
  return rows.map(CHECKPOINTS.read);
}

export function insertCosignature(connection: Connection, id: string, line: string): void {
  connection.run(
    'INSERT OR IGNORE INTO cosignatures (checkpoint_id, line) VALUES (?, ?)',
    id,
    line,
  );
}

export function cosignatures(connection: Connection, id: string): string[] {
  const rows = connection.all<{ line: string }>(
    'SELECT line FROM cosignatures WHERE checkpoint_id = ? ORDER BY line',
    id,
  );
  return rows.map(({ line }) => line);
}

export function lead(
  connection: Connection,
  ...[job, holder, now, until]: Parameters<LogStore['lead']>
): boolean {
  const held = connection.change(
    `INSERT INTO leads (job, holder, until) VALUES (?, ?, ?)
     ON CONFLICT (job) DO UPDATE SET holder = excluded.holder, until = excluded.until
     WHERE leads.holder = excluded.holder OR leads.until <= ?`,
    job,
    holder,
    until,
    now,
  );
  return held === 1;
}
