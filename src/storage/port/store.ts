/**
 * The storage port: what the service needs stored, and which changes must be atomic.
 *
 * Methods are transitions, not tables. Each happens whole and is durable when its promise resolves, or does
 * not happen. A transition that makes or ends authority takes its audit entry and stores both or neither, so
 * nothing changes without an entry. The store decides a contested change by commit order, over all processes
 * that share it, and returns the result to the caller that lost.
 *
 * A method rejects only on a defect or when the store itself fails (`StoreUnavailable`: nothing happened;
 * `OutcomeUnknown`: the change may have happened). Every implementation passes the contract in
 * `testing/store/store-contract.ts`.
 *
 * @module
 */

import type { ExceededBound, OpenBounds } from '../../domain/authority/approval-request.ts';
import type { FreezeKey } from '../../domain/authority/freeze.ts';
import type { GrantTerms } from '../../domain/authority/grant.ts';
import type { EntryRecord } from '../../domain/log/entry.ts';
import type { ApprovalStatus } from '../../protocol/approval.ts';
import type { CompositionStore } from './composition-store.ts';
import type { ConnectedStore } from './connected-store.ts';
import type { DeclarationStore } from './declaration-store.ts';
import type { IdentityStore } from './identity-store.ts';
import type { InvitationStore } from './invitation-store.ts';
import type { InvocationStore } from './invocation-store.ts';
import type { LedgerStore } from './ledger-store.ts';
import type { LogStore } from './log-store.ts';
import type { PasskeyStore } from './passkey-store.ts';
import type {
  ActorEnded,
  ApprovalRecord,
  DeliveryRecord,
  FreezeRecord,
  GrantRecord,
} from './records.ts';
import type { RowStore } from './row-store.ts';
import type { SignInStore } from './sign-in-store.ts';
import type { TokenStore } from './token-store.ts';

export type { EntryQuery, Erasure, LogStore, TreeHead } from './log-store.ts';
export type {
  ChildBounds,
  ChildState,
  TokenDescription,
  TokenState,
  TokenStore,
} from './token-store.ts';

/** Nothing happened: the store refused, is overloaded, full, read-only or out of reach. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** The change may have happened, and the store did not confirm either in time. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
}

export interface Store
  extends TokenStore,
    InvocationStore,
    CompositionStore,
    ApprovalStore,
    OperatorStore,
    SignInStore,
    PasskeyStore,
    IdentityStore,
    InvitationStore,
    ConnectedStore,
    DeclarationStore,
    RowStore,
    LogStore,
    LedgerStore {
  /**
   * Names the store's first log. Created with the store and never changed: every new store, also one in
   * memory, has a new log. `origins` names the current log.
   */
  readonly logId: string;

  /** The clock of all rules: the database's where replicas share one, so that they agree on expiry. */
  now(): Date;

  /** Proves with a real write that the store accepts writes now. Rejects when it does not. */
  probe(): Promise<void>;

  /** What operators watch. Reads an index and at most `OPEN_COUNTED_MAX` rows of it, whatever the store has. */
  figures(now: Date): Promise<StoreFigures>;

  /** Of this process, without a question to the store. Only where the store has a pool. */
  pool?(): PoolFigures;

  /**
   * Where a store can find that its address leads to another copy of the database than before, such as a standby
   * that was promoted: calls `compare` then. Until it settles, and until every call that began before has ended,
   * transitions reject with `StoreUnavailable`. Reads and `sequence` go on. Returns what ends the calls of `compare`.
   */
  onOtherCopy?(compare: () => Promise<unknown>): () => void;

  /** Finishes accepted calls, then releases the store. Later calls reject with `StoreUnavailable`. */
  close(): Promise<void>;
}

/** Pending requests that `figures` counts; with more of them it says this number. */
export const OPEN_COUNTED_MAX = 10_000;

export interface StoreFigures {
  readonly bytes: number;
  /** Requests that wait for a decision. */
  readonly openApprovals: number;
}

/** Connections of this process for requests, and calls that wait for one. */
export interface PoolFigures {
  readonly used: number;
  readonly idle: number;
  readonly waiting: number;
}

/** Stories: [approvals](../stories/approvals.ts), [approval-lists](../stories/approval-lists.ts), [deliveries](../stories/deliveries.ts). */
export interface ApprovalStore {
  /**
   * Inserts a pending request with its entry and notifications. While an equal question (chain, capability,
   * contract version, declaration, parameters, session) is pending and not expired at the new one's
   * `created_at`, it returns that request and inserts nothing. Two concurrent equal questions get the same
   * request. Where a new request would exceed a bound, it inserts nothing and returns that bound. Of racing
   * callers exactly as many insert a request as the bounds leave; decided and expired requests do not count.
   */
  requestApproval(
    request: ApprovalRecord,
    entry: EntryRecord,
    deliveries: readonly DeliveryRecord[],
    asking?: Asking,
  ): Promise<ApprovalRecord | Crowded | ActorEnded>;

