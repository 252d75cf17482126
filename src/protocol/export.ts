/**
 * Exports: a log, or a caller's trail in it, as a file that verifies without the service.
 *
 * JSON lines, each in canonical form (RFC 8785), so that every changed byte changes
 * the content. The first line is a header. In a log the entries follow in order, and each
 * checkpoint follows the last entry it covers; in a trail each entry has its
 * proof under the checkpoint of the header, or under its own checkpoint if it is of a log that an
 * operator has ended.
 *
 * @module
 */

import * as z from 'zod';
import { Checkpoint, CheckpointDetail, InclusionProof } from './audit.ts';
import { JsonObject, ServiceId } from './primitives.ts';
import { Jwks, PublicKey } from './trust.ts';

export const LOG_FORMAT = 'writ-log/1';
export const TRAIL_FORMAT = 'writ-trail/1';

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
