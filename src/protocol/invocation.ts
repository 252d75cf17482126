/**
 * Invocations: the call, its answer in one piece or as a stream, and the dry run.
 *
 * @module
 */

import * as z from 'zod';
import { CostCertainty, ResponseMode } from './capability.ts';
import { Failure, GrantPolicy } from './failure.ts';
import {
  Amount,
  boundedText,
  CallerId,
  CapabilityName,
  ClientReference,
  Currency,
  DetachedJws,
  Digest,
  EntryId,
  HexHash,
  ID_LENGTH_MAX,
  InvocationId,
  JsonObject,
  Money,
  optional,
  PREFER_LENGTH_MAX,
  Timestamp,
} from './primitives.ts';

/** In characters: an approver reads it at a glance. */
const NOTE_LENGTH_MAX = 500;

/** What a dry run takes: the call itself, without the fields that only matter when it runs. */
export const TestRequest = z.object({
  // Any text: an impossible name gets the same answer as an unknown one.
  capability: boundedText(ID_LENGTH_MAX, 0),
  parameters: JsonObject,
  client_reference_id: optional(ClientReference),
  task_id: optional(CallerId),
  parent_invocation_id: optional(InvocationId),
  upstream_service: optional(CallerId),
  approval_grant: optional(boundedText(ID_LENGTH_MAX)),
  /** Without `approval_grant`: continue with a grant for exactly this call, if there is one. */
  continue_approved: optional(z.boolean()),
  /** The caller's own words for the approvers, if the call needs approval. The service does not check them. */
  note: optional(boundedText(NOTE_LENGTH_MAX)),
  stream: optional(z.boolean()).transform((stream) => stream ?? false),
  /** The header of RFC 7240; `receipt=signed` asks for a signed receipt, and the rest is ignored. */
  prefer: optional(boundedText(PREFER_LENGTH_MAX, 0)),
});
export type TestRequest = z.output<typeof TestRequest>;

export const InvokeRequest = TestRequest.extend({
  idempotency_key: optional(
    z.string().regex(/^[\x21-\x7e]{1,255}$/, 'expected 1 to 255 visible ASCII characters'),
  ),
});
export type InvokeRequest = z.output<typeof InvokeRequest>;

export const BudgetContext = z.object({
  budget_max: Amount,
  budget_currency: Currency,
  cost_check_amount: Amount,
  cost_certainty: CostCertainty,
  budget_spent: Amount.optional(),
  budget_reserved: Amount.optional(),
  budget_remaining: Amount.optional(),
});
export type BudgetContext = z.infer<typeof BudgetContext>;

/** The id of a log is a UUID; another implementation may have others. */
export const LOG_ID_LENGTH_MAX = 128;

/** Hashes: one for each bit of the largest tree. A verifier takes exactly as many as the size needs. */
const PATH_MAX = 53;

/**
 * What the service signs of a receipt. One signature covers `tree_size` receipts: the leaves of a tree whose root
 * `path` reaches. It promises that every later checkpoint of the log dated at or after `included_by` covers the entry.
 */
export const SignedReceipt = z.object({
  log_id: boundedText(LOG_ID_LENGTH_MAX),
  /** The number of the newest checkpoint when the receipt was signed: later ones have higher numbers. */
  last_checkpoint: z.int().nonnegative(),
  signed_at: Timestamp,
  included_by: Timestamp,
  tree_size: z.int().positive(),
  leaf_index: z.int().nonnegative(),
  path: z.array(HexHash).max(PATH_MAX),
  signature: DetachedJws,
});
export type SignedReceipt = z.infer<typeof SignedReceipt>;

/**
 * The receipt: names the log entry of this answer, so that the caller can verify it later. `signed` is present
 * where the caller asked for it.
 */
export const Receipt = z.object({
  entry_id: EntryId,
  leaf_hash: HexHash,
  signed: SignedReceipt.optional(),
});
export type Receipt = z.infer<typeof Receipt>;