  loadApproval(approvalRequestId: string): Promise<ApprovalRecord | undefined>;

  /**
   * The grants with which an equal call can continue: the same chain, capability, contract version, declaration
   * and parameters, a use left, not expired at `now`, and bound to no session or to the question's. Earliest expiry
   * first; at most `limit`.
   */
  waitingGrants(question: Question, now: Date, limit: number): Promise<readonly GrantRecord[]>;

  /** The newest request that asks this question, in any state. */
  latestApproval(question: Question): Promise<LatestApproval | undefined>;

  /** What a waiting caller polls: without parameters, which may be long. */
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
   * Pending requests that are not expired at `now`, the next to expire first. One query looks at
   * `PENDING_LOOKED_AT_MAX` requests, so a page may have fewer than `limit`, even none, and still a `next`.
   * Pages that continue at `next` miss and repeat none of the requests that stay pending.
   */
  pendingApprovals(query: PendingQuery): Promise<PendingPage<ApprovalRecord>>;

  /** The same requests with the fields that say who may decide them, for a count. */
  pendingSides(query: PendingQuery): Promise<PendingPage<PendingSide>>;

  /**
   * The requests of one requester for one capability, newest first. A pending request past its expiry is
   * `expired`. A full page has a `next`.
   */
  approvalsOf(query: AskerQuery): Promise<ApprovalPage>;

  /** The states of the same requests since a time, newest first, without what they contain. */
  statesSince(query: StatesQuery): Promise<readonly AskedState[]>;

  /**
   * Adds one vote. The last vote needed also inserts the grant and sets the request to `approved`, in the
   * same step, so one request never yields two grants. `approvalsSeen` is the number of votes the caller saw;
   * `stale` means that another approver voted since, or that the approver's passkey was removed, and the caller
   * must read again. The passkey of the vote was last used now.
   */
  approve(
    decision: ApprovalDecision,
  ): Promise<'approved' | 'counted' | 'stale' | 'decided' | 'expired' | ActorEnded>;

  /**
   * Denies a pending request. `decided` or `expired` when it is no longer pending, `stale` when the passkey of
   * the denial was removed.
   */
  deny(decision: Denial): Promise<'denied' | 'stale' | 'decided' | 'expired' | ActorEnded>;

  /**
   * Moves pending requests past their expiry to `expired`, each once, with entry and notifications. Returns them, the first
   * to expire first. `consequence` may be called again for a request that was not moved yet.
   */
  expireApprovals(
    now: Date,
    limit: number,
    consequence: (request: ApprovalRecord) => {
      entry: EntryRecord;
      deliveries: readonly DeliveryRecord[];
    },
  ): Promise<readonly ApprovalRecord[]>;

  /**
   * Claims due notifications until `leaseUntil`, so that one process at a time sends each. Longest due first;
   * one without a time is always due. Skips the targets in `except`.
   */
  takeDeliveries(
    now: Date,
    leaseUntil: Date,
    limit: number,
    except?: readonly string[],
  ): Promise<readonly DeliveryRecord[]>;

  /** Records how one attempt ended: delivered, to be tried again at `nextAttempt`, or given up. */
  finishDelivery(result: DeliveryResult): Promise<void>;

  /** Newest first; those older than the delivery `before`. */
  listDeliveries(limit: number, before?: string): Promise<readonly DeliveryRecord[]>;
}

/** The token that asks, where there is one, and the bounds on open requests, where there are any. */
interface Asking {
  readonly actor?: string | undefined;
  readonly bounds?: OpenBounds | undefined;
}

/** Nothing was inserted: too many requests are open. */
export interface Crowded {
  readonly exceeded: ExceededBound;
}

/** Requests that one query looks at. The compared columns come after the long ones, so each look reads a whole row. */
export const APPROVALS_LOOKED_AT_MAX = 200;

/** What makes two approval requests the same question. */
export interface Question
  extends Pick<
    ApprovalRecord,
    | 'chain'
    | 'capability'
    | 'contract_version'
    | 'declaration_digest'
    | 'parameters_digest'
    | 'session_id'
  > {}

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
  /** Continue after the request at this place. */
  readonly before?: ApprovalPlace | undefined;
}

