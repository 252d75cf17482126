/**
 * The storage port: what the service needs kept, and which changes must be atomic.
 *
 * Methods are transitions, not tables. Each either happens whole and is durable when its promise
 * resolves, or did not happen. A transition that makes or ends authority takes the entry that tells
 * of it and keeps both or neither, so nothing changes without an entry. A contested change is decided
 * in the store, by commit order, over all processes that share it; a caller that lost is told so.
 *
 * A method rejects only when the store itself fails (`StoreUnavailable`: nothing happened;
 * `OutcomeUnknown`: nobody could find out) or on a defect. Every implementation passes the contract
 * in `testing/store/store-contract.ts`.
 *
 * @module
 */

import type { FreezeKey } from '../../domain/authority/freeze.ts';
import type { GrantTerms } from '../../domain/authority/grant.ts';
import type { EntryRecord } from '../../domain/log/entry.ts';
import type { ApprovalStatus } from '../../protocol/approval.ts';
import type { CompositionStore } from './composition-store.ts';
import type { InvocationStore } from './invocation-store.ts';
import type { LedgerStore } from './ledger-store.ts';
import type { LogStore } from './log-store.ts';
import type {
  ActorEnded,
  ApprovalRecord,
  Charge,
  DeliveryRecord,
  FreezeRecord,
  GrantRecord,
  LineageLink,
  TokenRecord,
} from './records.ts';
import type { RowStore } from './row-store.ts';

export type { EntryPage, EntryQuery, Erasure, LogStore, TreeHead } from './log-store.ts';

/** Nothing happened: the store refused, is overloaded, full, read-only or out of reach. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** The change may have happened, and the store could not be asked in time. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
}

export interface Store
  extends TokenStore,
    InvocationStore,
    CompositionStore,
    ApprovalStore,
    OperatorStore,
    RowStore,
    LogStore,
    LedgerStore {
  /**
   * Names the store's first log. Made with the store and never changed: a new store, also an in-memory
   * one, is a new log. `origins` tells which log is the current one.
   */
  readonly logId: string;

  /**
   * The one clock of the rules. Where replicas share a database it is the database's, so that they
   * agree on what has expired.
   */
  now(): Date;

  /** Proves with a real write that the store can keep something now. Rejects when it cannot. */
  probe(): Promise<void>;

  /** Finishes what was accepted, then lets go. Calls after it reject with `StoreUnavailable`. */
  close(): Promise<void>;
}

export interface TokenStore {
  /** Keeps a root token, its budget and its entry. */
  insertRoot(token: TokenRecord, entry: EntryRecord): Promise<void>;

  /**
   * Keeps a child token if, at that moment, every token of the parent's lineage is neither revoked
   * nor expired at `now` and the parent has fewer than `childrenMax` children. A revocation that was
   * acknowledged before is always seen; one that comes at the same time either is seen or ends the
   * child too. `parent_revoked` when any is revoked, also where another has expired. `parent_altered`
   * when the parent's lineage is not the one that was `judged`, where that is given.
   */
  insertChild(
    token: TokenRecord,
    entry: EntryRecord,
    bounds: ChildBounds,
  ): Promise<
    | 'inserted'
    | 'parent_unknown'
    | 'parent_altered'
    | 'parent_revoked'
    | 'parent_expired'
    | 'too_many'
  >;

  /**
   * Marks one token. From the moment it is acknowledged no admission and no delegation under the
   * token succeeds in any process. `wasAlive` is false where any token of its lineage was revoked or
   * had expired: nothing ended. A second revocation keeps the first time with its MAC.
   */
  revokeToken(
    tokenId: string,
    now: Date,
    entry: (wasAlive: boolean) => EntryRecord,
    by?: { readonly actor?: string | undefined; readonly mac?: string | undefined },
  ): Promise<{ wasAlive: boolean; revoked_at: Date } | undefined | ActorEnded>;

  /**
   * The children of these tokens, dead or alive: in the order of the parents, and those of one parent
   * by id. Of the first parent only those after `after`.
   */
  childrenOf(
    parents: readonly string[],
    limit: number,
    after?: string,
  ): Promise<readonly ChildState[]>;

