/**
 * Checkpoints, and the election of the process that seals them.
 *
 * @module
 */

import type { LogStore } from '../../port/store.ts';
import type { Row } from '../../tables/table.ts';
import type { Database, Statement } from '../connection.ts';
import { CHECKPOINTS } from '../rows.ts';

type Checkpoints = Pick<
  LogStore,
  | 'insertCheckpoint'
  | 'lastCheckpoint'
  | 'loadCheckpoint'
  | 'listCheckpoints'
  | 'insertCosignature'
  | 'cosignatures'
  | 'lead'
>;

export function createCheckpoints(database: Database): Checkpoints {
  return {
    async insertCheckpoint(checkpoint) {
      const rows = await database.write(INSERT, [CHECKPOINTS.rows([checkpoint])]);
      return rows.length > 0;
    },

    async lastCheckpoint() {
      const [row] = await database.read<Row>(LIST, [1, null]);
      return row && CHECKPOINTS.read(row);
    },

    async loadCheckpoint(checkpointId) {
      const [row] = await database.read<Row>(LOAD, [checkpointId]);
      return row && CHECKPOINTS.read(row);
    },

    async listCheckpoints(limit, before) {
      const rows = await database.read<Row>(LIST, [limit, before]);
      return rows.map(CHECKPOINTS.read);
    },

    async insertCosignature(checkpointId, line) {
      await database.write(COSIGN, [checkpointId, line]);
    },

    async cosignatures(checkpointId) {
      const rows = await database.read<{ line: string }>(COSIGNATURES, [checkpointId]);
      return rows.map(({ line }) => line);
    },

    async lead(job, holder, now, until) {
      const rows = await database.write(LEAD, [job, holder, now, until]);
      return rows.length > 0;
    },
  };
}

/** Of two concurrent candidates the primary key admits one. */
const INSERT: Statement = {
  name: 'insert_checkpoint',
  text: `${CHECKPOINTS.insert(1, ', (SELECT max(first) AS first FROM origins) o')}
    WHERE new.sequence = 1 + greatest(o.first, coalesce((SELECT max(sequence) FROM checkpoints), 0))
      AND new.size >= coalesce((SELECT size FROM checkpoints WHERE sequence > o.first
        ORDER BY sequence DESC LIMIT 1), 0)
    ON CONFLICT DO NOTHING RETURNING sequence`,
};

const LOAD: Statement = {
  name: 'load_checkpoint',
  text: `SELECT ${CHECKPOINTS.list()} FROM checkpoints WHERE checkpoint_id = $1`,
};

const LIST: Statement = {
  name: 'list_checkpoints',
  text: `SELECT ${CHECKPOINTS.list()} FROM checkpoints
    WHERE sequence < coalesce($2::bigint, 9223372036854775807) ORDER BY sequence DESC LIMIT $1`,
};

const COSIGN: Statement = {
  name: 'cosign',
  text: 'INSERT INTO cosignatures (checkpoint_id, line) VALUES ($1, $2) ON CONFLICT DO NOTHING',
};

const COSIGNATURES: Statement = {
  name: 'cosignatures',
  text: 'SELECT line FROM cosignatures WHERE checkpoint_id = $1 ORDER BY line',
};

const LEAD: Statement = {
  name: 'lead',
  text: `INSERT INTO leads (job, holder, until) VALUES ($1, $2, $4) ON CONFLICT (job)
    DO UPDATE SET holder = EXCLUDED.holder, until = EXCLUDED.until
    WHERE leads.holder = EXCLUDED.holder OR leads.until <= $3 RETURNING job`,
};
