/**
 * Checkpoints: what the service signs about its log, as JSON and as a signed note.
 *
 * A checkpoint states how many entries the log had, and their root. The JSON form is signed with a detached
 * JWS over its canonical form. The service id is part of what is signed, so that a checkpoint of another
 * service is never accepted as one of ours. Witnesses read the signed note (`note.ts`). Signing and storing
 * happen elsewhere.
 *
 * @module
 */

import type { Checkpoint, CheckpointDetail } from '../../protocol/audit.ts';
import { canonicalJson } from '../wire/canonical.ts';
import { fromHex, toHex } from '../wire/hash.ts';
import type { Hash } from './merkle.ts';

/** A stored checkpoint. */
export interface CheckpointRecord {
  readonly checkpoint_id: string;
  readonly sequence: number;
  readonly size: number;
  readonly root: Hash;
  readonly created_at: Date;
  readonly signature: string;
  /** The same tree head as a signed note. */
  readonly note: string;
}

export type CheckpointFacts = Omit<CheckpointRecord, 'signature' | 'note'>;

/** The first checkpoint of a log. */
export const FIRST_SEQUENCE = 1;

/** The exact bytes that a checkpoint's JWS covers. */
export function checkpointPayload(serviceId: string, facts: CheckpointFacts): Uint8Array {
  return signedCheckpointPayload(serviceId, {
    checkpoint_id: facts.checkpoint_id,
    sequence: facts.sequence,
    merkle_root: rootText(facts.root),
    entry_count: facts.size,
    created_at: facts.created_at.toISOString(),
  });
}

/** The same bytes, from a checkpoint as it travels. */
export function signedCheckpointPayload(serviceId: string, checkpoint: SignedFields): Uint8Array {
  const { checkpoint_id, sequence, merkle_root, entry_count, created_at } = checkpoint;
  const facts = { checkpoint_id, sequence, merkle_root, entry_count, created_at };
  return new TextEncoder().encode(canonicalJson({ service_id: serviceId, ...facts }));
}

type SignedFields = Omit<Checkpoint, 'timestamp' | 'signature'>;

export function rootText(root: Hash): string {
  return `${ROOT_PREFIX}${toHex(root)}`;
}

/** The root, or `undefined` unless the text is `sha256:` and 64 lowercase hex digits. */
export function readRootText(text: string): Hash | undefined {
  const hex = text.slice(ROOT_PREFIX.length);
  return text.startsWith(ROOT_PREFIX) && hex.length === 64 ? fromHex(hex) : undefined;
}

/**
 * Names one log of one service in its notes, without the scheme of an address. A new store begins a new
 * log, which must not pass for the continuation of an older one. The log's own id keeps them apart.
 */
export function logOrigin(serviceId: string, logId: string): string {
  return `${serviceId.replace(/^[a-z]+:\/\//, '').replace(/\/+$/, '')}/log/${logId}`;
}

export function checkpointView(record: CheckpointRecord): Checkpoint {
  const createdAt = record.created_at.toISOString();
  return {
    checkpoint_id: record.checkpoint_id,
    sequence: record.sequence,
    merkle_root: rootText(record.root),
    entry_count: record.size,
    created_at: createdAt,
    timestamp: createdAt,
    signature: record.signature,
  };
}

export function checkpointDetail(record: CheckpointRecord): CheckpointDetail {
  return { ...checkpointView(record), tree_size: record.size, tree_head: record.note };
}

const ROOT_PREFIX = 'sha256:';
