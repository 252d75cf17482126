/**
 * Tables of the log: one row a commit, the tree over the leaf hashes, index blocks, retention, checkpoints, origins;
 * and those of running processes.
 *
 * PostgreSQL does not compress hashes and leaves (`postgres/schema/log.ts`): that costs more than it saves.
 *
 * @module
 */

import type { CheckpointRecord } from '../port/records.ts';
import type { Description, TableSchema } from './description.ts';

/** The key of a table with one row. */
const ONE_ROW = {
  sqlite: { id: 'integer PRIMARY KEY CHECK (id = 1)' },
  postgres: { one: 'flag PRIMARY KEY DEFAULT true CHECK (one)' },
};

export const SEGMENTS: TableSchema = {
  name: 'segments',
  fields: {
    first: 'long PRIMARY KEY CHECK (first >= 0)',
    count: 'integer CHECK (count > 0)',
    hashes: 'bytes CHECK (length(hashes) = 32 * count)',
    leaves: 'bytes',
    personal: 'bytes',
  },
};

export const TILES: TableSchema = {
  name: 'tiles',
  fields: {
    id: 'long PRIMARY KEY',
    hashes: 'bytes CHECK (length(hashes) % 32 = 0 AND length(hashes) <= 8192)',
  },
};

export const BLOCKS: TableSchema = {
  name: 'blocks',
  fields: {
    first: 'long PRIMARY KEY CHECK (first >= 0)',
    count: 'integer CHECK (count > 0)',
    newest: 'long',
    latest: 'long',
    buckets: 'bytes',
  },
};

export const BUCKETS: TableSchema = {
  name: 'buckets',
  fields: { id: 'long PRIMARY KEY', data: 'bytes' },
};

export const RETENTIONS: TableSchema = {
  name: 'retentions',
  fields: { retain_until: 'time', place: 'long' },
  constraints: ['PRIMARY KEY (retain_until, place)'],
  sqlite: { options: 'WITHOUT ROWID' },
};

/** In PostgreSQL the process that locks this row is the sequencer. */
export const HEAD: TableSchema = {
  name: 'head',
  fields: { size: 'long CHECK (size >= 0)' },
  sqlite: { columns: { ...ONE_ROW.sqlite, peaks: 'bytes CHECK (length(peaks) % 32 = 0)' } },
  postgres: { columns: { ...ONE_ROW.postgres, peaks: 'bytea[]' }, options: 'fillfactor = 10' },
};

/** `below` is the index up to which a retention policy has erased. */
export const ERASURES: TableSchema = {
  name: 'erasures',
  fields: { policy: 'text PRIMARY KEY', below: 'long CHECK (below >= 0)' },
  sqlite: { options: 'WITHOUT ROWID' },
};

export const CHECKPOINTS: Description<CheckpointRecord> = {
  name: 'checkpoints',
  fields: {
    sequence: 'long PRIMARY KEY CHECK (sequence > 0)',
    checkpoint_id: 'text UNIQUE',
    size: 'long CHECK (size >= 0)',
    root: 'bytes CHECK (length(root) = 32)',
    created_at: 'time',
    signature: 'text',
    note: 'text',
  },
  postgres: { columns: { root: 'hash_bytes' } },
};

export const COSIGNATURES: TableSchema = {
  name: 'cosignatures',
  fields: { checkpoint_id: 'text REFERENCES checkpoints (checkpoint_id)', line: 'text' },
  constraints: ['PRIMARY KEY (checkpoint_id, line)'],
  sqlite: { options: 'WITHOUT ROWID' },
  postgres: { columns: { line: 'text COLLATE "C"' } },
};

export const ORIGINS: TableSchema = {
  name: 'origins',
  fields: { first: 'long PRIMARY KEY CHECK (first >= 0)', log_id: 'text UNIQUE' },
};

export const INSTANCES: TableSchema = {
  name: 'instances',
  fields: { instance_id: 'text PRIMARY KEY', seen_at: 'time' },
  sqlite: { options: 'WITHOUT ROWID' },
  postgres: { options: 'fillfactor = 50' },
};

export const LEADS: TableSchema = {
  name: 'leads',
  fields: { job: 'text PRIMARY KEY', holder: 'text', until: 'time' },
  sqlite: { options: 'WITHOUT ROWID' },
  postgres: { options: 'fillfactor = 50' },
};

export const PROBES: TableSchema = {
  name: 'probes',
  fields: { at: 'time' },
  sqlite: { columns: ONE_ROW.sqlite },
  postgres: { columns: ONE_ROW.postgres, options: 'fillfactor = 50' },
};