  /**
   * Root tokens without a revocation, by id, those after `after`. Expired ones too: an expiry can be
   * edited, and a clock can run ahead. One that has the MAC of a revocation, or its time, has one.
   */
  unrevokedRoots(after: string, limit: number): Promise<readonly string[]>;

  /** A token with its lineage (root first), its spending and its first children by id. */
  describeToken(tokenId: string, childrenMax: number): Promise<TokenDescription | undefined>;
}

export interface ChildState {
  readonly token_id: string;
  readonly parent_token_id: string;
  readonly expires_at: Date;
  readonly revoked_at?: Date | undefined;
  readonly hasChildren: boolean;
}

export interface ChildBounds {
  readonly now: Date;
  readonly childrenMax: number;
  /** The parent's lineage, as it was when the child's authority was decided. */
  readonly judged?: readonly LineageLink[] | undefined;
}

export interface TokenDescription {
  readonly token: TokenRecord;
  readonly lineage: readonly LineageLink[];
  readonly children: readonly string[];
  readonly childrenCount: number;
  /** What calls under the token, or below it, cost beyond what was reserved; one for each currency. */
  readonly debts: readonly Charge[];
}

export interface ApprovalStore {
  /**
   * Keeps a pending request with its entry and notifications. While an equal question (chain,
   * capability, contract version, digest, session) is pending and not expired at the new one's
   * `created_at`, that one is returned instead and nothing is kept; two that ask at once get the same
   * request.
   */
  requestApproval(
    request: ApprovalRecord,
    entry: EntryRecord,
    deliveries: readonly DeliveryRecord[],
    actor?: string,
  ): Promise<ApprovalRecord | ActorEnded>;

  loadApproval(approvalRequestId: string): Promise<ApprovalRecord | undefined>;

  /**
   * The grants that an equal call can continue with: of the same chain, capability, contract version
   * and digest, with a use left, not expired at `now`, and bound to no session but the question's.
   * Those that expire first come first; at most `limit`.
   */
  waitingGrants(question: Question, now: Date, limit: number): Promise<readonly GrantRecord[]>;

  /** The newest request that asks this question, whatever became of it. */
  latestApproval(question: Question): Promise<LatestApproval | undefined>;

  /** What a caller that waits looks at again and again: without parameters, which may be long. */
  approvalState(
    approvalRequestId: string,
  ): Promise<Pick<ApprovalRecord, 'status' | 'expires_at'> | undefined>;

  /**
   * Newest first. A pending request past its expiry is `expired`. One query looks at
   * `APPROVALS_LOOKED_AT_MAX` requests, so a page may have fewer than `limit`, even none, and still a
   * `next`. Pages that continue at `next` miss and repeat none.
   */
  listApprovals(query: ApprovalQuery): Promise<ApprovalPage>;

  /**
   * Adds one approver and, with the last one needed, the grant and the transition to `approved`: all
   * in one step, so one request never yields two grants. `approvalsSeen` is what the caller decided
   * on; `stale` means that another approver came first and the caller has to look again.
   */
  approve(
    decision: ApprovalDecision,
  ): Promise<'approved' | 'counted' | 'stale' | 'decided' | 'expired' | ActorEnded>;

  /** Denies a pending request. `decided` or `expired` when it is not pending any more. */
  deny(decision: Denial): Promise<'denied' | 'decided' | 'expired' | ActorEnded>;

  /** Moves pending requests past their expiry to `expired`, each once, with entry and notifications. */
  expireApprovals(
    now: Date,
    limit: number,
    consequence: (request: ApprovalRecord) => {
      entry: EntryRecord;
      deliveries: readonly DeliveryRecord[];
    },
  ): Promise<number>;

  /**
   * Claims due notifications until `leaseUntil`, so that one process at a time sends each: those due
   * longest first, where one without a time was always due; none of the targets in `except`.
   */
  takeDeliveries(
    now: Date,
    leaseUntil: Date,
    limit: number,
    except?: readonly string[],
  ): Promise<readonly DeliveryRecord[]>;

  /** Records how one attempt ended: delivered, to be tried again at `nextAttempt`, or given up. */
  finishDelivery(result: DeliveryResult): Promise<void>;