/** The ids that every answer and every event of one invocation carries. */
export const InvocationIds = z.object({
  invocation_id: InvocationId,
  client_reference_id: ClientReference.optional(),
  task_id: CallerId.optional(),
  parent_invocation_id: InvocationId.optional(),
  upstream_service: CallerId.optional(),
});
export type InvocationIds = z.infer<typeof InvocationIds>;

export const StreamSummary = z.object({
  response_mode: ResponseMode,
  events_emitted: z.int().nonnegative(),
  events_delivered: z.int().nonnegative(),
  duration_ms: z.number().nonnegative(),
  client_disconnected: z.boolean(),
});
export type StreamSummary = z.infer<typeof StreamSummary>;

/**
 * The answer to an invocation that succeeded.
 *
 * @example
 * import type { InvokeSuccess } from 'writ/client';
 *
 * const shipped: InvokeSuccess = {
 *   invocation_id: 'inv-9f2c41d07ab3',
 *   success: true,
 *   result: { parcel_id: 'P-17' },
 *   cost_actual: { currency: 'USD', amount: 9.5 },
 * };
 * console.log(shipped.result.parcel_id, shipped.cost_actual?.amount);
 */
export const InvokeSuccess = InvocationIds.extend({
  success: z.literal(true),
  result: JsonObject,
  cost_actual: Money.optional(),
  budget_context: BudgetContext.optional(),
  audit: Receipt.optional(),
  stream_summary: StreamSummary.optional(),
});
export type InvokeSuccess = z.infer<typeof InvokeSuccess>;

export const InvokeFailure = InvocationIds.extend({
  success: z.literal(false),
  failure: Failure,
  /** The call was admitted and had no effect. Absent, the effect is unknown. */
  effect: z.literal('none').optional(),
  budget_context: BudgetContext.optional(),
  audit: Receipt.optional(),
  stream_summary: StreamSummary.optional(),
});
export type InvokeFailure = z.infer<typeof InvokeFailure>;

export const InvokeAnswer = z.discriminatedUnion('success', [InvokeSuccess, InvokeFailure]);
export type InvokeAnswer = z.infer<typeof InvokeAnswer>;

const EventBase = InvocationIds.extend({ timestamp: Timestamp });

/**
 * An event of a stream as the service sends it. `completed` and `failed` are last.
 *
 * @example
 * import type { StreamEvent } from 'writ/client';
 *
 * const isLast = ({ event }: StreamEvent) => event === 'completed' || event === 'failed';
 * const ids = { invocation_id: 'inv-9f2c41d07ab3', timestamp: '2026-12-01T08:00:00.000Z' };
 * console.log(isLast({ event: 'progress', data: { ...ids, progress: 'half of the pages' } }));
 */
export const StreamEvent = z.discriminatedUnion('event', [
  z.object({ event: z.literal('started'), data: EventBase }),
  z.object({ event: z.literal('progress'), data: EventBase.extend({ progress: z.unknown() }) }),
  z.object({
    event: z.literal('completed'),
    data: InvokeSuccess.extend({ timestamp: Timestamp, stream_summary: StreamSummary }),
  }),
  z.object({
    event: z.literal('failed'),
    data: InvokeFailure.extend({ timestamp: Timestamp, stream_summary: StreamSummary }),
  }),
]);
export type StreamEvent = z.infer<typeof StreamEvent>;

/** `would_be_admitted` is the result of the checks: a handler may still fail, and state may change. */
export const TestAnswer = InvocationIds.extend({
  would_be_admitted: z.boolean(),
  capability: CapabilityName,
  resolved_parameters: JsonObject.optional(),
  parameters_digest: Digest.optional(),
  cost_check: z
    .object({ currency: Currency, amount: Amount.nullable(), certainty: CostCertainty })
    .optional(),
  budget_context: BudgetContext.optional(),
  approval: z
    .object({
      required: z.boolean(),
      grant_policy: GrantPolicy.optional(),
      approvals_required: z.int().positive().optional(),
    })
    .optional(),
  failure: Failure.optional(),
  audit: Receipt.optional(),
});
export type TestAnswer = z.infer<typeof TestAnswer>;
