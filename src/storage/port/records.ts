/**
 * Records: what the store holds, as the service sees it.
 *
 * Fields that also travel keep their snake_case. Times are `Date`s with millisecond precision, amounts are
 * minor units. A record is data; the port (`store.ts`) defines its transitions.
 *
 * @module
 */

import type { GrantFacts, GrantTerms } from '../../domain/authority/grant.ts';
import type { Authority } from '../../domain/authority/narrowing.ts';
import type { BudgetState, Charge } from '../../domain/invocation/budget.ts';
import type { CheckpointRecord } from '../../domain/log/checkpoint.ts';
import type { ApprovalStatus } from '../../protocol/approval.ts';
import type { GrantPolicy } from '../../protocol/failure.ts';
import type { FreezeTarget } from '../../protocol/operator.ts';
import type { JsonObject, Money } from '../../protocol/primitives.ts';

export type { BudgetState, Charge, CheckpointRecord };

export interface TokenRecord extends Authority {
  readonly token_id: string;
  readonly parent_token_id?: string | undefined;
  /** Ids from the root token to this one, itself included. */
  readonly lineage: readonly string[];
  /** Identifies the holder: the digest of the token's chain of principals (`domain/authority/chain.ts`). */
  readonly chain: string;
  readonly issued_at: Date;
  /** The key that signed the JWT, and the digest of its claims: a JWT with other claims is forged. */
  readonly kid: string;
  readonly claims_digest: string;
  /** Authenticates the row (`row-forms.ts`), here and below. The service adds it; a row without one does not match. */
  readonly mac?: string | undefined;
}

/** One token of a lineage, with what the liveness check needs. */
export interface LineageLink {
  readonly token_id: string;
  readonly subject: string;
  readonly expires_at: Date;
  /** Present where the row has a revocation time or a revocation MAC: an altered row stays revoked. */
  readonly revoked_at?: Date | undefined;
  readonly revoked_mac?: string | undefined;
  readonly exclusive: boolean;
  readonly budget?: BudgetState | undefined;
  /** The immutable part of the row. Readings of the same row may share this record. */
  readonly token: TokenRecord;
}

export interface BindingRecord {
  readonly binding_id: string;
  readonly type: string;
  readonly capability: string;
  readonly root_principal: string;
  readonly price?: Charge | undefined;
  readonly data: JsonObject;
  readonly issued_at: Date;
  readonly mac?: string | undefined;
}

export interface ApprovalRecord {
  readonly approval_request_id: string;
  readonly capability: string;
  readonly contract_version: string;
  /** The digest of the declaration that was in force. */
  readonly declaration_digest: string;
  readonly scope: readonly string[];
  readonly subject: string;
  readonly root_principal: string;
  /** The chain of the requester. */
  readonly chain: string;
  /** The subject of every token in the requesting lineage, root token first. */
  readonly requested_through: readonly string[];
  /** Under this name the open requests of one delegation are counted (`firstDelegate`). */
  readonly delegate: string;
  /** What the request counts towards the bound on bytes (`keptBytes`). */
  readonly kept_bytes: number;
  /** The token that asked. */
  readonly token_id: string;
  readonly session_id?: string | undefined;
  readonly invocation_id: string;
  readonly parameters: JsonObject;
  readonly parameters_digest: string;
  readonly preview?: JsonObject | undefined;
  readonly preview_digest?: string | undefined;
  /** What the call would have reserved when it asked. */
  readonly cost?: Money | undefined;
  /** The words of the requester for the approvers. The service did not check them. */
  readonly note?: string | undefined;
  readonly grant_policy: GrantPolicy;
  readonly approvals_required: number;
  /** What each approval needs, by the declaration that was in force. Replicas may have another one. */
  readonly require?: 'passkey' | undefined;
  readonly approvals: readonly ApprovalVote[];
  readonly status: ApprovalStatus;
  readonly created_at: Date;
  readonly expires_at: Date;
  readonly decided_at?: Date | undefined;
  readonly decided_by?: string | undefined;
  readonly reason?: string | undefined;
  readonly grant_id?: string | undefined;
  readonly mac?: string | undefined;
}

/** One approver's vote with the terms it approves; the first vote proposes the terms. */
export interface ApprovalVote {
  readonly approver: string;
  readonly approved_at: Date;
  readonly terms?: GrantTerms | undefined;
  /** The passkey that confirmed it. */
  readonly credential_id?: string | undefined;
  /** Present where the stored place differs from the place in the list: the service writes no such row. */
  readonly place?: number | undefined;
  readonly mac?: string | undefined;
}

export interface GrantRecord extends GrantFacts {
  readonly signature: string;
  readonly mac?: string | undefined;
}

/** Identifies the owner of a replayed answer: the same key of another chain or capability is another key. */
export interface IdempotencyScope {
  readonly chain: string;
  readonly capability: string;
  readonly key: string;
}

export interface IdempotencyRecord extends IdempotencyScope {
  /** Digest of the parameters as they were sent. */
  readonly fingerprint: string;
  readonly operation_id: string;
  /** The answer's exact bytes, once there is one. */
  readonly answer?: Uint8Array | undefined;
}

/** An admitted call: written before the handler runs, closed by its outcome. */
export interface IntentRecord {
  readonly operation_id: string;
  readonly invocation_id: string;
  readonly token_id: string;
  readonly subject: string;
  readonly root_principal: string;
  readonly capability: string;
  readonly charge?: Charge | undefined;
  /** What another process needs to record the outcome (`IntentFacts` in `src/service/call/call.ts`). */
  readonly facts: JsonObject;
  readonly instance_id: string;
  readonly admitted_at: Date;
}

export interface FreezeRecord {
  readonly what: FreezeTarget;
  /** Empty for the whole service; for a capability in the form of `domain/authority/freeze.ts`. */
  readonly target: string;
  readonly reason: string;
  readonly frozen_by: string;
  readonly frozen_at: Date;
  readonly until?: Date | undefined;
  readonly mac?: string | undefined;
}

export interface DeliveryRecord {
  readonly delivery_id: string;
  readonly event: 'requested' | 'granted' | 'denied' | 'expired';
  readonly approval_request_id: string;
  readonly target: string;
  readonly payload: JsonObject;
  readonly state: 'pending' | 'delivered' | 'failed';
  readonly attempts: number;
  readonly last_error?: string | undefined;
  readonly next_attempt_at?: Date | undefined;
  readonly delivered_at?: Date | undefined;
}

/**
 * The caller's token ended before the transition, and nothing changed. A transition that takes an `actor`
 * happens only while no token of the actor's lineage is revoked or expired; it always sees a revocation that
 * was acknowledged before it.
 */
export type ActorEnded = 'actor_revoked' | 'actor_expired';

/** A call that can be undone, identified as the undoing capability names it. */
export interface RollbackKey {
  /** The compensation. */
  readonly capability: string;
  readonly root_principal: string;
  readonly digest: string;
}

/** Of several calls with the same values the latest window counts. */
export interface RollbackRecord extends RollbackKey {
  readonly until: Date;
}
