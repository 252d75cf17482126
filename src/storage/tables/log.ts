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

/** The entries of one commit. */
export interface StoredSegment {
  /** The place of its first entry. */
  readonly first: number;
  readonly count: number;
  readonly hashes: Uint8Array;
  readonly leaves: Uint8Array;
  readonly personal: Uint8Array;
}

export const SEGMENTS: Description<StoredSegment> = {
  name: 'segments',
  fields: {
    first: 'long PRIMARY KEY CHECK (first >= 0)',
    count: 'integer CHECK (count > 0)',
    hashes: 'bytes CHECK (length(hashes) = 32 * count)',
    leaves: 'bytes',
    personal: 'bytes',
  },
};

/** Hashes of nodes that follow each other in a level of the tree. */
export interface StoredTile {
  readonly id: number;
  readonly hashes: Uint8Array;
}

export const TILES: Description<StoredTile> = {
  name: 'tiles',
  fields: {
    id: 'long PRIMARY KEY',
    hashes: 'bytes CHECK (length(hashes) % 32 = 0 AND length(hashes) <= 8192)',
  },
};

/** What a store says about a block without its postings. */
export interface StoredBlock {
  /** The place of its first entry. */
  readonly first: number;
  readonly count: number;
  /** In milliseconds: the latest time in the block, and the latest in the log up to its end. */
  readonly newest: number;
  readonly latest: number;
  /** The number of buckets of each field, with a checksum. */
  readonly buckets: Uint8Array;
}

export const BLOCKS: Description<StoredBlock> = {
  name: 'blocks',
  fields: {
    first: 'long PRIMARY KEY CHECK (first >= 0)',
    count: 'integer CHECK (count > 0)',
    newest: 'long',
    latest: 'long',
    buckets: 'bytes',
  },
};

export interface StoredBucket {
  readonly id: number;
  readonly data: Uint8Array;
}

export const BUCKETS: Description<StoredBucket> = {
  name: 'buckets',
  fields: { id: 'long PRIMARY KEY', data: 'bytes' },
};

/** Until when an entry says that it is kept. */
export interface Stated {
  readonly retain_until: Date;
  readonly place: number;
}

export const RETENTIONS: Description<Stated> = {
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
export const ERASURES: Description<{ readonly policy: string; readonly below: number }> = {
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

export const ORIGINS: Description<{ readonly first: number; readonly log_id: string }> = {
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