export type ApprovalPlace = Pick<ApprovalRecord, 'created_at' | 'approval_request_id'>;

export interface ApprovalPage {
  readonly requests: readonly ApprovalRecord[];
  /** The `before` of the next query. Absent when no request is left. */
  readonly next?: ApprovalPlace | undefined;
}

/** Pending requests that one query looks at. An index has every compared column, so a look reads no row. */
export const PENDING_LOOKED_AT_MAX = 1_000;

export interface PendingQuery {
  readonly now: Date;
  /** Exact names; empty: none. */
  readonly capabilities: readonly string[];
  readonly limit: number;
  /** Continue after the request at this place. */
  readonly after?: PendingPlace | undefined;
}

export type PendingPlace = Pick<ApprovalRecord, 'expires_at' | 'approval_request_id'>;

export interface PendingPage<Item> {
  readonly requests: readonly Item[];
  /** The `after` of the next query. Absent when no request is left. */
  readonly next?: PendingPlace | undefined;
}

export type PendingSide = Pick<
  ApprovalRecord,
  | 'approval_request_id'
  | 'capability'
  | 'subject'
  | 'root_principal'
  | 'requested_through'
  | 'approvals_required'
  | 'expires_at'
>;

/** The place after which a page of pending requests begins: those that expire by `now` come before it. */
export function pendingAfter({ now, after }: PendingQuery): PendingPlace {
  if (after && after.expires_at > now) return after;
  return { expires_at: new Date(now.getTime() + 1), approval_request_id: '' };
}

export interface AskerQuery {
  readonly now: Date;
  readonly chain: string;
  readonly capability: string;
  /** Only approved ones. */
  readonly approved?: boolean | undefined;
  readonly limit: number;
  /** Only those made before the request at this place. */
  readonly before?: ApprovalPlace | undefined;
}

export interface StatesQuery extends Pick<AskerQuery, 'now' | 'chain' | 'capability' | 'limit'> {
  readonly since: Date;
}

export type AskedState = Pick<ApprovalRecord, 'approval_request_id' | 'status'>;

export interface ApprovalDecision {
  readonly approval_request_id: string;
  readonly approver: string;
  /** The token that the approver used, where there was one. */
  readonly actor?: string | undefined;
  /**
   * When the caller judged the decision. One that waits for another process past the expiry of its request still counts, unless
   * `expireApprovals` came first.
   */
  readonly now: Date;
  readonly approvalsSeen: number;
  /** Authenticates the vote. */
  readonly mac?: string | undefined;
  /** The terms that this approver approves, stored with the vote. */
  readonly terms: GrantTerms;
  /** The passkey that confirmed it, stored with the vote. */
  readonly credential_id?: string | undefined;
  /** Present exactly when this approval completes the quorum. */
  readonly grant?: GrantRecord | undefined;
  readonly entry: EntryRecord;
  readonly deliveries: readonly DeliveryRecord[];
}

export interface Denial {
  readonly approval_request_id: string;
  readonly decided_by: string;
  /** The token that the denier used, where there was one. */
  readonly actor?: string | undefined;
  readonly reason: string;
  /** The passkey that confirmed it. */
  readonly credential_id?: string | undefined;
  /** As for an approval. */
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
  /** The `after` of the next query. Absent when no freeze is left. */
  readonly next?: FreezePlace | undefined;
}

/** Story: [freezes](../stories/freezes.ts). */
export interface OperatorStore {
  /** Effective for every admission after it is acknowledged. Freezing again replaces the reason. */
  freeze(freeze: FreezeRecord, entry: EntryRecord, actor?: string): Promise<'frozen' | ActorEnded>;

  /** False when nothing was frozen; the entry is stored in either case. */
  unfreeze(target: FreezeKey, entry: EntryRecord, actor?: string): Promise<boolean | ActorEnded>;

  /**
   * The stored freezes with these keys, in the order of the keys. Includes expired ones: only the MAC of the
   * row shows whether its time is genuine.
   */
  freezesUnder(keys: readonly FreezeKey[]): Promise<readonly FreezeRecord[]>;

  /** Every stored freeze, also expired ones, newest first. Pages at `next` neither miss nor repeat one. */
  listFreezes(limit: number, after?: FreezePlace): Promise<FreezePage>;

  /**
   * Voids what callers hold beside their tokens: every grant counts as used up, bindings, idempotency keys,
   * sessions, identities and invitations are deleted, and composed calls are not resumed, so that recovery closes them.
   */
  voidPromises(): Promise<void>;
}
