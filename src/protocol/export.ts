/**
 * Exports: a log, or a caller's trail in it, as a file that verifies without the service.
 *
 * JSON lines, each in canonical form (RFC 8785), so that every changed byte changes
 * the content. The first line is a header. In a log the entries follow in order, and each
 * checkpoint follows the last entry it covers; in a trail each entry has its
 * proof under the checkpoint of the header, or under its own checkpoint if it is of a log that an
 * operator has ended.
 *
 * A stream is a log in numbered chunks, each a file of its own that proves where it stands: its header has the tree
 * before its first entry, and its last line is a checkpoint that covers it.
 *
 * @module
 */

import * as z from 'zod';
import { Checkpoint, CheckpointDetail, InclusionProof } from './audit.ts';
import { LOG_ID_LENGTH_MAX } from './invocation.ts';
import { boundedText, Digest, HexHash, JsonObject, ServiceId } from './primitives.ts';
import { Jwks, PublicKey } from './trust.ts';

export const LOG_FORMAT = 'writ-log/1';
export const TRAIL_FORMAT = 'writ-trail/1';
export const STREAM_FORMAT = 'writ-stream/1';

/** A tree has at most one peak for each bit of its size. */
const PEAKS_MAX = 53;

/** Strict, because a verifier would ignore unknown fields. */
const ExportedCheckpoint = z.strictObject(Checkpoint.shape);
const ExportedDetail = z.strictObject({
  ...Checkpoint.shape,
  tree_size: CheckpointDetail.shape.tree_size,
  tree_head: CheckpointDetail.shape.tree_head,
});
export type ExportedDetail = z.infer<typeof ExportedDetail>;

/** The published keys, for convenience; they still need to be pinned. */
const ExportedJwks = z.strictObject({
  keys: z.array(z.strictObject(PublicKey.shape)).min(1),
  svc_successors: Jwks.shape.svc_successors,
});

export const LogHeader = z.strictObject({
  format: z.literal(LOG_FORMAT),
  service_id: ServiceId,
  tree_size: z.int().nonnegative(),
  checkpoints: z.int().nonnegative(),
  jwks: ExportedJwks,
});
export type LogHeader = z.infer<typeof LogHeader>;

export const TrailHeader = z.strictObject({
  format: z.literal(TRAIL_FORMAT),
  service_id: ServiceId,
  entries: z.int().nonnegative(),
  checkpoint: ExportedDetail,
  jwks: ExportedJwks,
});
export type TrailHeader = z.infer<typeof TrailHeader>;

export const ExportHeader = z.discriminatedUnion('format', [LogHeader, TrailHeader]);
export type ExportHeader = z.infer<typeof ExportHeader>;

/** The verifier compares an entry with its leaf, which is stricter than a schema. */
export const LogLine = z.union([
  z.strictObject({ entry: JsonObject }),
  z.strictObject({ checkpoint: z.union([ExportedCheckpoint, ExportedDetail]) }),
]);
export type LogLine = z.infer<typeof LogLine>;

export const TrailLine = z.strictObject({
  entry: JsonObject,
  inclusion_proof: z.strictObject(InclusionProof.shape),
  checkpoint: ExportedDetail.optional(),
});
export type TrailLine = z.infer<typeof TrailLine>;

/** The tree before the first entry of a chunk. */
export const StreamHeader = z.strictObject({
  format: z.literal(STREAM_FORMAT),
  service_id: ServiceId,
  log_id: boundedText(LOG_ID_LENGTH_MAX),
  /** Counts from 1, over all logs of the store. */
  chunk: z.int().positive(),
  /** The place of the log's first entry. */
  first: z.int().nonnegative(),
  size: z.int().nonnegative(),
  peaks: z.array(HexHash).max(PEAKS_MAX),
  jwks: ExportedJwks,
});
export type StreamHeader = z.infer<typeof StreamHeader>;

/**
 * The last line of a chunk: the checkpoint that covers it, with a proof of the last entry if it covers more.
 * Without a checkpoint, entries after the last checkpoint of a log that an operator ended: the first entry of the
 * next log names their head.
 */
export const StreamEnd = z.union([
  z.strictObject({
    checkpoint: ExportedDetail,
    inclusion_proof: z.strictObject(InclusionProof.shape).optional(),
  }),
  z.strictObject({
    ended: z.strictObject({ entry_count: z.int().positive(), merkle_root: Digest }),
  }),
]);
export type StreamEnd = z.infer<typeof StreamEnd>;

export const StreamLine = z.union([z.strictObject({ entry: JsonObject }), StreamEnd]);
export type StreamLine = z.infer<typeof StreamLine>;

export const STREAM_STATE_FORMAT = 'writ-stream-state/1';

/** Where the next chunk begins. */
export const StreamPlace = z.strictObject({
  /** Chunks before it. */
  chunk: z.int().nonnegative(),
  log_id: StreamHeader.shape.log_id,
  first: StreamHeader.shape.first,
  size: StreamHeader.shape.size,
  peaks: StreamHeader.shape.peaks,
  /** The last checkpoint that the target has. */
  checkpoint: ExportedDetail.optional(),
});
export type StreamPlace = z.infer<typeof StreamPlace>;

/** How far a target has the log, in a file of the command that writes it. */
export const StreamState = z.strictObject({
  format: z.literal(STREAM_STATE_FORMAT),
  /** The target without its secrets. */
  target: z.string(),
  service_id: ServiceId,
  /** The thumbprint of the log key that signed the last checkpoint: later keys must be its successors. */
  key: z.string().optional(),
  place: StreamPlace,
  /** The chunk that is being sent: its digest, and the place after it. */
  pending: z.strictObject({ sha256: HexHash, after: StreamPlace }).optional(),
});
export type StreamState = z.infer<typeof StreamState>;
