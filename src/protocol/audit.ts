/**
 * The log on the wire: entries, queries, checkpoints and proofs.
 *
 * @module
 */

import * as z from 'zod';
import { AnyFailureType } from './failure.ts';
import { StreamSummary } from './invocation.ts';
import {
  ApprovalRequestId,
  boundedText,
  CallerId,
  CheckpointId,
  ClientReference,
  Cursor,
  DetachedJws,
  Digest,
  Duration,
  EntryId,
  Flag,
  GrantId,
  HexHash,
  ID_LENGTH_MAX,
  InvocationId,
  Moment,
  Money,
  NextCursor,
  optional,
  Principal,
  pageSize,
  Timestamp,
  TokenId,
} from './primitives.ts';

/** A page has at most 1 MiB, so it may have fewer items than its limit; `next_cursor` shows whether more follow. */
export const AUDIT_PAGE_MAX = 1_000;
const AUDIT_PAGE_DEFAULT = 50;

export const CHECKPOINT_PAGE_MAX = 100;
const CHECKPOINT_PAGE_DEFAULT = 20;

export const EventClass = z.enum([
  'low_risk_success',
  'high_risk_success',
  'low_risk_failure',
  'high_risk_failure',
]);
export type EventClass = z.infer<typeof EventClass>;

export const EntryType = z.enum([
  'invocation',
  'replay',
  'dry_run',
  'settlement',
  'compensation',
  'issuance',
  'revocation',
  'approval_request',
  'approval_decision',
  'operator',
  'session',
]);
export type EntryType = z.infer<typeof EntryType>;

/** `refused`: nothing ran. `failed`: it ran and failed. `indeterminate`: the outcome is unknown. */
export const EntryState = z.enum(['completed', 'failed', 'refused', 'indeterminate']);
export type EntryState = z.infer<typeof EntryState>;

/**
 * An entry as a service answers it and as an export contains it. A newer verifier reads it
 * too, so a new field needs `.default(null)`; see `src/verify/leaf.ts`.
 */
export const AuditEntry = z.object({
  entry_id: EntryId,
  sequence: z.int().nonnegative(),
  entry_type: EntryType,
  invocation_id: InvocationId.nullable(),
  capability: z.string().nullable(),
  /** Null after retention erased it. */
  actor_key: Principal.nullable(),
  root_principal: Principal.nullable(),
  event_class: EventClass,
  success: z.boolean(),
  state: EntryState,
  failure_type: AnyFailureType.nullable(),
  client_reference_id: ClientReference.nullable(),
  task_id: CallerId.nullable(),
  parent_invocation_id: InvocationId.nullable(),
  upstream_service: CallerId.nullable(),
  approval_request_id: ApprovalRequestId.nullable(),
  approval_grant_id: GrantId.nullable(),
  token_id: TokenId.nullable(),
  parameters_digest: Digest.nullable(),
  cost_actual: Money.nullable(),
  stream_summary: StreamSummary.nullable(),
  detail: z.record(z.string(), z.unknown()).nullable(),
  /** The retention that the capability declares, if any. */
  retention: Duration.nullable(),
  timestamp: Timestamp,
  leaf_hash: HexHash,
  leaf: z.base64().optional(),
  /** The bytes of the personal fields; the leaf has their digest. */
  personal: z.base64().optional(),
  /** What retention has erased: the personal fields, or everything but index and hash. */
  erased: z.enum(['personal', 'contents']).optional(),
});
export type AuditEntry = z.infer<typeof AuditEntry>;

/** Strict: a misspelt filter would return more than requested. */
export const AuditQuery = z.strictObject({
  capability: optional(boundedText(ID_LENGTH_MAX, 0)),
  since: optional(Moment),
  invocation_id: optional(boundedText(ID_LENGTH_MAX, 0)),
  client_reference_id: optional(ClientReference),
  task_id: optional(CallerId),
  parent_invocation_id: optional(boundedText(ID_LENGTH_MAX, 0)),
  entry_type: optional(z.enum([...EntryType.options, 'all'])),
  include: optional(z.literal('leaf')),
  limit: pageSize(AUDIT_PAGE_MAX, AUDIT_PAGE_DEFAULT),
  cursor: optional(Cursor),
});
export type AuditQuery = z.output<typeof AuditQuery>;

export const AuditAnswer = z.object({
  /** Fewer than `limit` if more do not fit into 1 MiB; none, with a cursor, after a long search. */
  entries: z.array(AuditEntry),
  count: z.int().nonnegative(),
  next_cursor: NextCursor,
});
export type AuditAnswer = z.infer<typeof AuditAnswer>;

export const Checkpoint = z.object({
  checkpoint_id: CheckpointId,
  sequence: z.int().nonnegative(),
  merkle_root: Digest,
  entry_count: z.int().nonnegative(),
  created_at: Timestamp,
  timestamp: Timestamp,
  signature: DetachedJws,
});
export type Checkpoint = z.infer<typeof Checkpoint>;

export const InclusionProof = z.object({
  leaf_index: z.int().nonnegative(),
  tree_size: z.int().positive(),
  leaf_hash: HexHash,
  hashes: z.array(HexHash),
});
export type InclusionProof = z.infer<typeof InclusionProof>;

export const ConsistencyProof = z.object({
  from_size: z.int().nonnegative(),
  to_size: z.int().nonnegative(),
  hashes: z.array(HexHash),
});
export type ConsistencyProof = z.infer<typeof ConsistencyProof>;

export const CheckpointDetail = Checkpoint.extend({
  tree_size: z.int().nonnegative(),
  tree_head: z.string(),
  inclusion_proof: InclusionProof.optional(),
  consistency_proof: ConsistencyProof.optional(),
});
export type CheckpointDetail = z.infer<typeof CheckpointDetail>;

export const CheckpointListRequest = z.object({
  limit: pageSize(CHECKPOINT_PAGE_MAX, CHECKPOINT_PAGE_DEFAULT),
  cursor: optional(Cursor),
});
export type CheckpointListRequest = z.output<typeof CheckpointListRequest>;

export const CheckpointListAnswer = z.object({
  checkpoints: z.array(Checkpoint),
  next_cursor: NextCursor,
});
export type CheckpointListAnswer = z.infer<typeof CheckpointListAnswer>;

const LeafIndex = z.union([
  z.int().nonnegative(),
  z
    .string()
    .regex(/^(?:0|[1-9]\d{0,14})$/, 'expected a leaf index')
    .transform(Number),
]);

export const CheckpointReadRequest = z.object({
  checkpoint_id: boundedText(ID_LENGTH_MAX),
  include_proof: optional(Flag).transform((asked) => asked ?? false),
  leaf_index: optional(LeafIndex),
  leaf_hash: optional(HexHash),
  invocation_id: optional(InvocationId),
  consistency_from: optional(boundedText(ID_LENGTH_MAX)),
});
export type CheckpointReadRequest = z.output<typeof CheckpointReadRequest>;
