/**
 * Everything that one decision needs: the request, its declaration, who stands behind it, and what was decided before.
 *
 * Text of agents and clients is as they wrote it. Each way of showing it makes hidden characters visible.
 *
 * @module
 */

import * as z from 'zod';
import { ApprovalRequest, ApprovalStatus, GrantTerms } from './approval.ts';
import { CapabilityDeclaration } from './capability.ts';
import {
  ApprovalRequestId,
  boundedText,
  CapabilityName,
  FieldName,
  ID_LENGTH_MAX,
  JsonObject,
  Money,
  Principal,
  Timestamp,
  TokenId,
} from './primitives.ts';

export const DecisionRequest = z.strictObject({ approval_request_id: boundedText(ID_LENGTH_MAX) });

/** One principal in the chain of an agent. */
const Hand = z.object({
  principal: Principal,
  token_id: TokenId.nullable(),
  /** The name that a client gave itself. */
  client_name: z.string().nullable(),
  purpose: JsonObject.nullable(),
  state: z.enum(['active', 'expired', 'revoked', 'unknown']),
});
export type Hand = z.infer<typeof Hand>;

/** What is left may be negative: other calls spent since the agent asked. */
const BudgetAfter = z.object({
  principal: Principal,
  token_id: TokenId,
  currency: z.string(),
  max: z.number(),
  spent: z.number(),
  reserved: z.number(),
  left: z.number(),
  /** After this call; null where the currencies differ or the cost is not known. */
  left_after: z.number().nullable(),
});
export type BudgetAfter = z.infer<typeof BudgetAfter>;

const Similar = z.object({
  approval_request_id: ApprovalRequestId,
  decided_at: Timestamp,
  approved_by: z.array(Principal),
  parameters: JsonObject,
  cost: Money.nullable(),
});
export type Similar = z.infer<typeof Similar>;

const HistoryItem = z.object({
  approval_request_id: ApprovalRequestId,
  status: ApprovalStatus,
  created_at: Timestamp,
  decided_at: Timestamp.nullable(),
  decided_by: z.array(Principal),
  reason: z.string().nullable(),
  /** Null where they are too large to be repeated here; that request has them. */
  parameters: JsonObject.nullable(),
  cost: Money.nullable(),
});
export type HistoryItem = z.infer<typeof HistoryItem>;

const count = z.int().nonnegative();

const History = z.object({
  /** Requests of the same agent for the same capability since midnight UTC, without this one. */
  today: z.object({ approved: count, denied: count, expired: count, pending: count }),
  /** Newest first, of any day. */
  items: z.array(HistoryItem),
  /** False when there are older ones, or more today than were counted. */
  is_complete: z.boolean(),
});
export type History = z.infer<typeof History>;

/** A binding that the call carries. */
const Quote = z.object({
  field: FieldName,
  /** Null for a handle of another issuer, whose age only the service's lookup knows. */
  issued_at: Timestamp.nullable(),
  price: Money.nullable(),
});
export type Quote = z.infer<typeof Quote>;

const Vote = z.object({
  approver: Principal,
  approved_at: Timestamp,
  terms: GrantTerms.nullable(),
  /** The label of the passkey that signed. */
  passkey: z.string().nullable(),
});
export type Vote = z.infer<typeof Vote>;

const Passkey = z.object({
  credential_id: z.string(),
  label: z.string(),
  created_at: Timestamp,
  /** From when on it counts: later than `created_at` for a key that no other key confirmed. */
  usable_from: Timestamp,
  last_used_at: Timestamp.nullable(),
});
export type Passkey = z.infer<typeof Passkey>;

export const Decision = z.object({
  now: Timestamp,
  request: ApprovalRequest,
  /** The declaration that is in force; null where the service no longer has the capability. */
  capability: CapabilityDeclaration.extend({ name: CapabilityName }).nullable(),
  /** The declaration changed since the request: a grant for it could not be used. */
  has_changed: z.boolean(),
  /** Root first. */
  chain: z.array(Hand),
  cost: Money.nullable(),
  quotes: z.array(Quote),
  /** Every budget above the call, the nearest first. */
  budgets: z.array(BudgetAfter),
  /** The newest approved request of the same agent for the same capability. */
  similar: Similar.nullable(),
  history: History,
  passkey: z.object({
    is_required: z.boolean(),
    /** Of this person, those that count now. */
    usable: z.array(Passkey),
  }),
  votes: z.array(Vote),
  viewer: z.object({
    /** For whom an approval by this caller counts. */
    principal: Principal,
    may_decide: z.boolean(),
    /** Why not, in a sentence. */
    why: z.string().nullable(),
    has_approved: z.boolean(),
  }),
  /** The page on which a person decides; null where people cannot sign in. */
  decision_url: z.string().nullable(),
});
export type Decision = z.infer<typeof Decision>;