  /** Newest first; those older than the one with the id `before`. */
  listDeliveries(limit: number, before?: string): Promise<readonly DeliveryRecord[]>;
}

/** Requests that one query looks at. The compared columns come after the long ones, so each look reads a whole row. */
export const APPROVALS_LOOKED_AT_MAX = 200;

/** What makes two approval requests the same question. */
export interface Question
  extends Pick<
    ApprovalRecord,
    'capability' | 'contract_version' | 'parameters_digest' | 'session_id'
  > {
  readonly chain: string;
}

/** Without parameters and preview, which may be long. */
export type LatestApproval = Pick<
  ApprovalRecord,
  'approval_request_id' | 'status' | 'expires_at' | 'reason'
>;

export interface ApprovalQuery {
  readonly now: Date;
  readonly status?: ApprovalStatus | undefined;
  /** Exact names. Undefined: all; empty: none. */
  readonly capabilities?: readonly string[] | undefined;
  readonly limit: number;
  /** Continue after the request with this place. */
  readonly before?: ApprovalPlace | undefined;
}

export type ApprovalPlace = Pick<ApprovalRecord, 'created_at' | 'approval_request_id'>;

export interface ApprovalPage {
  readonly requests: readonly ApprovalRecord[];
  /** The `before` of the query that goes on. Absent when no request is left to look at. */
  readonly next?: ApprovalPlace | undefined;
}

export interface ApprovalDecision {
  readonly approval_request_id: string;
  readonly approver: string;
  /** The token that the approver came by, where it came by one. */
  readonly actor?: string | undefined;
  readonly now: Date;
  readonly approvalsSeen: number;
  /** Authenticates the vote. */
  readonly mac?: string | undefined;
  /** What this approver says yes to, kept with the vote. */
  readonly terms: GrantTerms;
  /** Present exactly when this approval completes the quorum. */
  readonly grant?: GrantRecord | undefined;
  readonly entry: EntryRecord;
  readonly deliveries: readonly DeliveryRecord[];
}

export interface Denial {
  readonly approval_request_id: string;
  readonly decided_by: string;
  /** The token that the denier came by, where it came by one. */
  readonly actor?: string | undefined;
  readonly reason: string;
  readonly now: Date;
  readonly entry: EntryRecord;
  readonly deliveries: readonly DeliveryRecord[];
}

export interface DeliveryResult {
  readonly delivery_id: string;
  readonly state: 'pending' | 'delivered' | 'failed';
  readonly error?: string | undefined;
  readonly nextAttempt?: Date | undefined;
  readonly now: Date;
}

/** A place in the list of freezes. */
export type FreezePlace = Pick<FreezeRecord, 'frozen_at' | 'what' | 'target'>;

export interface FreezePage {
  readonly freezes: readonly FreezeRecord[];
  /** The `after` of the query that goes on. Absent when no freeze is left. */
  readonly next?: FreezePlace | undefined;
}

export interface OperatorStore {
  /** Effective for every admission after it is acknowledged. Freezing again replaces the reason. */
  freeze(freeze: FreezeRecord, entry: EntryRecord, actor?: string): Promise<'frozen' | ActorEnded>;

  /** False when nothing was frozen; the entry is kept all the same. */
  unfreeze(target: FreezeKey, entry: EntryRecord, actor?: string): Promise<boolean | ActorEnded>;

  /**
   * The freezes that are kept under these keys, in the order of the keys. Also those whose time has
   * passed: whether the time is the one that was kept, only the MAC of the row says.
   */
  freezesUnder(keys: readonly FreezeKey[]): Promise<readonly FreezeRecord[]>;

  /**
   * Every freeze that is kept, newest first, those whose time has passed too. Pages that go on at
   * `next` miss and repeat none.
   */
  listFreezes(limit: number, after?: FreezePlace): Promise<FreezePage>;

  /**
   * Ends what was promised to callers beside their tokens: every grant counts as used up, bindings and
   * idempotency keys are forgotten, and composed calls are not resumed, so that recovery closes them.
   */
  voidPromises(): Promise<void>;
}
