/**
 * Checkpoints, and the election of the process that seals them.
 *
 * @module
 */

import type { Steps } from '../../steps.ts';
import type { CheckpointRecord } from '../port/records.ts';
import type { SqlReader, SqlWriter } from '../sql/sql.ts';
import { columns, part, type Shape, statement } from '../sql/statement.ts';
import { CHECKPOINTS } from '../tables/log.ts';

/** One statement checks that it is the next of the current log, and inserts it. */
export function* insertCheckpoint(sql: SqlWriter, checkpoint: CheckpointRecord): Steps<boolean> {
  const { sequence, checkpoint_id, size, root, created_at, signature, note } = checkpoint;
  const values = [sequence, checkpoint_id, size, root, created_at, signature, note];
  return (yield* sql.one(INSERT, ...values)) !== undefined;
}

export function* lastCheckpoint(sql: SqlReader): Steps<CheckpointRecord | undefined> {
  return yield* sql.one(LIST, 1, undefined);
}

export function* loadCheckpoint(
  sql: SqlReader,
  checkpointId: string,
): Steps<CheckpointRecord | undefined> {
  return yield* sql.one(LOAD, checkpointId);
}

export function* listCheckpoints(
  sql: SqlReader,
  limit: number,
  before?: number,
): Steps<CheckpointRecord[]> {
  return yield* sql.all(LIST, limit, before);
}

export function* insertCosignature(
  sql: SqlWriter,
  checkpointId: string,
  line: string,
): Steps<void> {
  yield* sql.run(COSIGN, checkpointId, line);
}

export function* cosignatures(sql: SqlReader, checkpointId: string): Steps<string[]> {
  return (yield* sql.all(COSIGNATURES, checkpointId)).map(({ line }) => line);
}

export function* lead(
  sql: SqlWriter,
  ...[job, holder, now, until]: [job: string, holder: string, now: Date, until: Date]
): Steps<boolean> {
  return (yield* sql.one(LEAD, job, holder, until, now)) !== undefined;
}

/** Of two concurrent candidates the primary key admits one. */
const INSERT = statement('insert_checkpoint', part(CHECKPOINTS, 'sequence'))`
  INSERT INTO checkpoints (sequence, checkpoint_id, size, root, created_at, signature, note)
  SELECT $1::bigint, $2::text, $3::bigint, $4::bytea, $5::timestamptz, $6::text, $7::text
  FROM (SELECT max(first) AS first FROM origins) o
  WHERE $1::bigint =
      1 + coalesce((SELECT max(sequence) FROM checkpoints WHERE sequence > o.first), o.first)
    AND $3::bigint >= coalesce((SELECT size FROM checkpoints WHERE sequence > o.first
      ORDER BY sequence DESC LIMIT 1), 0)
  ON CONFLICT DO NOTHING RETURNING sequence`;

const LOAD = statement('load_checkpoint', CHECKPOINTS)`
  SELECT ${columns(CHECKPOINTS)} FROM checkpoints WHERE checkpoint_id = $1`;

const LIST = statement('list_checkpoints', CHECKPOINTS)`
  SELECT ${columns(CHECKPOINTS)} FROM checkpoints
  WHERE sequence < coalesce($2::bigint, 9223372036854775807) ORDER BY sequence DESC LIMIT $1`;

const COSIGN = statement('cosign')`
  INSERT INTO cosignatures (checkpoint_id, line) VALUES ($1, $2) ON CONFLICT DO NOTHING`;

const LINE: Shape<{ readonly line: string }> = { fields: { line: 'text' } };
const COSIGNATURES = statement('cosignatures', LINE)`
  SELECT line FROM cosignatures WHERE checkpoint_id = $1 ORDER BY line`;

const JOB: Shape<{ readonly job: string }> = { fields: { job: 'text' } };
const LEAD = statement('lead', JOB)`
  INSERT INTO leads (job, holder, until) VALUES ($1, $2, $3) ON CONFLICT (job)
    DO UPDATE SET holder = EXCLUDED.holder, until = EXCLUDED.until
    WHERE leads.holder = EXCLUDED.holder OR leads.until <= $4 RETURNING job`;
