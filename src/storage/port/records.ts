/**
 * Records: what the store keeps, as the service sees it.
 *
 * Names that also travel keep their snake_case. Times are `Date`s with millisecond precision, amounts
 * are minor units. A record is data; what may become of it is said by the port (`store.ts`).
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
import type { JsonObject } from '../../protocol/primitives.ts';

export type { BudgetState, Charge, CheckpointRecord };

export interface TokenRecord extends Authority {
  readonly token_id: string;
  readonly parent_token_id?: string | undefined;
  /** Ids from the root token to this one, itself included. */
  readonly lineage: readonly string[];
  /** Who the token is: the digest of its chain of principals (`domain/authority/chain.ts`). */
  readonly chain: string;
  readonly issued_at: Date;
  /** The key that signed the text, and the digest of its claims: a text that differs is forged. */
  readonly kid: string;
  readonly claims_digest: string;
  /** Authenticates the row (`row-forms.ts`), here and below; rows of an older store have none. */
  readonly mac?: string | undefined;
}

/** One token of a lineage, as far as liveness needs it. */
export interface LineageLink {
  readonly token_id: string;
  readonly subject: string;
  readonly expires_at: Date;
  /** Present where the row has a time of revocation or the MAC of one: an altered row stays revoked. */
  readonly revoked_at?: Date | undefined;
  readonly revoked_mac?: string | undefined;
  readonly exclusive: boolean;
  readonly budget?: BudgetState | undefined;
  /** The whole row, as far as it never changes. The same row may be the same record. */
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
  readonly scope: readonly string[];
  readonly subject: string;
  readonly root_principal: string;
  /** Whose request it is. Absent where an older version of the store kept it. */
  readonly chain?: string | undefined;
  /** The subject of every token in the lineage that asked, root token first. */
  readonly requested_through: readonly string[];
  readonly session_id?: string | undefined;
  readonly invocation_id: string;
  readonly parameters: JsonObject;
  readonly parameters_digest: string;
  readonly preview?: JsonObject | undefined;
  readonly preview_digest?: string | undefined;
  readonly grant_policy: GrantPolicy;
  readonly approvals_required: number;
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

/** One approver's yes, with the terms it is a yes to; the first vote proposes them. */
export interface ApprovalVote {
  readonly approver: string;
  readonly approved_at: Date;
  readonly terms?: GrantTerms | undefined;
  /** The place that the row has, where that is not its place in the list: no service kept such a row. */
  readonly place?: number | undefined;
  readonly mac?: string | undefined;
}

export interface GrantRecord extends GrantFacts {
  readonly signature: string;
  readonly mac?: string | undefined;
}

/** Who a replayed answer belongs to: a key of another chain or capability is another key. */
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
  /** What another process needs to record the outcome (`IntentFacts` in `src/service/core/call.ts`). */
  readonly facts: JsonObject;
  readonly instance_id: string;
  readonly admitted_at: Date;
}

export interface FreezeRecord {
  readonly what: FreezeTarget;
  /** Empty for the whole service; of a capability as `domain/authority/freeze.ts` writes it. */
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
 * The token that a caller acted with ended before the step, and nothing happened. A transition that
 * takes an `actor` happens only while every token of the actor's lineage is neither revoked nor
 * expired at the time of the step: a revocation acknowledged before it is always seen.
 */
export type ActorEnded = 'actor_revoked' | 'actor_expired';

/** A call that can be undone, as the capability that undoes it would name it. */
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
