/**
 * Approvals: the pending record, the decision, and the signed grant.
 *
 * Request schemas are strict: a misspelt bound of a grant must not be ignored.
 *
 * @module
 */

import * as z from 'zod';
import { GrantPolicy, GrantType } from './failure.ts';
import { PasskeyProof } from './passkey.ts';
import {
  ApprovalRequestId,
  boundedText,
  CallerId,
  CapabilityName,
  Cursor,
  DetachedJws,
  Digest,
  GrantId,
  ID_LENGTH_MAX,
  InvocationId,
  JsonObject,
  Money,
  NextCursor,
  optional,
  PREFER_LENGTH_MAX,
  Principal,
  pageSize,
  Reason,
  Scope,
  SemanticVersion,
  Timestamp,
} from './primitives.ts';

/** A page of requests contains parameters and previews, so it has fewer items than a page of entries. */
export const APPROVAL_PAGE_MAX = 100;
const APPROVAL_PAGE_DEFAULT = 50;

/** In seconds. Longer waits are cut, because proxies give up after about a minute. */
export const WAIT_SECONDS_MAX = 60;

export const ApprovalStatus = z.enum(['pending', 'approved', 'denied', 'expired']);
export type ApprovalStatus = z.infer<typeof ApprovalStatus>;

export const Approval = z.object({ approver: Principal, approved_at: Timestamp });
export type Approval = z.infer<typeof Approval>;

/** The terms of a grant: the first approver proposes them, the others approve them unchanged. */
export const GrantTerms = z.object({
  grant_type: GrantType,
  session_id: CallerId.nullable(),
  expires_in_seconds: z.number().positive(),
  max_uses: z.int().positive(),
});
export type GrantTerms = z.infer<typeof GrantTerms>;

/**
 * The requester. `chain` is the digest of the chain of principals, from the root principal down to the
 * subject. The protocol does not require it, so another implementation may leave it out.
 */
const Requester = z.object({
  subject: Principal,
  root_principal: Principal,
  chain: Digest.optional(),
});

/** Texts of callers, with invisible and misleading characters made visible. */
export const SafeForm = z.object({
  parameters: JsonObject,
  preview: JsonObject.nullable(),
  requester: z.object({ subject: z.string(), root_principal: z.string() }),
  session_id: z.string().nullable(),
  note: z.string().optional(),
});

export const ApprovalRequest = z.object({
  approval_request_id: ApprovalRequestId,
  capability: CapabilityName,
  /** What is asked, in one line for a person. Hidden characters of its values are marked. */
  title: z.string().optional(),
  scope: z.array(Scope),
  requester: Requester,
  /** From the one who acts to the root principal, for those who may decide. */
  requested_through: z.array(Principal).optional(),
  session_id: CallerId.nullable().optional(),
  invocation_id: InvocationId,
  parameters: JsonObject,
  requested_parameters_digest: Digest,
  preview: JsonObject.nullable(),
  preview_digest: Digest.nullable(),
  /** What the call would have reserved when it asked. */
  cost: Money.optional(),
  /** The requester's own words, unchecked. */
  note: z.string().optional(),
  grant_policy: GrantPolicy,
  approvals_required: z.int().positive(),
  approvals: z.array(Approval),
  terms: GrantTerms.nullable().optional(),
  terms_digest: Digest.nullable().optional(),
  status: ApprovalStatus,
  created_at: Timestamp,
  expires_at: Timestamp,
  decided_at: Timestamp.nullable(),
  decided_by: Principal.nullable(),
  reason: z.string().nullable(),
  contract_version: SemanticVersion,
  declaration_digest: Digest.optional(),
  grant_id: GrantId.nullable().optional(),
  safe: SafeForm.optional(),
});
export type ApprovalRequest = z.infer<typeof ApprovalRequest>;

/** The policy bounds these values at run time; the schema only requires positive numbers. */
export const GrantRequest = z.strictObject({
  approval_request_id: boundedText(ID_LENGTH_MAX),
  grant_type: GrantType,
  session_id: optional(CallerId),
  expires_in_seconds: optional(z.number().positive()),
  max_uses: optional(z.int().positive()),
  /** Where the policy requires it: the approver confirms exactly this decision. */
  passkey: optional(PasskeyProof),
});
export type GrantRequest = z.output<typeof GrantRequest>;

export const Grant = z.object({
  grant_id: GrantId,
  approval_request_id: ApprovalRequestId,
  capability: CapabilityName,
  contract_version: SemanticVersion,
  declaration_digest: Digest.optional(),
  scope: z.array(Scope),
  requester: Requester,
  parameters_digest: Digest,
  preview_digest: Digest.nullable(),
  grant_type: GrantType,
  session_id: CallerId.nullable(),
  approved_by: z.array(Principal).min(1),
  issued_at: Timestamp,
  expires_at: Timestamp,
  max_uses: z.int().positive(),
  terms_digest: Digest.optional(),
  signature: DetachedJws,
});
export type Grant = z.infer<typeof Grant>;

/** Before the last required approval, an approver gets the state so far instead of a grant, with status 202. */
export const QuorumAnswer = z.object({
  approval_request_id: ApprovalRequestId,
  status: z.literal('pending'),
  approvals_required: z.int().positive(),
  approvals: z.array(Approval),
  terms: GrantTerms.optional(),
  terms_digest: Digest.optional(),
});
export type QuorumAnswer = z.infer<typeof QuorumAnswer>;

export const GrantAnswer = z.union([Grant, QuorumAnswer]);
export type GrantAnswer = z.infer<typeof GrantAnswer>;

export const ApprovalListRequest = z.strictObject({
  status: optional(ApprovalStatus),
  limit: pageSize(APPROVAL_PAGE_MAX, APPROVAL_PAGE_DEFAULT),
  cursor: optional(Cursor),
});
export type ApprovalListRequest = z.output<typeof ApprovalListRequest>;

export const ApprovalListAnswer = z.object({
  approval_requests: z.array(ApprovalRequest),
  next_cursor: NextCursor,
});
export type ApprovalListAnswer = z.infer<typeof ApprovalListAnswer>;

/** `prefer` is the header of RFC 7240; anything but `wait=<seconds>` in it is ignored. */
export const ApprovalReadRequest = z.strictObject({
  approval_request_id: boundedText(ID_LENGTH_MAX),
  prefer: optional(boundedText(PREFER_LENGTH_MAX, 0)),
});
export type ApprovalReadRequest = z.output<typeof ApprovalReadRequest>;

export const DenyRequest = z.strictObject({
  approval_request_id: boundedText(ID_LENGTH_MAX),
  reason: Reason,
  passkey: optional(PasskeyProof),
});
export type DenyRequest = z.output<typeof DenyRequest>;
